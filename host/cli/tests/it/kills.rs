//! A run whose process is killed at random moments and continued at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::bed::{Bed, DEADLINE, Running, entries};

/// The number of moments in a usual test run. `PLUMBLINE_KILLS` overrides it.
const MOMENTS: u32 = 10;
const PLUGINS: [&str; 4] = ["one", "two", "three", "four"];
/// The approximate size of such a run's journal, in bytes.
const JOURNAL: u64 = 5_000;

#[test]
fn a_run_that_is_killed_at_any_moment_keeps_every_acknowledged_result() {
    let moments = std::env::var("PLUMBLINE_KILLS").map_or(MOMENTS, |text| text.parse().unwrap());
    let (mut killed, mut kept) = (0, 0);
    for moment in 0..moments {
        let digest = Sha256::digest(moment.to_le_bytes());
        let length = u64::from(u16::from_le_bytes([digest[0], digest[1]])) % JOURNAL;
        if let Some(acknowledged) = kill_at(length) {
            killed += 1;
            kept += acknowledged;
        }
    }
    println!("{killed} of {moments} runs were killed before their end, with {kept} acknowledged results");
    assert!(killed > 0, "every run was over before it was to be killed");
}

/// Kills a run when its journal has `length` bytes, and continues it at once. Checks that the
/// archive has each result that the journal lists as stored. Returns `None` if the run had finished
/// before.
fn kill_at(length: u64) -> Option<usize> {
    let bed = Bed::new();
    for plugin in PLUGINS {
        // Random bytes, so that the results of different executions differ.
        let script = "head -c 500 /dev/urandom | od -An -tx1 > $SONOBUOY_RESULTS_DIR/out
            printf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done";
        bed.plugin(plugin, "", script);
    }
    let mut args = vec!["run", "--local", "--dir", "out"];
    let files = PLUGINS.map(|plugin| format!("{plugin}.yaml"));
    args.extend(files.iter().flat_map(|file| ["-p", file.as_str()]));
    let run = bed.start("run", &args);
    let begin = Instant::now();
    let work = loop {
        assert!(begin.elapsed() < DEADLINE, "the run neither ends nor writes its journal");
        if has_ended(&run) {
            assert_eq!(bed.archives().len(), 1, "{}", run.err());
            return None;
        }
        match work(&bed) {
            Some(work) if fs::metadata(work.join("journal")).is_ok_and(|journal| journal.len() >= length) => {
                break work;
            }
            _ => std::thread::yield_now(),
        }
    };
    run.signal("KILL");
    let acknowledged = stored(&work.join("journal"));
    if work.join("run.json").is_file() {
        // The kernel may still be ending the killed process.
        let done = bed.plumbline(&["run", "--local", "--continue", work.to_str().unwrap()]);
        assert_eq!(bed.archives().len(), 1, "killed at {length} bytes: {}", done.err);
    } else {
        assert!(acknowledged.is_empty() || bed.archives().len() == 1, "killed at {length} bytes: {acknowledged:?}");
    }
    for (plugin, sha256) in &acknowledged {
        let bytes = bed.member(&format!("plugins/{plugin}/results/global/out"));
        assert_eq!(&hex(&Sha256::digest(bytes)), sha256, "killed at {length} bytes: `{plugin}` was acknowledged");
    }
    Some(acknowledged.len())
}

fn work(bed: &Bed) -> Option<PathBuf> {
    let is_work =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".plumbline-run-"));
    let out = bed.path("out");
    out.is_dir().then(|| entries(&out).into_iter().find(is_work)).flatten()
}

/// Whether the process has exited and was not reaped yet.
fn has_ended(run: &Running) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", run.id())).is_ok_and(|stat| stat.contains(") Z "))
}

/// The plugins whose results the journal lists as stored, with the digests of these results.
fn stored(journal: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(journal).unwrap_or_default();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line.get(9..)?).ok());
    let stored = events.filter(|event| event["event"] == "upload-stored");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    stored.map(|event| (text(&event["key"]).replace("/global", ""), text(&event["stored"]["sha256"]))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
