//! Whatever a plugin wrote is in the archive and counts, however the plugin ended.

use std::fs;
use std::io;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::bed::{Bed, Done, Running, alive_in_group, wait_for};

const PASSES: &str = r#"<testsuite name="s"><testcase name="good"/></testsuite>"#;
const FAILS: &str =
    r#"<testsuite name="s"><testcase name="good"/><testcase name="bad"><failure message="no"/></testcase></testsuite>"#;

/// Writes a plugin that copies `report` to its results, and then executes the script `rest`.
fn reporting(bed: &Bed, report: &str, rest: &str) {
    bed.write("report.xml", report);
    let copy = format!("cp {}/report.xml $SONOBUOY_RESULTS_DIR/r.xml", bed.root().display());
    bed.plugin("suite", "result-format: junit", &format!("{copy}\n{rest}"));
}

/// The name and status of each leaf in the plugin's tree.
fn leaves(bed: &Bed) -> Vec<(String, String)> {
    fn walk(item: &Value, leaves: &mut Vec<(String, String)>) {
        match item["items"].as_array() {
            Some(items) if !items.is_empty() => items.iter().for_each(|item| walk(item, leaves)),
            _ => leaves.push((item["name"].as_str().unwrap().to_owned(), item["status"].as_str().unwrap().to_owned())),
        }
    }
    let mut leaves_of_tree = Vec::new();
    walk(&bed.tree("suite"), &mut leaves_of_tree);
    leaves_of_tree
}

fn leaf(name: &str, status: &str) -> (String, String) {
    (name.to_owned(), status.to_owned())
}

#[test]
fn a_plugin_that_fails_without_a_done_file_keeps_its_results() {
    let bed = Bed::new();
    reporting(&bed, FAILS, "echo 1 failed, 1 passed\nexit 1");
    let done = bed.run(&["suite"], &[]).expect(1);
    assert_eq!(bed.member("plugins/suite/results/global/r.xml"), FAILS);
    assert_eq!(leaves(&bed), [leaf("good", "passed"), leaf("bad", "failed")]);
    let log = "last lines of its log (podlogs/local/suite/logs/global.txt in the archive):\n                   1 failed, 1 passed\n";
    assert!(done.out.contains(log), "{}", done.out);
}

#[test]
fn a_crash_with_passed_results_only_is_a_failure() {
    let bed = Bed::new();
    reporting(&bed, PASSES, "exit 7");
    bed.run(&["suite"], &[]).expect(1);
    assert_eq!(leaves(&bed), [leaf("good", "passed"), leaf("process exited with code 7", "failed")]);
}

#[test]
fn a_crash_without_results_is_incomplete_and_shows_its_last_lines() {
    let bed = Bed::new();
    let flood = "i=0\nwhile [ $i -lt 200 ]; do i=$((i+1)); echo line $i; done";
    bed.plugin(
        "suite",
        "result-format: junit",
        &format!("{flood}\nprintf 'cleared \\033[2J by this\\n' >&2\nkill -9 $$"),
    );
    let done = bed.run(&["suite"], &[]).expect(3);
    assert!(done.out.contains("process was killed by signal 9 and left no results"), "{}", done.out);
    assert!(done.out.contains("podlogs/local/suite/logs/global.txt in the archive"), "{}", done.out);
    assert!(done.out.contains("line 200\n") && !done.out.contains("line 150\n"), "{}", done.out);
    assert!(done.out.contains("cleared \u{fffd}[2J by this") && !done.out.contains('\u{1b}'), "{}", done.out);
    let error: Value = serde_json::from_str(&bed.member("plugins/suite/errors/global/error.json")).unwrap();
    assert!(error["output"].as_str().unwrap().contains("line 200"), "{error}");
}

#[test]
fn results_of_a_plugin_that_timed_out_count_in_addition_to_the_timeout() {
    let bed = Bed::new();
    reporting(&bed, FAILS, "exec sleep 600");
    bed.run(&["suite"], &["--timeout", "5s"]).expect(3);
    let found = leaves(&bed);
    assert_eq!(found[..2], [leaf("good", "passed"), leaf("bad", "failed")]);
    assert_eq!((found.len(), found[2].1.as_str()), (3, "timeout"));
    let error: Value = serde_json::from_str(&bed.member("plugins/suite/errors/global/error.json")).unwrap();
    assert_eq!(error["partial-results"], json!({"files": 1}), "marked as partial");
}

fn waiting(bed: &Bed) -> (Running, String) {
    reporting(bed, PASSES, &format!("echo $$ > {}/pid\nsleep 600 & wait", bed.root().display()));
    let run = bed.start("run", &["run", "--local", "--dir", "out", "-p", "suite.yaml"]);
    wait_for("the plugin", || fs::read_to_string(bed.path("pid")).is_ok_and(|pid| pid.ends_with('\n')));
    let group = fs::read_to_string(bed.path("pid")).unwrap();
    (run, group)
}

#[test]
fn a_run_that_any_signal_interrupts_archives_partial_results() {
    for signal in ["INT", "TERM", "HUP"] {
        let bed = Bed::new();
        let (run, group) = waiting(&bed);
        run.signal(signal);
        run.wait().expect(130);
        assert_eq!(alive_in_group(&group), 0, "{signal}: the plugin is gone");
        assert_eq!(bed.member("plugins/suite/results/global/r.xml"), PASSES, "{signal}");
        let found = leaves(&bed);
        assert_eq!(found[0], leaf("good", "passed"), "{signal}");
        assert_eq!(found[1], leaf("the run was interrupted before this result arrived", "failed"), "{signal}");
        assert_eq!(
            bed.tree("suite")["items"][1]["details"]["partial-results"]["files"],
            1,
            "{signal}: marked as partial"
        );
    }
}

#[test]
fn repeated_hangups_do_not_cost_the_archive() {
    let bed = Bed::new();
    let (run, group) = waiting(&bed);
    run.signal("HUP");
    run.signal("HUP");
    run.wait().expect(130);
    assert_eq!(alive_in_group(&group), 0);
    assert_eq!(bed.archives().len(), 1);
}

#[test]
fn a_run_under_nohup_survives_a_hangup() {
    let bed = Bed::new();
    let mut gate = bed.gate("gate");
    reporting(&bed, PASSES, &format!("touch {0}/started\nread _ < {0}/gate", bed.root().display()));
    let plain = bed.command(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" run --local --dir out -p suite.yaml"]).arg(plain.get_program());
    command.current_dir(bed.root());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let run = bed.start_command("run", command);
    wait_for("the plugin", || bed.path("started").exists());
    run.signal("HUP");
    gate.open();
    run.wait().expect(0);
}

#[test]
fn done_files_and_temporary_files_of_workers_are_not_results() {
    let bed = Bed::new();
    reporting(
        &bed,
        PASSES,
        "echo x > $SONOBUOY_RESULTS_DIR/.plumbline-Ab12cD\nprintf %s $SONOBUOY_RESULTS_DIR > $SONOBUOY_RESULTS_DIR/done",
    );
    bed.run(&["suite"], &[]).expect(0);
    let prefix = "plugins/suite/results/global/";
    let files: Vec<_> =
        bed.members().into_iter().filter_map(|name| Some(name.strip_prefix(prefix)?.to_owned())).collect();
    assert_eq!(files.iter().filter(|name| !name.is_empty()).collect::<Vec<_>>(), ["r.xml"]);
}

#[test]
fn a_bad_done_file_does_not_cost_the_results() {
    for done in ["nowhere.xml", "done"] {
        let bed = Bed::new();
        reporting(&bed, PASSES, &format!("printf %s $SONOBUOY_RESULTS_DIR/{done} > $SONOBUOY_RESULTS_DIR/done"));
        let shown = bed.run(&["suite"], &[]).expect(3);
        assert!(shown.out.contains("the done file names"), "{}", shown.out);
        assert_eq!(bed.member("plugins/suite/results/global/r.xml"), PASSES);
        assert_eq!(leaves(&bed)[0], leaf("good", "passed"));
    }
}

#[test]
fn a_run_whose_reader_has_gone_keeps_its_archive_and_says_nothing() {
    let bed = Bed::new();
    reporting(&bed, PASSES, "");
    for format in [&[][..], &["-o", "json"]] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command =
            bed.command(&["run", "--local", "--dir", "out", "-p", "suite.yaml", "--wait-output", "silent"]);
        command.args(format).stdout(writer).stderr(Stdio::piped());
        let output = command.output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(141), ""));
    }
    assert_eq!(bed.archives().len(), 2);
    Done::of(bed.command(&["status", "--local"])).expect(0);
}
