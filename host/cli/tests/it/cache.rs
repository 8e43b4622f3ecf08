//! `plumbline cache`

use serde_json::Value;

use crate::bed::{Bed, wait_for};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_cache_is_listed_and_removed_by_part() {
    let bed = Bed::new();
    let empty = json(&bed.plumbline(&["cache", "list", "-o", "json"]).expect(0).out);
    assert_eq!((&empty["bytes"], &empty["parts"]), (&0.into(), &Value::Array(Vec::new())));
    bed.write("home/cache/plumbline/modules/a", "12345");
    bed.write("home/cache/plumbline/downloads/b", "123");
    let listed = bed.plumbline(&["cache", "list"]).expect(0).out;
    assert!(listed.contains("compiled modules") && listed.ends_with("cache/plumbline: 8 B\n"), "{listed}");

    let would = bed.plumbline(&["cache", "clean", "--dry-run"]).expect(0).out;
    assert!(would.contains("would remove modules"), "{would}");
    assert!(bed.path("home/cache/plumbline/modules/a").exists());
    let removed = json(&bed.plumbline(&["cache", "clean", "modules", "-o", "json"]).expect(0).out);
    assert_eq!((&removed["parts"][0]["name"], &removed["parts"][0]["removed"]), (&"modules".into(), &true.into()));
    assert!(!bed.path("home/cache/plumbline/modules").exists());
    assert!(bed.path("home/cache/plumbline/downloads/b").exists());
    let wrong = bed.plumbline(&["cache", "clean", "modlues"]).expect(2);
    assert!(wrong.err.contains("the cache has no part `modlues`"), "{}", wrong.err);
}

#[test]
fn the_cache_stays_while_a_run_uses_it() {
    let bed = Bed::new();
    let mut gate = bed.gate("gate");
    bed.plugin("waiting", "", "read _ < \"$GATE\"");
    bed.write("home/cache/plumbline/downloads/b", "123");
    let mut command = bed.command(&["run", "--local", "--dir", "out", "-p", "waiting.yaml"]);
    command.env("GATE", bed.path("gate"));
    let run = bed.start_command("run", command);
    wait_for("the run", || bed.plumbline(&["status", "--local"]).out.contains("running"));
    let refused = bed.plumbline(&["cache", "clean"]).expect(2);
    assert!(refused.err.contains("is in progress and uses the cache"), "{}", refused.err);
    gate.open();
    run.wait();
    bed.plumbline(&["cache", "clean"]).expect(0);
    assert!(!bed.path("home/cache/plumbline/downloads").exists());
}

#[test]
fn the_cache_stays_if_nobody_knows_which_runs_use_it() {
    let bed = Bed::new();
    bed.write("home/cache/plumbline/downloads/b", "123");
    // A file is in the place of the directory with the list of runs.
    bed.write("home/state/plumbline/runs", "in the way");
    let done = bed.plumbline(&["cache", "clean"]).expect(4);
    assert!(done.err.contains("failed to list the runs, which may use the cache"), "{}", done.err);
    assert!(bed.path("home/cache/plumbline/downloads/b").exists());
}
