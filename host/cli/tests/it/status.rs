//! The status of a run, seen from another terminal.

use std::fs;

use serde_json::Value;

use crate::bed::{Bed, entries, signal, wait_for};

#[test]
fn while_it_goes_and_after_it_ended() {
    let bed = Bed::new();
    let mut gate = bed.gate("gate");
    let root = bed.root().display();
    bed.plugin(
        "waiting",
        "",
        &format!("touch {root}/started\nread _ < {root}/gate\necho hi > $SONOBUOY_RESULTS_DIR/out\nprintf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done"),
    );
    assert!(bed.plumbline(&["status", "--local"]).expect(2).err.contains("no runs found on this machine"));
    let run = bed.start("run", &["run", "--local", "--dir", "out", "-p", "waiting.yaml"]);
    wait_for("the plugin", || bed.path("started").exists());
    // The status is published when something changes, so the launch may not be in it yet.
    let mut shown = bed.plumbline(&["status", "--local"]).expect(0);
    wait_for("the worker's hello", || {
        shown = bed.plumbline(&["status", "--local"]).expect(0);
        shown.out.contains("waiting")
    });
    insta::assert_snapshot!("running", shown.shown(&bed));
    let json: Value = serde_json::from_str(&bed.plumbline(&["status", "--local", "--json"]).expect(0).out).unwrap();
    assert_eq!(json["status"], "running");
    assert_eq!(json["plugins"][0]["plugin"], "waiting");
    gate.open();
    run.wait().expect(0);
    insta::assert_snapshot!("ended", bed.plumbline(&["status", "--local"]).expect(0).shown(&bed));
    let elsewhere = bed.command(&["status", "--local"]).current_dir("/").output().unwrap();
    assert!(
        !String::from_utf8(elsewhere.stdout).unwrap().contains("(removed)"),
        "the archive is named for every directory"
    );
    let json: Value = serde_json::from_str(&bed.plumbline(&["status", "--local", "--json"]).expect(0).out).unwrap();
    assert_eq!(json["status"], "complete");
    assert_eq!(json["plugins"][0]["result-status"], "passed");
    assert_eq!(json["tar-info"]["size"].as_u64(), fs::metadata(bed.archive()).ok().map(|file| file.len()));
    assert!(bed.plumbline(&["status", "--local", "zzz"]).expect(2).err.contains("no run starts with `zzz`"));
}

#[test]
fn the_verdict_of_an_ended_run_is_its_exit_code() {
    let bed = Bed::new();
    bed.plugin(
        "bad",
        "",
        "echo hi > $SONOBUOY_RESULTS_DIR/out\nprintf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done\nexit 1",
    );
    bed.run(&["bad"], &[]).expect(1);
    bed.plumbline(&["status", "--local"]).expect(1);
    bed.plumbline(&["status", "--local", "--exit-code", "compat"]).expect(0);
}

#[test]
fn a_lost_run_is_called_lost() {
    let bed = Bed::new();
    let _gate = bed.gate("gate");
    let root = bed.root().display();
    bed.plugin("waiting", "", &format!("echo $$ > {root}/pid\nread _ < {root}/gate"));
    let run = bed.start("run", &["run", "--local", "--dir", "out", "-p", "waiting.yaml"]);
    wait_for("the plugin", || bed.path("pid").exists());
    wait_for("a status", || bed.plumbline(&["status", "--local"]).out.contains("waiting"));
    run.signal("KILL");
    run.wait();
    let work = entries(&bed.path("out")).pop().unwrap();
    let done = bed.plumbline(&["status", "--local"]).expect(4);
    assert!(done.out.contains("interrupted: no process is running it"), "{}", done.out);
    assert!(done.out.contains("continue it with: plumbline run --local --continue "), "{}", done.out);
    assert!(done.out.contains(&format!("working directory: {}", work.display())), "{}", done.out);
    // Continuing the run would end the process that it left. Nothing continues it here.
    let pid = fs::read_to_string(bed.path("pid")).unwrap();
    signal("KILL", &pid);
    fs::remove_dir_all(work).unwrap();
    let done = bed.plumbline(&["status", "--local"]).expect(4);
    assert!(done.err.contains("has no status"), "{}", done.err);
}

/// A finished run, a killed one, and a running one.
#[test]
fn all_local_runs_are_listed_and_the_newest_unfinished_one_is_continued() {
    let bed = Bed::new();
    let root = bed.root().display();
    bed.plugin("quick", "", "echo hi > $SONOBUOY_RESULTS_DIR/out");
    bed.plumbline(&["run", "--local", "--dir", "first", "-p", "quick.yaml"]).expect(0);
    assert!(bed.plumbline(&["run", "--local", "--continue"]).expect(2).err.contains("no run to continue"));
    let _gate = bed.gate("gate");
    let waits = format!(
        "if test -e {root}/again; then echo hi > $SONOBUOY_RESULTS_DIR/out; exit 0; fi\ntouch {root}/$RESULT_TYPE\nread _ < {root}/gate"
    );
    for plugin in ["killed", "running"] {
        bed.plugin(plugin, "", &waits);
    }
    let killed = bed.start("killed", &["run", "--local", "--dir", "out", "-p", "killed.yaml"]);
    wait_for("the plugin", || bed.path("killed").exists());
    killed.signal("KILL");
    killed.wait();
    let running = bed.start("running", &["run", "--local", "--dir", "out", "-p", "running.yaml"]);
    wait_for("the plugin", || bed.path("running").exists());
    wait_for("a status", || bed.plumbline(&["status", "--local"]).out.contains("running  global"));

    let shown = bed.plumbline(&["status", "--local"]).expect(0).out;
    let row = |word: &str| shown.lines().find(|line| line.contains(word)).unwrap_or_default().to_owned();
    assert!(shown.contains("other runs:\n"), "{shown}");
    assert!(row("interrupted").contains(&format!("{root}/out/.plumbline-run-")), "{shown}");
    assert!(row("finished").contains("passed") && row("finished").contains(&format!("{root}/first/")), "{shown}");
    let hint = row("continue an unfinished run with: plumbline run --local --continue ");
    let id = hint.rsplit(' ').next().unwrap();

    bed.write("again", "");
    // The newest run is in progress, so the one before it is continued.
    let done = bed.plumbline(&["run", "--local", "--continue"]).expect(0);
    assert!(done.out.contains("killed"), "{}", done.out);
    let done = bed.plumbline(&["run", "--local", "--continue", id]).expect(2);
    assert!(done.err.contains("it has finished: its archive is"), "{}", done.err);
    let done = bed.plumbline(&["run", "--local", "--continue"]).expect(2);
    assert!(done.err.contains("no run to continue: the unfinished ones are running"), "{}", done.err);
    let done = bed.plumbline(&["run", "--local", "--continue", "nonsense"]).expect(2);
    assert!(done.err.contains("`nonsense` is neither the ID nor the working directory"), "{}", done.err);
    running.signal("TERM");
    running.wait().expect(130);
}
