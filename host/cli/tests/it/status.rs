//! A run seen from another terminal.

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
    assert!(bed.plumbline(&["status", "--local"]).expect(2).err.contains("no run of this user"));
    let run = bed.start("run", &["run", "--local", "--output", "out", "-p", "waiting.yaml"]);
    wait_for("the plugin", || bed.path("started").exists());
    // The status is published when something changes: the launch may not have been written yet.
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
        !String::from_utf8(elsewhere.stdout).unwrap().contains("no longer there"),
        "the archive is named for every directory"
    );
    let json: Value = serde_json::from_str(&bed.plumbline(&["status", "--local", "--json"]).expect(0).out).unwrap();
    assert_eq!(json["status"], "complete");
    assert_eq!(json["plugins"][0]["result-status"], "passed");
    assert_eq!(json["tar-info"]["size"].as_u64(), fs::metadata(bed.archive()).ok().map(|file| file.len()));
    assert!(bed.plumbline(&["status", "--local", "zzz"]).expect(2).err.contains("no run begins with `zzz`"));
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
    let run = bed.start("run", &["run", "--local", "--output", "out", "-p", "waiting.yaml"]);
    wait_for("the plugin", || bed.path("pid").exists());
    wait_for("a status", || bed.plumbline(&["status", "--local"]).out.contains("waiting"));
    run.signal("KILL");
    run.wait();
    // What time would do: the last sign of life becomes old.
    let work = entries(&bed.path("out")).pop().unwrap();
    let path = work.join("status.json");
    let mut published: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    published["at"] = "2026-01-01T00:00:00Z".into();
    fs::write(&path, published.to_string()).unwrap();
    let done = bed.plumbline(&["status", "--local"]).expect(4);
    assert!(done.out.contains("lost: nobody works on it any more"), "{}", done.out);
    assert!(done.out.contains(&format!("--continue {}", work.display())), "{}", done.out);
    // Whoever goes on ends what was left behind; here nobody will.
    let pid = fs::read_to_string(bed.path("pid")).unwrap();
    signal("KILL", &pid);
    fs::remove_dir_all(work).unwrap();
    let done = bed.plumbline(&["status", "--local"]).expect(4);
    assert!(done.err.contains("has left no status"), "{}", done.err);
}
