//! `worker node-logs`, and the plugin `systemd-logs`, from the journal to the result tree.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::bed::Bed;

/// 208 entries, as `journalctl` prints them.
const JOURNAL: &[u8] = include_bytes!("journal.json.gz");

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn from_the_lines_of_a_journal_to_the_tree_of_a_run() {
    let bed = Bed::new();
    let mut lines = String::new();
    flate2::read::GzDecoder::new(JOURNAL).read_to_string(&mut lines).unwrap();
    bed.write("lines", &lines);
    bed.write(
        "logs.yaml",
        "sonobuoy-config: {driver: Process, plugin-name: logs, result-format: systemd-logs}\nspec:\n  name: p\n  command: [/bin/sh, -c, 'cp lines $SONOBUOY_RESULTS_DIR/systemd_logs']\nplumbline: {options: {fail-on: alert}}\n",
    );
    bed.plumbline(&["run", "--local", "--dir", "out", "-p", "logs.yaml"]).expect(1);
    let tree = bed.tree("logs");
    let file = &tree["items"][0];
    assert_eq!((file["name"].as_str(), file["status"].as_str()), (Some("systemd_logs"), Some("failed")), "{tree}");
    assert_eq!((file["meta"]["entries"].as_str(), file["meta"]["err"].as_str()), (Some("208"), Some("42")));
    let units: Vec<_> = file["items"].as_array().unwrap().iter().map(|unit| unit["name"].as_str().unwrap()).collect();
    assert!(units.contains(&"kubelet.service") && units.contains(&"long.service"), "{units:?}");
    let failed: Vec<_> = file["items"].as_array().unwrap().iter().filter(|unit| unit["status"] == "failed").collect();
    assert_eq!(failed.len(), 2, "{failed:?}");
}

#[test]
fn the_built_in_plugin_says_what_this_machine_has() {
    let bed = Bed::new();
    // What this machine logged in the last hour is not known. The plugin must deliver a file of
    // JSON lines, and the run a tree.
    bed.plumbline(&["run", "--local", "--dir", "out", "-p", "systemd-logs"]);
    let text = bed.member("plugins/systemd-logs/results/global/systemd_logs");
    for line in text.lines() {
        assert!(serde_json::from_str::<Value>(line).unwrap().is_object(), "{line}");
    }
    assert_eq!(bed.tree("systemd-logs")["items"][0]["name"], "systemd_logs");
}

#[test]
fn a_machine_without_a_journal_is_an_error_by_hand_and_a_result_for_a_plugin() {
    let bed = Bed::new();
    let empty = bed.path("out");
    fs::create_dir(&empty).unwrap();
    let done = bed.plumbline(&["worker", "node-logs", "--root", &empty.display().to_string()]).expect(4);
    assert!(done.err.contains("no journal below"), "{}", done.err);
    // For a plugin, a missing journal is a result, and the done file names it.
    let results = bed.path("results");
    fs::create_dir(&results).unwrap();
    let results = results.display().to_string();
    let args = ["worker", "node-logs", "--done", "--results-dir", &results, "--root", &empty.display().to_string()];
    bed.plumbline(&args).expect(0);
    let named = fs::read_to_string(Path::new(&results).join("done")).unwrap();
    assert_eq!(named, format!("{results}/systemd_logs"));
    assert!(fs::read_to_string(named).unwrap().contains("PLUMBLINE_NO_JOURNAL"));
}

#[test]
fn a_program_in_another_root() {
    let bed = Bed::new();
    let dir = bed.path("root");
    fs::create_dir(&dir).unwrap();
    let dir = dir.display().to_string();
    if !is_root() {
        let done = bed.plumbline(&["worker", "in-root", "--", &dir, "journalctl"]).expect(125);
        assert!(done.err.contains("cannot be entered"), "{}", done.err);
        eprintln!("SKIPPED the rest of a_program_in_another_root: it needs the right to enter one");
        return;
    }
    // The root of this machine, which has a shell to execute.
    let script = "echo $# $1 $(pwd); exit 7";
    let args = ["worker", "in-root", "--", "/", "sh", "-c", script, "sh", "-o", "--level=x"];
    let done = bed.plumbline(&args).expect(7);
    assert_eq!(done.out, "2 -o /\n", "{}", done.err);
    let done = bed.plumbline(&["worker", "in-root", "--", &dir, "journalctl", "-o", "json"]).expect(127);
    assert!(done.err.contains("failed to run `journalctl`"), "{}", done.err);
    bed.plumbline(&["worker", "in-root", "--", "/does/not/exist", "sh"]).expect(125);
}
