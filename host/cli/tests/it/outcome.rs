//! Outcomes of runs: exit codes, summaries and leaves.

use serde_json::{Value, json};

use crate::bed::{Bed, entries};

const JUNIT: &str = r#"<testsuite name="checks"><testcase name="swap is off"><failure message="2.0 GiB in use"/></testcase><testcase name="a"/><testcase name="b"><skipped/></testcase></testsuite>"#;

fn failing(bed: &Bed) {
    bed.write("report.xml", JUNIT);
    bed.plugin(
        "node-check",
        "result-format: junit",
        &format!("cp {}/report.xml $SONOBUOY_RESULTS_DIR/\nprintf %s $SONOBUOY_RESULTS_DIR/report.xml > $SONOBUOY_RESULTS_DIR/done", bed.root().display()),
    );
}

fn passing(bed: &Bed, name: &str) {
    bed.plugin(
        name,
        "result-format: raw",
        "echo hi > $SONOBUOY_RESULTS_DIR/out\necho $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done",
    );
}

#[test]
fn a_run_that_passes_exits_with_0() {
    let bed = Bed::new();
    passing(&bed, "good");
    let done = bed.run(&["good"], &["--wait-output", "silent"]).expect(0);
    assert_eq!(done.err, "", "silent is silent");
    insta::assert_snapshot!(done.shown(&bed));
    assert_eq!(bed.member("plugins/good/results/global/out"), "hi\n");
    assert!(entries(&bed.path("out")).len() == 1, "nothing but the archive is left: {:?}", entries(&bed.path("out")));
}

#[test]
fn a_failed_check_exits_with_1_and_says_what_failed() {
    let bed = Bed::new();
    failing(&bed);
    passing(&bed, "good");
    let done = bed.run(&["good", "node-check"], &["--wait-output", "silent"]).expect(1);
    insta::assert_snapshot!(done.shown(&bed));
}

#[test]
fn compat_exit_codes_only_tell_whether_the_tool_failed() {
    let bed = Bed::new();
    failing(&bed);
    bed.run(&["node-check"], &["--exit-code", "compat"]).expect(0);
    bed.plumbline(&["results", &bed.archive(), "--exit-code", "compat"]).expect(0);
    bed.run(&["nobody"], &["--exit-code", "compat"]).expect(2);
}

#[test]
fn data_goes_to_stdout_and_messages_to_stderr() {
    let bed = Bed::new();
    failing(&bed);
    let done = bed.run(&["node-check"], &["-o", "json"]).expect(1);
    let document: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(document["verdict"], "failed");
    assert_eq!(document["exit-code"], 1);
    assert_eq!(document["plugins"][0]["counts"], json!({"failed": 1, "passed": 1, "skipped": 1}));
    assert_eq!(document["plugins"][0]["failures"], json!([{"name": "swap is off", "reason": "2.0 GiB in use"}]));
    assert_eq!(document["archive"].as_str().map(str::to_owned).unwrap(), document_archive(&bed));
    assert_eq!(document["sha256"].as_str().unwrap(), sha256(&bed.archive()));
    for line in ["1 plugin · this machine", "node-check: running", "node-check: result received", "node-check: failed"]
    {
        assert!(done.err.contains(line), "{line}: {}", done.err);
    }
}

fn document_archive(bed: &Bed) -> String {
    let name = bed.archives()[0].file_name().unwrap().to_str().unwrap().to_owned();
    format!("out/{name}")
}

fn sha256(path: &str) -> String {
    let output = std::process::Command::new("sha256sum").arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

#[test]
fn a_timeout_exits_with_3_and_is_a_leaf() {
    let bed = Bed::new();
    bed.plugin("slow", "", "exec sleep 600");
    let done = bed.run(&["slow"], &["--timeout", "1s"]).expect(3);
    assert!(done.out.contains("1 timeout"), "{}", done.out);
    let tree = bed.tree("slow");
    assert_eq!(tree["status"], "failed");
    assert_eq!(tree["items"][0]["status"], "timeout");
    assert_eq!(
        tree["items"].as_array().unwrap().len(),
        1,
        "a process that had to be ended did not fail as well: {tree}"
    );
}

#[test]
fn a_process_that_fails_without_results_leaves_its_last_words() {
    let bed = Bed::new();
    bed.plugin("bad", "", "echo it is broken >&2\nexit 3");
    let done = bed.run(&["bad"], &[]).expect(3);
    assert!(done.out.contains("incomplete: 1 of 1 results did not arrive"), "{}", done.out);
    let error: Value = serde_json::from_str(&bed.member("plugins/bad/errors/global/error.json")).unwrap();
    assert_eq!(error, json!({"error": "process exited with code 3 and left no results", "output": "it is broken"}));
    let tree = bed.tree("bad");
    assert_eq!(tree["status"], "failed");
    assert_eq!(tree["items"].as_array().unwrap().len(), 1, "one failure is reported once: {tree}");
    assert!(bed.member("podlogs/local/bad/logs/global.txt").contains("it is broken"));
}

#[test]
fn a_process_that_ends_well_without_results_has_no_result() {
    let bed = Bed::new();
    bed.plugin("empty", "", "exit 0");
    bed.run(&["empty"], &[]).expect(3);
    let tree = bed.tree("empty");
    assert_eq!(tree["status"], "failed");
    assert_eq!(tree["items"][0]["name"], "process exited with code 0 and left no results");
}

#[test]
fn a_missing_result_is_incomplete_in_the_run_and_in_its_archive() {
    let bed = Bed::new();
    bed.plugin("gone", "", "exit 3");
    let fails = "echo '<testsuite name=\"s\"><testcase name=\"t\"><failure/></testcase></testsuite>' > $SONOBUOY_RESULTS_DIR/r.xml";
    bed.plugin("fails", "result-format: junit", fails);
    bed.run(&["gone", "fails"], &[]).expect(3);
    bed.plumbline(&["status", "--local"]).expect(3);
    let archive = bed.archive();
    bed.plumbline(&["results", &archive]).expect(3);
    bed.plumbline(&["results", &archive, "-o", "json"]).expect(3);
    bed.plumbline(&["results", &archive, "-p", "gone"]).expect(3);
    bed.plumbline(&["results", &archive, "-p", "fails"]).expect(1);
    bed.plumbline(&["results", &archive, "--exit-code=compat"]).expect(0);
    // Archives of Sonobuoy have the same mark for a missing result.
    bed.write("theirs/meta/info.json", r#"{"plugins": ["p"]}"#);
    let tree = "name: p\nstatus: failed\nitems:\n- {name: no pod, status: failed, meta: {file: errors/n1/error.json}}\n\
                - {name: t, status: passed, meta: {file: results/n2/r.xml, type: file}}\n";
    bed.write("theirs/plugins/p/sonobuoy_results.yaml", tree);
    bed.plumbline(&["results", "theirs"]).expect(3);
}

#[test]
fn a_result_without_anything_in_it_never_passes() {
    let bed = Bed::new();
    bed.write("report.xml", "<testsuites/>");
    bed.plugin(
        "empty",
        "result-format: junit",
        "mkdir $SONOBUOY_RESULTS_DIR/d\nprintf %s $SONOBUOY_RESULTS_DIR/d > $SONOBUOY_RESULTS_DIR/done",
    );
    let done = bed.run(&["empty"], &[]).expect(5);
    assert!(done.out.contains("nothing to judge"), "{}", done.out);
    let tree = bed.tree("empty");
    assert_eq!(tree["status"], "unknown");
    assert!(tree["meta"]["reason"].is_string(), "{tree}");
}

#[test]
fn a_failed_exit_after_the_results_adds_a_failed_leaf() {
    let bed = Bed::new();
    bed.plugin(
        "after",
        "",
        "echo hi > $SONOBUOY_RESULTS_DIR/out\nprintf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done\nexit 7",
    );
    bed.run(&["after"], &[]).expect(1);
    let tree = bed.tree("after");
    assert_eq!(tree["items"][0]["status"], "not-read");
    assert_eq!(
        tree["items"][1],
        json!({"name": "process exited with code 7", "status": "failed", "meta": {"file": "errors/global/exit.json"}})
    );
}

#[test]
fn files_without_a_done_file_are_submitted_when_the_process_ends_well() {
    let bed = Bed::new();
    bed.plugin(
        "forgetful",
        "",
        "echo a > $SONOBUOY_RESULTS_DIR/a\nmkdir $SONOBUOY_RESULTS_DIR/d\necho b > $SONOBUOY_RESULTS_DIR/d/b",
    );
    bed.run(&["forgetful"], &[]).expect(0);
    let files: Vec<String> =
        bed.members().into_iter().filter(|name| name.starts_with("plugins/forgetful/results/global/")).collect();
    assert_eq!(
        files.join(" ").replace("plugins/forgetful/results/global/", ""),
        "a d d/b",
        "and nothing that the plugin did not write"
    );
}

#[test]
fn a_directory_is_a_result() {
    let bed = Bed::new();
    bed.plugin(
        "tree",
        "",
        "mkdir -p $SONOBUOY_RESULTS_DIR/d/e\necho a > $SONOBUOY_RESULTS_DIR/d/a\necho b > $SONOBUOY_RESULTS_DIR/d/e/b\nprintf '%s\\n' $SONOBUOY_RESULTS_DIR/d > $SONOBUOY_RESULTS_DIR/done",
    );
    bed.run(&["tree"], &[]).expect(0);
    assert_eq!(bed.member("plugins/tree/results/global/e/b"), "b\n");
    assert_eq!(bed.tree("tree")["items"].as_array().unwrap().len(), 3, "two files, and the exit code that decides");
}

#[test]
fn two_runs_at_once_do_not_meet() {
    let bed = Bed::new();
    let mut gate = bed.gate("gate");
    let script = format!("touch {0}/$1-started; read _ < {0}/gate", bed.root().display());
    let script = |name: &str| {
        format!(
            "{}\necho {name} > $SONOBUOY_RESULTS_DIR/out\nprintf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done",
            script.replace("$1", name)
        )
    };
    bed.plugin("one", "", &script("one"));
    bed.plugin("two", "", &script("two"));
    let runs: Vec<_> = ["one", "two"]
        .iter()
        .map(|name| bed.start(name, &["run", "--local", "--dir", "out", "-p", &format!("{name}.yaml")]))
        .collect();
    for name in ["one", "two"] {
        crate::bed::wait_for(name, || bed.path(&format!("{name}-started")).exists());
    }
    gate.open();
    gate.open();
    for run in runs {
        run.wait().expect(0);
    }
    let mut plugins: Vec<String> = bed
        .archives()
        .iter()
        .map(|archive| {
            let done = bed.plumbline(&["results", archive.to_str().unwrap(), "-m", "detailed"]).expect(0);
            done.out
        })
        .collect();
    plugins.sort();
    // The format is raw, so no module reads the file, and the exit code decides.
    let exit = r#"exit code 0 {"exit":"process exited with code 0","success":true}"#;
    assert_eq!(plugins, ["one", "two"].map(|name| format!("{name}|out {name}\n{name}|{exit}\n")));
}
