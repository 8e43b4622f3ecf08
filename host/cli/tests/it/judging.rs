//! From results to a verdict, with the built-in judges.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::bed::{Bed, entries, wait_for};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/verdict");

/// Writes a suite of four tests: two fail, and one is skipped. Ginkgo puts `[It] ` before names in
/// JUnit.
fn suite(bed: &Bed) {
    bed.plugin(
        "suite",
        "result-format: junit",
        r#"cat > "$SONOBUOY_RESULTS_DIR/junit.xml" <<'X'
        <testsuite name="s"><testcase name="[It] [sig-a] runs"/><testcase name="[It] [sig-b] waits"><skipped/></testcase>
        <testcase name="[It] [sig-c] breaks"><failure message="broken"/></testcase>
        <testcase name="[It] [sig-d] breaks, too"><failure message="broken"/></testcase></testsuite>
        X
        printf %s "$SONOBUOY_RESULTS_DIR" > "$SONOBUOY_RESULTS_DIR/done""#,
    );
}

fn archive(bed: &Bed) -> PathBuf {
    let mut archives = std::fs::read_dir(bed.root()).unwrap().map(|entry| entry.unwrap().path());
    archives.find(|path| path.extension().is_some_and(|extension| extension == "gz")).unwrap()
}

/// The verdict over the only plugin, as `results -o json` prints it.
fn verdict(bed: &Bed, code: i32, options: &[&str]) -> Value {
    let archive = archive(bed);
    let args = [&["results", archive.to_str().unwrap(), "-o", "json"], options].concat();
    let trees: Value = serde_json::from_str(&bed.plumbline(&args).expect(code).out).unwrap();
    trees[0]["verdict"].clone()
}

fn items(verdict: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |item: &Value| {
        let name = item["path"].as_array().and_then(|path| path.last()).map(text).unwrap_or_default();
        let counts = if item["counts"] == true { "counts" } else { "excused" };
        format!("{name}: {} {counts} by {} ({})", text(&item["class"]), text(&item["judge"]), text(&item["source"]))
    };
    verdict["items"].as_array().into_iter().flatten().map(line).collect()
}

#[test]
fn the_example_passes_with_known_failures_and_checks() {
    let bed = Bed::new();
    bed.plumbline(&["run", "--local", "-p", EXAMPLE]).expect(0);
    let verdict = verdict(&bed, 0, &[]);
    assert_eq!(verdict["status"], "passed", "{verdict:#}");
    assert_eq!(verdict["classes"]["known-failure"]["items"], 2, "{verdict:#}");
    let checks: Vec<(&str, &str, &str)> = verdict["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| {
            (check["id"].as_str().unwrap(), check["outcome"].as_str().unwrap(), check["got"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        checks,
        [("RUN-001", "passed", "60 % (3 of 5)"), ("KNOWN-001", "passed", "2 of 5"), ("IO-001", "passed", "87.5ms")]
    );
}

#[test]
fn options_of_a_run_excuse_what_is_known_and_the_rest_counts() {
    let bed = Bed::new();
    suite(&bed);
    bed.write("known.yaml", "- {test: '[sig-c] breaks', reason: it is old, until: 2999-12-31}\n");
    bed.write("more.yaml", "- '[sig-d] breaks, too'\n");
    bed.plumbline(&["run", "--local", "-p", "suite.yaml", "--known-failures", "known.yaml"]).expect(1);
    let document = verdict(&bed, 1, &[]);
    assert_eq!(
        items(&document),
        [
            "[It] [sig-c] breaks: known-failure excused by known-failures (known.yaml, entry 1)",
            "[It] [sig-d] breaks, too: failure counts by  ()"
        ]
    );
    // Judged again: first by the judges of the run, then by those of the options.
    let document = verdict(&bed, 0, &["--flaky", "more.yaml"]);
    assert_eq!(items(&document)[1], "[It] [sig-d] breaks, too: flaky excused by flaky (more.yaml, entry 1)");
    let document = verdict(&bed, 1, &["--flaky", "more.yaml", "--required-tests", "waits"]);
    assert!(
        items(&document).contains(&"[It] [sig-b] waits: skip-not-allowed counts by allowed-skips ()".to_owned()),
        "{document:#}"
    );
    // With an archive of the same tests as the baseline, there are no new failures.
    bed.plumbline(&["run", "--local", "--dir", "earlier", "-p", "suite.yaml"]).expect(1);
    let mut earlier = entries(&bed.path("earlier")).into_iter();
    let name = earlier.find(|path| path.extension().is_some_and(|extension| extension == "gz")).unwrap();
    let document = verdict(&bed, 0, &["--baseline", name.to_str().unwrap()]);
    let source = items(&document)[1].clone();
    assert!(source.starts_with("[It] [sig-d] breaks, too: baseline-failure excused by baseline ("), "{source}");
    assert!(source.contains(name.file_name().unwrap().to_str().unwrap()) && source.contains("(sha256 "), "{source}");
}

#[test]
fn an_archive_is_not_a_baseline_for_its_own_run() {
    let bed = Bed::new();
    suite(&bed);
    bed.plumbline(&["run", "--local", "-p", "suite.yaml"]).expect(1);
    let unpacked = |archive: &Path, name: &str| {
        let dir = bed.path(name);
        std::fs::create_dir(&dir).unwrap();
        let tar = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&dir).status().unwrap();
        assert!(tar.success());
        dir
    };
    let own = archive(&bed);
    let sonobuoy = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz"));
    for (judged, plugin, tool) in [(own.as_path(), "suite", "plumbline"), (sonobuoy, "e2e", "sonobuoy")] {
        let (copy, link) = (bed.path(&format!("{tool}-copy.tar.gz")), bed.path(&format!("{tool}-latest")));
        std::fs::copy(judged, &copy).unwrap();
        std::os::unix::fs::symlink(judged, &link).unwrap();
        let directory = unpacked(judged, &format!("{tool}-unpacked"));
        for baseline in [judged, copy.as_path(), link.as_path(), directory.as_path()] {
            let (judged, baseline) = (judged.to_str().unwrap(), baseline.to_str().unwrap());
            let done = bed.plumbline(&["results", judged, "-p", plugin, "--baseline", baseline]).expect(2);
            for part in [
                format!("failed to use archive `{baseline}` as baseline").as_str(),
                "it is an archive of the run that is judged, so it would excuse every failure",
                "choose the results archive of an earlier run",
            ] {
                assert!(done.err.contains(part), "{part}: {}", done.err);
            }
        }
    }
    // An archive without the ID of its run is recognized by its content.
    bed.write("nameless/plugins/suite/sonobuoy_results.yaml", "name: suite\nstatus: failed\n");
    let (one, two) = (bed.path("one.tar.gz"), bed.path("two.tar.gz"));
    let tar = Command::new("tar").arg("-czf").arg(&one).arg("-C").arg(bed.path("nameless")).arg("plugins").status();
    assert!(tar.unwrap().success());
    std::fs::copy(&one, &two).unwrap();
    let done = bed.plumbline(&["results", "one.tar.gz", "--baseline", "two.tar.gz"]).expect(2);
    assert!(done.err.contains("failed to use archive `two.tar.gz` as baseline"), "{}", done.err);
}

#[test]
fn an_entry_that_has_expired_counts() {
    let bed = Bed::new();
    suite(&bed);
    bed.write("known.yaml", "- {pattern: breaks, reason: it is old, until: 2020-12-31}\n");
    bed.plumbline(&["run", "--local", "-p", "suite.yaml", "--known-failures", "known.yaml"]).expect(1);
    let document = verdict(&bed, 1, &[]);
    assert_eq!(document["classes"]["expired"]["counting"], 2, "{document:#}");
}

#[test]
fn expiry_dates_are_compared_with_the_start_of_the_run() {
    let bed = Bed::new();
    bed.write("known.yaml", "- {pattern: breaks, until: 2020-06-15}\n");
    let wait = "if ! test -e \"$ROOT/again\"; then echo $$ > \"$ROOT/pid\"; sleep 600; fi";
    let script = format!(
        "ROOT={}\n{wait}\necho '<testsuite name=\"s\"><testcase name=\"breaks\"><failure/></testcase></testsuite>' > \"$SONOBUOY_RESULTS_DIR/j.xml\"\nprintf %s \"$SONOBUOY_RESULTS_DIR\" > \"$SONOBUOY_RESULTS_DIR/done\"",
        bed.root().display()
    );
    bed.plugin("suite", "result-format: junit", &script);
    let args = ["run", "--local", "--dir", "out", "-p", "suite.yaml", "--known-failures", "known.yaml"];
    let run = bed.start("run", &args);
    wait_for("the plugin", || std::fs::read_to_string(bed.path("pid")).is_ok_and(|pid| pid.ends_with('\n')));
    run.signal("KILL");
    run.wait();
    bed.write("again", "");
    // The run started on the last day of the entry, and is continued long after.
    let work = entries(&bed.path("out")).pop().unwrap();
    let record = work.join("run.json");
    let mut run: Value = serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap();
    run["started"] = "2020-06-15T23:59:00Z".into();
    std::fs::write(&record, run.to_string()).unwrap();
    bed.plumbline(&["run", "--local", "--continue", work.to_str().unwrap()]).expect(0);
    let archive = bed.archive();
    let renamed = bed.path("renamed.tar.gz");
    std::fs::copy(&archive, &renamed).unwrap();
    bed.plumbline(&["results", renamed.to_str().unwrap(), "--reprocess"]).expect(0);
    // Archives of Sonobuoy have the start of the run only in their names.
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");
    bed.write("known.yaml", "- {pattern: ., until: 2020-06-15}\n");
    for (name, code) in
        [("202006152359_sonobuoy_u.tar.gz", 0), ("202006160000_sonobuoy_u.tar.gz", 1), ("other.tar.gz", 1)]
    {
        let old = bed.path(name);
        std::fs::copy(sample, &old).unwrap();
        let args = ["results", old.to_str().unwrap(), "--plugin", "e2e", "--known-failures", "known.yaml"];
        bed.plumbline(&args).expect(code);
    }
}

#[test]
fn checks_that_could_never_fail_or_that_no_definition_may_hold_are_refused() {
    let bed = Bed::new();
    suite(&bed);
    let run = |check: &str| {
        bed.write("checks.yaml", check);
        bed.plumbline(&["run", "--local", "-p", "suite.yaml", "--checks", "checks.yaml"]).expect(2).err
    };
    let stderr = run("- {id: A, items: Failed, want: '== 0'}\n");
    assert!(
        stderr.contains("checks.yaml, check 1: `items` has the unknown status `Failed`: did you mean `failed`?"),
        "{stderr}"
    );
    let stderr = run("- {id: A, class: Known Failure, want: '== 0'}\n");
    assert!(stderr.contains("checks.yaml, check 1: `class` is not a class"), "{stderr}");
    let stderr = run("- {id: A, log: {files: /var/log/x, pattern: x, measure: count}, want: '== 0'}\n");
    assert!(stderr.contains("the pattern must be relative to the archive's root"), "{stderr}");
    let stderr = run("- {id: A, log: {files: 'a/{b', pattern: x, measure: count}, want: '== 0'}\n");
    assert!(stderr.contains("checks.yaml, check 1: `log.files`: a `{` is not closed"), "{stderr}");
    let stderr = bed.plumbline(&["run", "--local", "-p", "suite.yaml", "--judge-plugin", "suite"]).expect(2).err;
    assert!(stderr.contains("needs a list, an archive or checks to judge by"), "{stderr}");
}

#[test]
fn unknown_checks_do_not_count_as_failed() {
    let bed = Bed::new();
    suite(&bed);
    bed.write("known.yaml", "- {pattern: breaks}\n");
    bed.write("checks.yaml", "- {id: A, healthy: pods, want: '>= 98 %'}\n");
    let args = ["run", "--local", "-p", "suite.yaml", "--known-failures", "known.yaml", "--checks", "checks.yaml"];
    let done = bed.plumbline(&args).expect(3);
    assert!(
        done.out.contains("incomplete: 0 of 4 checks failed (1 skipped), and not everything could be judged"),
        "{}",
        done.out
    );
    assert!(done.out.contains("A healthy pods"), "{}", done.out);
}

#[test]
fn errors_in_lists_are_reported_before_anything_runs() {
    let bed = Bed::new();
    suite(&bed);
    bed.write("known.yaml", "- fine\n- {tset: typo}\n");
    bed.write("checks.yaml", "- {id: A, items: failed, want: none}\n");
    bed.write("broken.yaml", "- [sig-a] b\n");
    let run = |options: &[&str]| {
        let done = bed.plumbline(&[&["run", "--local", "-p", "suite.yaml"], options].concat());
        assert_eq!(done.code, 2, "{}", done.err);
        done.err
    };
    let stderr = run(&["--known-failures", "known.yaml"]);
    assert!(stderr.contains("known.yaml, entry 2: unknown key `tset`"), "{stderr}");
    let stderr = run(&["--checks", "checks.yaml"]);
    assert!(stderr.contains("checks.yaml, check 1: `want` must begin with"), "{stderr}");
    let stderr = run(&["--flaky", "broken.yaml"]);
    assert!(stderr.contains("names that begin with `[` must be quoted"), "{stderr}");
    let stderr = run(&["--flaky", "gone.yaml"]);
    assert!(stderr.contains("failed to read `gone.yaml`"), "{stderr}");
    let stderr = run(&["--required-tests", "("]);
    assert!(stderr.contains("option `required`: the pattern is not a regular expression"), "{stderr}");
    bed.plumbline(&["run", "--local", "-p", "suite.yaml"]).expect(1);
    let archive = archive(&bed);
    let done = bed.plumbline(&["results", archive.to_str().unwrap(), "--known-failures", "known.yaml"]);
    assert_eq!(done.code, 2, "{}", done.err);
    assert!(done.err.contains("known.yaml, entry 2: unknown key `tset`"), "{}", done.err);
    let stderr = run(&["--flaky", "known.yaml", "--judge-plugin", "e2e"]);
    assert!(stderr.contains("plugin `e2e` not found"), "{stderr}");
    assert!(
        std::fs::read_dir(bed.root())
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().starts_with(".plumbline-run") })
    );
}

#[test]
fn the_chain_is_in_the_manifest_of_a_run_in_a_cluster() {
    let bed = Bed::new();
    bed.write("p.yaml", "sonobuoy-config: {driver: Job, plugin-name: p}\nspec: {name: plugin, image: x}\n");
    bed.write("checks.yaml", "- {id: A, healthy: pods, want: '>= 98 %'}\n");
    let args = ["gen", "-p", "p.yaml", "--kubernetes-version", "v1.30.2", "--checks", "checks.yaml"];
    let manifest = bed.plumbline(&args).expect(0).out;
    for part in ["judge: checks", "meta/clusterhealth.json", "checks.yaml:"] {
        assert!(manifest.contains(part), "{part}");
    }
}
