//! Runs that are interrupted, gracefully or not, and continued.

use std::fs;

use serde_json::Value;

use crate::bed::{Bed, Running, alive_in_group, entries, wait_for};
use crate::signing::keygen;

/// Starts a run of two plugins. `one` finishes at once. `two` waits, with a child process, until it
/// is started again after the file `again` was created.
fn half_done(bed: &Bed) -> Running {
    let root = bed.root().display();
    let done = "echo hi > $SONOBUOY_RESULTS_DIR/out\nprintf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done";
    bed.plugin("one", "", &format!("echo started >> {root}/one-starts\n{done}"));
    bed.plugin(
        "two",
        "",
        &format!("if ! test -e {root}/again; then sleep 600 & echo $$ > {root}/pid; wait; fi\n{done}"),
    );
    let run = bed.start("run", &["run", "--local", "--dir", "out", "-p", "one.yaml", "-p", "two.yaml"]);
    wait_for("the result of one", || {
        let status = bed.plumbline(&["status", "--local", "--json"]);
        let status: Value = serde_json::from_str(&status.out).unwrap_or_default();
        let entries = status["plugins"].as_array().cloned().unwrap_or_default();
        entries.iter().any(|entry| entry["plugin"] == "one" && entry["result-status"] == "passed")
    });
    wait_for("two", || fs::read_to_string(bed.path("pid")).is_ok_and(|pid| pid.ends_with('\n')));
    run
}

#[test]
fn an_interrupted_run_keeps_what_it_has_and_leaves_no_process() {
    let bed = Bed::new();
    let run = half_done(&bed);
    let group = fs::read_to_string(bed.path("pid")).unwrap();
    assert_eq!(alive_in_group(&group), 2);
    run.signal("INT");
    let done = run.wait().expect(130);
    assert!(done.err.contains("interrupted: stopping plugins and archiving their results"), "{}", done.err);
    assert!(done.out.contains("interrupted: what was gathered so far is in the archive"), "{}", done.out);
    assert_eq!(alive_in_group(&group), 0, "the plugin and what it started are gone when the run is");
    assert_eq!(bed.tree("one")["status"], "passed");
    assert_eq!(bed.tree("two")["status"], "failed");
    assert_eq!(entries(&bed.path("out")).len(), 1, "the archive and nothing else");
    let status = bed.plumbline(&["status", "--local"]).expect(130);
    assert!(status.out.contains("one") && status.out.contains("two"), "{}", status.out);
}

#[test]
fn a_second_interrupt_ends_everything_at_once() {
    let bed = Bed::new();
    bed.plugin(
        "deaf",
        "",
        &format!("trap '' TERM; echo $$ > {}/pid; while :; do sleep 600; done", bed.root().display()),
    );
    let run = bed.start("run", &["run", "--local", "--dir", "out", "-p", "deaf.yaml"]);
    wait_for("the plugin", || fs::read_to_string(bed.path("pid")).is_ok_and(|pid| pid.ends_with('\n')));
    run.signal("INT");
    wait_for("the first to be heard", || run.err().contains("interrupt again to stop immediately"));
    run.signal("INT");
    run.wait().expect(130);
    let group = fs::read_to_string(bed.path("pid")).unwrap();
    wait_for("the plugin's end", || alive_in_group(&group) == 0);
}

#[test]
fn a_signal_ends_a_command_whose_run_has_finished() {
    let bed = Bed::new();
    keygen(&bed, "release");
    bed.plugin("one", "", "echo hi > $SONOBUOY_RESULTS_DIR/out");
    fs::create_dir(bed.path("out")).unwrap();
    // The command waits for this lock when it writes the attestation.
    let held = fs::File::open(bed.path("out")).unwrap();
    held.lock().unwrap();
    let run = bed.start("run", &["run", "--local", "--dir", "out", "--sign", "release.key", "-p", "one.yaml"]);
    wait_for("the outcome", || fs::read_to_string(bed.path("run.out")).is_ok_and(|out| out.contains(".tar.gz")));
    run.signal("TERM");
    run.wait().expect(130);
    assert_eq!(entries(&bed.path("out")), bed.archives(), "the archive and nothing else");
}

#[test]
fn a_killed_run_resumes_where_it_stopped() {
    let bed = Bed::new();
    let run = half_done(&bed);
    let group = fs::read_to_string(bed.path("pid")).unwrap();
    run.signal("KILL");
    run.wait();
    assert_eq!(alive_in_group(&group), 2, "nobody could end them");
    let work = entries(&bed.path("out")).pop().unwrap();
    let record: Value = serde_json::from_slice(&fs::read(work.join("run.json")).unwrap()).unwrap();
    let id = record["run"].as_str().unwrap();

    bed.write("again", "");
    let done = bed.plumbline(&["run", "--local", "--continue", work.to_str().unwrap()]).expect(0);
    assert!(done.err.contains("this machine · continued"), "{}", done.err);
    assert_eq!(alive_in_group(&group), 0, "what the killed one left behind is ended");
    assert!(bed.archive().ends_with(&format!("_plumbline_{id}.tar.gz")), "{}", bed.archive());
    assert_eq!(
        fs::read_to_string(bed.path("one-starts")).unwrap(),
        "started\n",
        "a received result is not asked for again"
    );
    for plugin in ["one", "two"] {
        assert_eq!(bed.member(&format!("plugins/{plugin}/results/global/out")), "hi\n");
        assert_eq!(bed.tree(plugin)["status"], "passed");
    }
    let config: Value = serde_json::from_str(&bed.member("meta/config.json")).unwrap();
    assert_eq!(config["UUID"], id);
    assert!(!work.exists());
    let log = bed.member("meta/run.log");
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
}

#[test]
fn a_run_is_worked_on_by_one_process() {
    let bed = Bed::new();
    let run = half_done(&bed);
    let work = entries(&bed.path("out")).pop().unwrap();
    let done = bed.plumbline(&["run", "--local", "--continue", work.to_str().unwrap()]).expect(4);
    assert!(done.err.contains("another process uses the run in"), "{}", done.err);
    assert!(alive_in_group(&fs::read_to_string(bed.path("pid")).unwrap()) > 0, "its plugins are left alone");
    run.signal("TERM");
    run.wait().expect(130);
}

#[test]
fn a_failed_run_has_a_reason_until_it_is_resumed() {
    let bed = Bed::new();
    let root = bed.root().display();
    bed.plugin(
        "wrecker",
        "",
        // A directory is in the place of a file that the run writes.
        &format!("cd {root}/out/.plumbline-run-*/tree/meta\nmkdir -p info.json/x\necho hi > $SONOBUOY_RESULTS_DIR/out\nprintf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done"),
    );
    bed.plumbline(&["run", "--local", "--dir", "out", "-p", "wrecker.yaml"]).expect(4);
    let status = bed.plumbline(&["status", "--local"]).expect(4);
    assert!(status.out.contains(" · failed · "), "{}", status.out);
    assert!(status.out.contains("\ncause: the run failed: failed to write `"), "{}", status.out);
    assert!(status.out.contains("\nhint:  received results are kept"), "{}", status.out);
    let work = bed.path("out").join(&entries(&bed.path("out"))[0]);
    fs::remove_dir_all(work.join("tree/meta/info.json")).unwrap();
    bed.plumbline(&["run", "--local", "--continue", work.to_str().unwrap()]).expect(0);
    let status = bed.plumbline(&["status", "--local"]).expect(0);
    assert!(!status.out.contains("cause:"), "{}", status.out);
}
