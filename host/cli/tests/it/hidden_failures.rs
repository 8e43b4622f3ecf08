//! Failures that custom statuses, edited archives or incomplete runs could hide from an exit code.

use plumbline_archive::pack::{PackOptions, write_archive};
use plumbline_core::rollup::{MAX_CUSTOM_STATUSES, OTHER_STATUSES, Tally, counts_in, worst};
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{Status, Verdict};
use serde_json::{Value, json};

use crate::bed::Bed;

/// Writes a file of items with these statuses.
fn items(bed: &Bed, file: &str, statuses: &[&str]) {
    let lines: String = statuses
        .iter()
        .enumerate()
        .map(|(at, status)| format!("{}\n", json!({"depth": 0, "name": format!("item {at}"), "status": status})))
        .collect();
    bed.write(file, &lines);
}

/// Writes the archive `dir` of plugins with these trees.
fn archive(bed: &Bed, dir: &str, plugins: &[(&str, Value)]) {
    let names: Vec<&str> = plugins.iter().map(|(name, _)| *name).collect();
    bed.write(&format!("{dir}/meta/info.json"), &json!({"plugins": names}).to_string());
    for (name, tree) in plugins {
        bed.write(&format!("{dir}/plugins/{name}/sonobuoy_results.yaml"), &tree.to_string());
    }
}

/// A tree whose root has this status, over leaves `t0`, `t1` … with these statuses.
fn tree(name: &str, status: &str, leaves: &[&str]) -> Value {
    let items: Vec<Value> =
        leaves.iter().enumerate().map(|(at, status)| json!({"name": format!("t{at}"), "status": status})).collect();
    json!({"name": name, "status": status, "items": items})
}

/// The verdict of a run of one plugin with this status, and with these counts of leaves.
fn verdict(status: &str, counts: Option<&[(&str, u64)]>) -> Verdict {
    let counts = counts.map(|counts| counts.iter().map(|&(status, n)| (status.to_owned(), n)).collect());
    Verdict::from_run(&RunStatus {
        plugins: Some(vec![PluginStatus {
            plugin: "p".to_owned(),
            node: "global".to_owned(),
            status: EntryStatus::Complete,
            result_status: Some(status.into()),
            result_counts: counts,
            ..PluginStatus::default()
        }]),
        status: RunPhase::Complete,
        ..RunStatus::default()
    })
}

#[test]
fn results_that_are_links_are_not_taken_for_absent_ones() {
    let bed = Bed::new();
    let suite = "<testsuite name='s'><testcase name='a'/></testsuite>";
    bed.write("one/meta/info.json", r#"{"plugins": ["e2e"]}"#);
    bed.write("one/plugins/e2e/results/global/junit_01.xml", suite);
    bed.plumbline(&["results", "one"]).expect(0);
    // A tool that stores large files elsewhere leaves links to them.
    bed.write("store/junit_02.xml", "<testsuite name='s'><testcase name='b'><failure/></testcase></testsuite>");
    let link = bed.path("one/plugins/e2e/results/global/junit_02.xml");
    std::os::unix::fs::symlink(bed.path("store/junit_02.xml"), link).unwrap();
    let done = bed.plumbline(&["results", "one", "--mode", "dump"]).expect(3);
    assert!(done.out.contains("not in the results: `results/global/junit_02.xml`"), "{}", done.out);
}

#[test]
fn an_archive_behind_another_one_is_not_silently_left_out() {
    let bed = Bed::new();
    for (name, status) in [("one", "passed"), ("two", "failed")] {
        archive(&bed, name, &[("p", tree("p", status, &[status]))]);
        let packed = bed.path(&format!("{name}.tar.gz"));
        write_archive(&bed.path(name), &packed, &PackOptions::default()).unwrap();
    }
    let [one, two] = ["one.tar.gz", "two.tar.gz"].map(|name| std::fs::read(bed.path(name)).unwrap());
    std::fs::write(bed.path("both.tar.gz"), [one, two].concat()).unwrap();
    let done = bed.plumbline(&["results", "both.tar.gz"]).expect(0);
    assert!(done.err.contains("after the end of the archive, which are not read"), "{}", done.err);
}

#[test]
fn a_custom_status_with_a_comma_hides_no_other_item() {
    let bed = Bed::new();
    for (statuses, code) in [
        (&["failed", "blocked, see log", "passed"][..], 1),
        (&["unknown", "blocked, see log", "passed"], 3),
        (&["timeout", "blocked, see log", "passed"], 3),
        (&["blocked, see log", "passed"], 0),
        (&["blocked, see log"], 0),
        (&["failed: 1", "blocked, see log", "passed"], 1),
    ] {
        items(&bed, "x.jsonl", statuses);
        let done = bed.plumbline(&["results", "x.jsonl"]);
        assert_eq!(done.code, code, "{statuses:?}: {}{}", done.out, done.err);
    }
}

#[test]
fn counts_decide_and_a_list_that_is_not_clear_is_unknown() {
    let list = "blocked, see log: 1, failed: 1, passed: 1";
    let (one, two) = (("blocked, see log", 1), ("passed", 1));
    for (status, counts, expected) in [
        (list, Some(&[one, ("failed", 1), two][..]), Verdict::Failed),
        (list, None, Verdict::Failed),
        ("blocked, see log: 1, passed: 1", Some(&[one, two]), Verdict::Passed),
        // Without counts, nobody knows which names the list has.
        ("blocked, see log: 1, passed: 1", None, Verdict::NothingToJudge),
        ("blocked, see log", None, Verdict::NothingToJudge),
        ("warning", None, Verdict::Passed),
        ("passed: 2, warning: 1", None, Verdict::Passed),
        // Leaves may be worse than the status of the plugin, and never better.
        ("passed", Some(&[two, ("failed", 1)]), Verdict::Failed),
        ("passed", Some(&[two, ("unknown", 1)]), Verdict::Incomplete),
        ("passed: 1", Some(&[two, ("failed", 1)]), Verdict::Failed),
        ("failed", Some(&[two]), Verdict::Failed),
        ("failed: 1", Some(&[two]), Verdict::Failed),
        ("unknown", Some(&[two]), Verdict::Incomplete),
        ("skipped", Some(&[two]), Verdict::NothingToJudge),
        ("warning", Some(&[]), Verdict::NothingToJudge),
    ] {
        assert_eq!(verdict(status, counts), expected, "{status} {counts:?}");
    }
}

#[test]
fn names_in_a_list_of_counts_may_have_commas() {
    for (text, counts) in [
        ("blocked, see log: 1, failed: 2", Some(vec![("blocked, see log", 1), ("failed", 2)])),
        ("a, b, c: 3", Some(vec![("a, b, c", 3)])),
        ("a: 1, b", None),
        ("a, b", None),
        ("a: 1, : 2", None),
        ("a: 99999999999999999999, b: 1", None),
    ] {
        assert_eq!(counts_in(text), counts, "{text}");
    }
    // A parent of such a list has counts, and not the list as the name of a status.
    let mut tally = Tally::default();
    tally.add(&"blocked, see log: 1, failed: 2".into());
    tally.add(&"failed".into());
    assert_eq!(tally.result(true).as_str(), "blocked, see log: 1, failed: 3");
}

#[test]
fn statuses_beyond_the_limit_hide_no_failure() {
    let mut tally = Tally::default();
    (0..MAX_CUSTOM_STATUSES).for_each(|n| tally.add_leaf(&format!("1{n:03}").as_str().into()));
    for status in ["zebra", "error", "Unknown", "failed: 1, x: 1"] {
        tally.add_leaf(&status.into());
    }
    let counts = tally.counts();
    assert_eq!((counts["failed"], counts["unknown"], counts[OTHER_STATUSES]), (2, 1, 1));
    assert_eq!(tally.result(false), Status::Failed);
}

#[test]
fn near_names_of_standard_statuses_count_as_these() {
    let bed = Bed::new();
    for (status, code) in [
        ("Failed", 1),
        ("FAILED", 1),
        ("error", 1),
        ("Errored", 1),
        ("failure", 1),
        ("fail", 1),
        ("FAIL", 1),
        ("Crashed", 1),
        ("panicked", 1),
        ("aborted", 1),
        ("cancelled", 1),
        ("not ok", 1),
        ("FAILED: 1", 1),
        ("FAILED: 0, x: 1", 0),
        ("Unknown", 3),
        ("TIMEOUT", 3),
        ("timedout", 3),
        ("Timed-Out", 3),
        ("Skipped", 0),
        ("skip", 0),
        ("warning", 0),
        ("failed badly", 0),
    ] {
        items(&bed, "x.jsonl", &[status, "passed"]);
        let done = bed.plumbline(&["results", "x.jsonl", "-o", "json"]);
        assert_eq!(done.code, code, "{status}: {}{}", done.out, done.err);
        // The text stays as it is.
        let trees: Value = serde_json::from_str(&done.out).unwrap();
        assert!(trees[0].to_string().contains(&format!("\"status\":\"{status}\"")), "{trees}");
    }
    bed.write("known.yaml", "[]\n");
    for status in ["Skipped", "skip", "skipped: 2"] {
        items(&bed, "x.jsonl", &[status]);
        bed.plumbline(&["results", "x.jsonl"]).expect(5);
        bed.plumbline(&["results", "x.jsonl", "--known-failures", "known.yaml"]).expect(5);
    }
    assert_eq!(worst(&"Failed: 1, passed: 3".into()), Some(Status::Failed));
    bed.write("m.yaml", "name: m\nstatus: passed\nitems:\n- {name: a, status: passed}\n- {name: b, status: Failed}\n");
    bed.plumbline(&["results", "m.yaml", "--result-format", "manual"]).expect(1);
    bed.write("m.yaml", "name: m\nitems: [{name: a, status: fail}, {name: b, status: passed}]\n");
    bed.plumbline(&["results", "m.yaml", "--result-format", "manual"]).expect(1);
}

#[test]
fn a_root_that_passed_does_not_hide_its_leaves() {
    let bed = Bed::new();
    for (root, leaves, code, shown) in [
        ("passed", &["passed", "failed"][..], 1, "failed"),
        ("passed", &["passed", "timeout"], 3, "failed"),
        ("passed", &["passed", "unknown"], 3, "unknown"),
        ("passed: 1", &["passed", "failed"], 1, "failed"),
        ("failed", &["passed"], 1, "failed"),
        ("passed", &["passed"], 0, "passed"),
    ] {
        archive(&bed, "run", &[("p", tree("p", root, leaves))]);
        // Plumbline reads its own trees item by item for some views, and other trees as a whole.
        for config in ["{}", r#"{"PlumblineVersion": "1.0.0"}"#] {
            bed.write("run/meta/config.json", config);
            let done = bed.plumbline(&["results", "run"]);
            assert_eq!(done.code, code, "{root} {leaves:?}: {}{}", done.out, done.err);
            assert!(done.out.starts_with(&format!("Plugin: p\nStatus: {shown}\n")), "{}", done.out);
            assert_eq!(done.err.contains("its status in the archive is `"), root != shown, "{}", done.err);
            for format in ["html", "junit", "github"] {
                bed.plumbline(&["results", "run", "-o", format]).expect(code);
            }
        }
    }
    // A part of the tree counts in the same way.
    let suite = json!({"name": "suite", "status": "passed", "items": [{"name": "t", "status": "failed"}]});
    archive(&bed, "run", &[("p", json!({"name": "p", "status": "failed", "items": [suite]}))]);
    bed.plumbline(&["results", "run", "-p", "p", "--node", "suite"]).expect(1);
}

#[test]
fn files_that_sonobuoy_did_not_read_are_not_unknown() {
    let bed = Bed::new();
    let file = json!({"name": "a.txt", "status": "passed", "meta": {"file": "results/n1/a.txt"}});
    let logs = json!({"name": "logs", "status": "passed", "items": [file]});
    archive(&bed, "run", &[("p", tree("p", "passed", &["passed"])), ("logs", logs.clone())]);
    let done = bed.plumbline(&["results", "run"]).expect(0);
    assert!(done.err.contains("1 file was collected and not read"), "{}", done.err);
    archive(&bed, "alone", &[("logs", logs)]);
    bed.plumbline(&["results", "alone"]).expect(5);
    // Judges and comparisons do not take them for tests that passed.
    bed.write("known.yaml", "[]\n");
    bed.plumbline(&["results", "alone", "--known-failures", "known.yaml"]).expect(5);
    archive(&bed, "before", &[("logs", tree("logs", "passed", &["passed"]))]);
    archive(&bed, "empty", &[("logs", json!({"name": "logs", "status": "passed", "meta": {"type": "summary"}}))]);
    for after in ["alone", "empty"] {
        let done = bed.plumbline(&["results", "diff", "before", after]).expect(5);
        assert!(done.out.starts_with("1 tests ran before, 0 after\n"), "{}", done.out);
    }
}

#[test]
fn other_formats_do_not_report_unread_files_as_passed() {
    let bed = Bed::new();
    let file = json!({"name": "a.txt", "status": "passed", "meta": {"file": "results/n1/a.txt"}});
    let logs = json!({"name": "logs", "status": "passed", "items": [file]});
    let empty = json!({"name": "empty", "status": "passed", "meta": {"type": "summary"}});
    archive(&bed, "run", &[("p", tree("p", "passed", &["passed"])), ("logs", logs), ("empty", empty)]);
    let show = |format: &str| bed.plumbline(&["results", "run", "-o", format]).out;
    let junit = show("junit");
    assert_eq!(junit.matches("<skipped message=\"status: not-read\"/>").count(), 2, "{junit}");
    let ctrf: Value = serde_json::from_str(&show("ctrf")).unwrap();
    let summary = &ctrf["results"]["summary"];
    assert_eq!((&summary["passed"], &summary["other"]), (&json!(1), &json!(2)), "{ctrf}");
    let reports = show("openreports");
    assert_eq!(reports.matches("result: pass").count(), 1, "{reports}");
    assert_eq!(reports.matches("result: skip").count(), 2, "{reports}");
    let markdown = show("markdown");
    assert!(markdown.contains("| logs | passed | 0 | 0 | 0 | 1 |"), "{markdown}");
    let page = show("html");
    let after = page.split_once("<th scope=\"row\">logs</th>").unwrap_or_else(|| panic!("no row of `logs`: {page}")).1;
    let row = after.split_once("</tr>").unwrap().0;
    let counts = ["0", "0", "0", "1"].map(|count| format!("<td class=\"n\">{count}</td>")).concat();
    assert!(row.contains(&counts), "{row}");
}

#[test]
fn items_with_a_file_that_a_module_read_have_passed() {
    let bed = Bed::new();
    let item = json!({"depth": 0, "name": "disk", "status": "passed", "meta": {"file": "results/global/disk.txt"}});
    bed.write("x.jsonl", &format!("{item}\n"));
    let done = bed.plumbline(&["results", "x.jsonl", "--result-format", "items"]).expect(0);
    assert!(!done.err.contains("not read"), "{}", done.err);
    bed.write("known.yaml", "[]\n");
    let judged = ["results", "x.jsonl", "--result-format", "items", "--known-failures", "known.yaml"];
    bed.plumbline(&judged).expect(0);
    let junit = bed.plumbline(&["results", "x.jsonl", "--result-format", "items", "-o", "junit"]).expect(0).out;
    assert!(!junit.contains("<skipped"), "{junit}");
}

#[test]
fn a_verdict_that_contradicts_itself_or_the_tree_does_not_pass() {
    let bed = Bed::new();
    let known = json!({"version": 1, "plugin": "p", "status": "passed", "failures": 1, "excused": 1});
    archive(&bed, "run", &[("p", tree("p", "failed", &["passed", "failed"])), ("q", tree("q", "passed", &["passed"]))]);
    bed.write("run/plugins/p/plumbline_verdict.json", &known.to_string());
    bed.plumbline(&["results", "run"]).expect(0);
    for (changes, reason) in [
        (json!({"plugin": "q"}), "it is about plugin `q`"),
        (json!({"counting": 3}), "its status is `passed`, but it counts items that count as failures: 3"),
        (json!({"excused": 0}), "its status is `passed`, but it counts failures that are not excused: 1"),
        (json!({"failures": 0, "excused": 0}), "the tree has failures that it does not count: 1"),
    ] {
        let mut verdict = known.clone();
        verdict.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        bed.write("run/plugins/p/plumbline_verdict.json", &verdict.to_string());
        for config in ["{}", r#"{"PlumblineVersion": "1.0.0"}"#] {
            bed.write("run/meta/config.json", config);
            for format in ["json", "html", "github"] {
                let done = bed.plumbline(&["results", "run", "-o", format]).expect(3);
                assert!(done.err.contains(reason), "{reason}: {}", done.err);
            }
            let alone = bed.plumbline(&["results", "run", "-p", "p"]).expect(2);
            assert!(alone.err.contains("inconsistent verdict on plugin `p`"), "{}", alone.err);
        }
    }
}

#[test]
fn results_whose_judges_left_no_verdict_do_not_pass() {
    let bed = Bed::new();
    archive(&bed, "run", &[("p", tree("p", "passed", &["passed", "passed"]))]);
    bed.write("run/meta/config.json", r#"{"PlumblineVersion": "1.0.0"}"#);
    let definition = json!({
        "sonobuoy-config": {"driver": "Job", "plugin-name": "p", "result-format": "manual"}, "spec": {},
        "config-map": {"checks.yaml": "- {class: failure, want: '== 0', id: A}\n"},
        "plumbline": {"verdict": [{"judge": "checks", "data": ["checks.yaml"]}]},
    });
    bed.write("run/plugins/p/definition.json", &json!({"Definition": definition}).to_string());
    bed.write("run/plugins/p/results/global/p.yaml", "name: p\nitems: [{name: t0, status: passed}]\n");
    let done = bed.plumbline(&["results", "run"]).expect(3);
    assert!(
        done.out.contains("checks: the archive has no verdict: judge the results with `--reprocess`"),
        "{}",
        done.out
    );
    for format in ["json", "html", "junit", "ctrf", "github", "sarif", "openreports"] {
        let done = bed.plumbline(&["results", "run", "-o", format]).expect(3);
        assert!(done.out.contains("the archive has no verdict"), "{format}: {}", done.out);
    }
    bed.plumbline(&["results", "run", "--reprocess"]).expect(0);
    // A definition that cannot be read does not say that there are no judges.
    bed.write("run/plugins/p/definition.json", "{");
    bed.plumbline(&["results", "run"]).expect(2);
}

#[test]
fn a_comparison_reports_plugins_that_the_last_run_does_not_have() {
    let bed = Bed::new();
    let other = ("other", tree("other", "passed", &["passed"]));
    archive(&bed, "before", &[("k", tree("k", "passed", &["passed", "passed", "passed"])), other.clone()]);
    archive(&bed, "after", std::slice::from_ref(&other));
    let done = bed.plumbline(&["results", "diff", "before", "after"]).expect(5);
    assert!(done.out.contains("4 tests ran before, 1 after") && done.out.contains("not run in one of them: 3"));
    assert!(done.err.contains("only archive `before` has plugin `k`"), "{}", done.err);
    assert!(done.err.contains("no test of plugin `k` is known to have run in `after`"), "{}", done.err);
    // A new plugin does not make the later run worse, unless its tests fail.
    bed.plumbline(&["results", "diff", "after", "before"]).expect(0);
    archive(&bed, "worse", &[("k", tree("k", "failed", &["failed"])), other.clone()]);
    let done = bed.plumbline(&["results", "diff", "after", "worse"]).expect(1);
    assert!(done.out.contains("new failures: 1"), "{}", done.out);
    // The last two of several runs decide.
    bed.plumbline(&["results", "diff", "after", "before", "after"]).expect(5);
    archive(&bed, "again", std::slice::from_ref(&other));
    bed.plumbline(&["results", "diff", "before", "after", "again"]).expect(0);
    archive(&bed, "foreign", &[("elsewhere", tree("elsewhere", "passed", &["passed"]))]);
    bed.plumbline(&["results", "diff", "after", "foreign"]).expect(2);
}

#[test]
fn unknown_items_of_the_last_run_make_a_comparison_incomplete() {
    let bed = Bed::new();
    archive(&bed, "before", &[("p", tree("p", "passed", &["passed", "passed", "passed"]))]);
    archive(&bed, "after", &[("p", tree("p", "unknown", &["passed", "unknown"]))]);
    let done = bed.plumbline(&["results", "diff", "before", "after"]).expect(3);
    assert!(done.out.starts_with("3 tests ran before, 1 after\nitems of unknown status after: 1\n"), "{}", done.out);
    for format in ["markdown", "html"] {
        let done = bed.plumbline(&["results", "diff", "before", "after", "-o", format]).expect(3);
        assert!(done.out.contains("items of unknown status after: 1"), "{}", done.out);
    }
    let json = bed.plumbline(&["results", "diff", "before", "after", "-o", "json"]).expect(3).out;
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["unknown-after"], 1);
    bed.plumbline(&["results", "diff", "before", "before", "after"]).expect(3);
    bed.plumbline(&["results", "diff", "before", "after", "--exit-code", "compat"]).expect(0);
    bed.plumbline(&["results", "diff", "after", "before"]).expect(0);
    // A new failure is worse, also with a status of the format's own.
    archive(&bed, "worse", &[("p", tree("p", "Failed: 1, unknown: 1", &["Failed", "unknown"]))]);
    bed.plumbline(&["results", "diff", "before", "worse"]).expect(1);
}

#[test]
fn checks_that_find_nothing_do_not_pass() {
    let bed = Bed::new();
    archive(&bed, "run", &[("p", tree("p", "passed", &["passed", "passed"]))]);
    let judge = |check: &str| {
        bed.write("checks.yaml", check);
        bed.plumbline(&["results", "run", "--checks", "checks.yaml"])
    };
    for want in ["{duration: count, want: '== 0', id: A}", "{duration: max, want: '< 5s', id: A}"] {
        let done = judge(&format!("- {want}\n")).expect(3);
        assert!(done.out.contains("no item has a duration"), "{}", done.out);
    }
    let done = judge("- {class: failures, want: '== 0', id: A}\n").expect(2);
    assert!(done.err.contains("unknown class `failures`: did you mean `failure`?"), "{}", done.err);
    for list in ["", "[]\n", "checks: []\n"] {
        let done = judge(list).expect(2);
        assert!(done.err.contains("checks.yaml: it has no checks, so there is nothing to check"), "{}", done.err);
    }
    judge("- {class: failure, want: '== 0', id: A}\n").expect(0);
}
