//! A run whose process is killed at random moments and continued at once.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::bed::{Bed, DEADLINE, Running, entries};

/// The number of moments in a usual test run. `PLUMBLINE_KILLS` overrides it.
const MOMENTS: u32 = 10;
const PLUGINS: [&str; 4] = ["one", "two", "three", "four"];
/// The approximate size of such a run's journal, in bytes.
const JOURNAL: u64 = 5_000;
/// What a worker logs when its upload was acknowledged.
const ACKNOWLEDGED: &str = "the aggregator received the result";

/// When to kill a run.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// When its journal has this many bytes.
    Journal(u64),
    /// When this many workers know that their results were received.
    Acknowledged(usize),
}

impl Moment {
    /// Returns a random moment. The kinds alternate.
    fn random(n: u32) -> Self {
        let random = RandomState::new().hash_one(n);
        if n.is_multiple_of(2) {
            return Self::Journal(random % JOURNAL);
        }
        Self::Acknowledged(1 + usize::from(random as u8) % PLUGINS.len())
    }

    fn is_now(self, work: &Path) -> bool {
        match self {
            Self::Journal(length) => fs::metadata(work.join("journal")).is_ok_and(|journal| journal.len() >= length),
            Self::Acknowledged(workers) => acknowledged(work).count() >= workers,
        }
    }
}

#[test]
fn a_run_that_is_killed_at_any_moment_keeps_every_acknowledged_result() {
    let moments = std::env::var("PLUMBLINE_KILLS").map_or(MOMENTS, |text| text.parse().unwrap());
    let (mut killed, mut kept) = (0, 0);
    for n in 0..moments {
        if let Some(acknowledged) = kill_at(Moment::random(n)) {
            killed += 1;
            kept += acknowledged;
        }
    }
    println!("{killed} of {moments} runs were killed before their end, with {kept} acknowledged results");
    assert!(killed > 0, "every run was over before it was to be killed");
    assert!(kept > 0, "every run was killed before a result was acknowledged");
}

/// Kills a run at `moment`, and continues it at once. Checks that the archive has exactly the bytes
/// of each result whose worker got an acknowledgement. The journal is not asked, because it could
/// lack one. Returns `None` if the run had finished before.
fn kill_at(moment: Moment) -> Option<usize> {
    let bed = Bed::new();
    for plugin in PLUGINS {
        // Random bytes, so that the results of different executions differ.
        let written = bed.path(&written(plugin)).display().to_string();
        let script = format!(
            "head -c 500 /dev/urandom | od -An -tx1 > {written}
            cp {written} $SONOBUOY_RESULTS_DIR/out
            printf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done"
        );
        bed.plugin(plugin, "", &script);
    }
    let mut args = vec!["run", "--local", "--dir", "out"];
    let files = PLUGINS.map(|plugin| format!("{plugin}.yaml"));
    args.extend(files.iter().flat_map(|file| ["-p", file.as_str()]));
    let run = bed.start("run", &args);
    let begin = Instant::now();
    let work = loop {
        assert!(begin.elapsed() < DEADLINE, "the run neither ends nor reaches {moment:?}");
        if has_ended(&run) {
            assert_eq!(bed.archives().len(), 1, "{}", run.err());
            return None;
        }
        match work(&bed) {
            Some(work) if moment.is_now(&work) => break work,
            _ => std::thread::yield_now(),
        }
    };
    run.signal("KILL");
    // The continued run executes the other plugins again, so read what was sent before.
    let sent = |plugin: &'static str| (plugin, fs::read_to_string(bed.path(&written(plugin))).unwrap());
    let acknowledged: BTreeMap<&str, String> = acknowledged(&work).map(sent).collect();
    if work.join("run.json").is_file() {
        // The kernel may still be ending the killed process.
        let done = bed.plumbline(&["run", "--local", "--continue", work.to_str().unwrap()]);
        assert_eq!(bed.archives().len(), 1, "killed at {moment:?}: {}", done.err);
    } else {
        assert!(acknowledged.is_empty() || bed.archives().len() == 1, "killed at {moment:?}: {acknowledged:?}");
    }
    for (plugin, sent) in &acknowledged {
        let found = bed.member(&format!("plugins/{plugin}/results/global/out"));
        assert_eq!(&found, sent, "killed at {moment:?}: `{plugin}` was acknowledged");
    }
    Some(acknowledged.len())
}

/// Returns the name of the file with a copy of what `plugin` wrote last.
fn written(plugin: &str) -> String {
    format!("{plugin}.written")
}

/// Returns the plugins whose workers know that their results were received.
fn acknowledged(work: &Path) -> impl Iterator<Item = &'static str> {
    let logs = work.join("tree/podlogs/local");
    PLUGINS.into_iter().filter(move |plugin| {
        let log = fs::read_to_string(logs.join(plugin).join("logs/global-worker.txt"));
        log.is_ok_and(|log| log.contains(ACKNOWLEDGED))
    })
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
