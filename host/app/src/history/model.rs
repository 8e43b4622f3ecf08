//! A history as data: its runs, its clusters and its tests.

use jiff::Timestamp;
use serde::Serialize;

use crate::difference::Outcome;
use crate::difference::TestNames;

/// A history as data. Keys are only ever added (docs/output.md).
#[derive(Debug, Clone, Default, Serialize)]
pub struct HistoryReport {
    /// The runs, the oldest first.
    pub runs: Vec<RunOverview>,
    /// The clusters, by version.
    pub clusters: Vec<ClusterHistory>,
    /// The tests that ran, by cluster.
    pub tests: Vec<TestHistory>,
    /// Why archives, or plugins of archives, are missing.
    pub unreadable: Vec<String>,
}

/// A run of a history.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RunOverview {
    /// The archive.
    pub archive: String,
    /// The ID of the run.
    pub run: Option<String>,
    /// The tool that made the archive, with its version.
    pub tool: Option<String>,
    /// The start.
    pub started: Timestamp,
    /// The cluster. `None` for a run on a machine, and if it is unknown.
    pub cluster: Option<String>,
    /// The version of its API server.
    pub version: Option<String>,
    /// Tests that passed in every attempt.
    pub passed: u64,
    /// Tests that failed in every attempt.
    pub failed: u64,
    /// Tests that failed in an attempt and passed in another.
    pub flaky: u64,
    /// Tests that were skipped.
    pub skipped: u64,
    /// Tests with any other status.
    pub other: u64,
    /// The scheduled runs that were missed before this one.
    #[serde(skip_serializing_if = "is_zero")]
    pub missed: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The runs of a version on a cluster.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClusterHistory {
    /// The cluster. `None` for runs on a machine, and if it is unknown.
    pub cluster: Option<String>,
    /// The version of its API server.
    pub version: Option<String>,
    /// The number of runs.
    pub runs: u64,
    /// Of these, runs in which a test passed and none failed.
    pub without_failures: u64,
    /// The start of the first run.
    pub first: Timestamp,
    /// The start of the last run.
    pub last: Timestamp,
}

/// The history of a test on a cluster.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TestHistory {
    /// The test.
    #[serde(flatten)]
    pub test: TestNames,
    /// The cluster. `None` for runs on a machine, and if it is unknown.
    pub cluster: Option<String>,
    /// Runs in which it passed or failed.
    pub ran: u64,
    /// Of these, runs in which it passed in every attempt.
    pub passed: u64,
    /// Of these, runs in which it failed in every attempt.
    pub failed: u64,
    /// Of these, runs in which it failed in an attempt and passed in another.
    pub flaky: u64,
    /// Of these, runs with a flake (docs/history.md).
    pub flakes: u64,
    /// `passed` divided by `ran`.
    pub pass_rate: f64,
    /// `flakes` divided by `ran`.
    pub flake_rate: f64,
    /// The runs since the last change between failing and not failing.
    pub streak: Streak,
    /// The longest series of failures.
    pub longest_failing: u64,
    /// The first archive of the current series of failures.
    pub first_bad: Option<String>,
    /// The last archive before it in which the test ran.
    pub last_good: Option<String>,
    /// The median of the durations of runs in which it passed, in seconds.
    pub seconds: Option<f64>,
    /// The same for the last 5 of them. `None` if there are fewer than 3, or fewer than 3 before.
    pub seconds_recent: Option<f64>,
    /// The same for those before.
    pub seconds_before: Option<f64>,
    /// One character for each run on the cluster, the oldest first: `.` passed, `F` failed, `f`
    /// flaky, `?` any other status, `-` did not run.
    pub outcomes: String,
    /// The versions of the cluster, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<VersionHistory>,
    /// The durations in milliseconds of the runs in which it passed, the oldest first.
    #[serde(skip)]
    pub(super) durations: Vec<u32>,
}

/// The runs since a test last changed between failing and not failing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Streak {
    /// Whether the test fails.
    pub failing: bool,
    /// The number of runs in which it ran.
    pub runs: u64,
    /// The start of the first of them.
    pub since: Timestamp,
}

/// The history of a test on one version of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VersionHistory {
    /// The version.
    pub version: Option<String>,
    /// Runs in which it passed or failed.
    pub ran: u64,
    /// Of these, runs in which it passed in every attempt.
    pub passed: u64,
    /// Of these, runs with a flake.
    pub flakes: u64,
}

impl TestHistory {
    /// A test takes much longer from this factor on.
    const GREW_TIMES: f64 = 2.0;
    /// A test takes much longer from this many more seconds on.
    const GREW_SECONDS: f64 = 10.0;

    /// Whether the recent runs took much longer than those before, and both medians.
    pub fn slower(&self) -> Option<(f64, f64)> {
        let (before, recent) = (self.seconds_before?, self.seconds_recent?);
        let grew = recent >= before * Self::GREW_TIMES && recent - before >= Self::GREW_SECONDS;
        grew.then_some((before, recent))
    }
}

impl RunOverview {
    /// Counts a test with this outcome.
    pub(super) fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Flaky => &mut self.flaky,
            Outcome::Skipped => &mut self.skipped,
            Outcome::Other => &mut self.other,
        } += 1;
    }

    /// Adds the counts of other tests of the run.
    pub(super) fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.flaky += other.flaky;
        self.skipped += other.skipped;
        self.other += other.other;
    }
}
