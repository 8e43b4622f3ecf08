//! The statistics of one test on one cluster.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::difference::TestKey;
use crate::history::index::Outcome;
use crate::history::report::{RunOverview, Streak, TestHistory, VersionHistory, known};
use crate::history::select::{Rows, SelectedRun};

/// The number of the newest runs whose durations are compared with those before.
const RECENT: usize = 5;

/// The fewest runs on each side of that comparison.
const FEWEST: usize = 3;

/// The outcome of a test in one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    /// The number of the run on its cluster.
    run: u32,
    millis: Option<u32>,
    outcome: Outcome,
}

/// The selected runs on one cluster, the oldest first.
#[derive(Default)]
pub(super) struct ClusterRuns<'a> {
    pub(super) runs: Vec<SelectedRun<'a>>,
}

/// For each plugin, the group of each run: runs with the same version and the same definition.
pub(super) type Groups<'a> = BTreeMap<&'a str, Vec<usize>>;

impl ClusterRuns<'_> {
    /// Distributes the outcomes of all runs over the rows, and counts them by run. Skipped tests
    /// are counted only.
    pub(super) fn fill(&self, rows: &Rows, cells: &mut Vec<Vec<Cell>>) -> Vec<RunOverview> {
        cells.resize(rows.keys.len(), Vec::new());
        let mut counted = Vec::with_capacity(self.runs.len());
        for (number, run) in (0..).zip(&self.runs) {
            let mut overview = RunOverview::of(run);
            for entry in run.run.entries() {
                let Some(row) = rows.row(run.source, entry.test).and_then(|row| cells.get_mut(row)) else { continue };
                overview.count(entry.outcome);
                if entry.outcome == Outcome::Skipped {
                    continue;
                }
                match row.last_mut().filter(|last| last.run == number) {
                    Some(last) => {
                        last.outcome = last.outcome.with_test(entry.outcome);
                        last.millis = last.millis.max(entry.millis);
                    }
                    None => {
                        if row.is_empty() {
                            row.reserve_exact(self.runs.len().saturating_sub(number as usize));
                        }
                        row.push(Cell { run: number, millis: entry.millis, outcome: entry.outcome });
                    }
                }
            }
            counted.push(overview);
        }
        counted
    }

    /// The history of a test, or `None` if it never ran.
    pub(super) fn test<'b>(&self, key: &'b TestKey, cells: &[Cell], groups: &mut Groups<'b>) -> Option<TestHistory> {
        let count = |outcome: Outcome| cells.iter().filter(|cell| cell.outcome == outcome).count() as u64;
        let (passed, failed, flaky) = (count(Outcome::Passed), count(Outcome::Failed), count(Outcome::Flaky));
        let ran = passed + failed + flaky;
        if ran == 0 {
            return None;
        }
        let flakes = if failed + flaky == 0 { Vec::new() } else { self.flakes(&key.plugin, cells, groups) };
        let series = self.series(cells);
        let (seconds, seconds_before, seconds_recent, durations) = durations(cells);
        let id = &key.test;
        Some(TestHistory {
            plugin: key.plugin.clone(),
            place: key.place(),
            classname: id.classname.clone(),
            name: id.name.clone(),
            cluster: self.runs.first().and_then(|run| known(&run.run.facts.cluster)),
            ran,
            passed,
            failed,
            flaky,
            flakes: flakes.len() as u64,
            pass_rate: passed as f64 / ran as f64,
            flake_rate: flakes.len() as f64 / ran as f64,
            streak: series.streak,
            longest_failing: series.longest_failing,
            first_bad: series.first_bad,
            last_good: series.last_good,
            seconds,
            seconds_recent,
            seconds_before,
            outcomes: self.strip(cells),
            versions: self.versions(cells, &flakes),
            durations,
        })
    }

    /// The runs with a flake: the test passed in another attempt of the run, or in a later run with
    /// the same version and the same definition of the plugin.
    fn flakes<'b>(&self, plugin: &'b str, cells: &[Cell], groups: &mut Groups<'b>) -> Vec<u32> {
        let groups = groups.entry(plugin).or_insert_with(|| self.groups(plugin));
        let (mut passed, mut flakes) = (vec![false; groups.len()], Vec::new());
        for cell in cells.iter().rev() {
            let Some(passed) = groups.get(cell.run as usize).and_then(|group| passed.get_mut(*group)) else { continue };
            match cell.outcome {
                Outcome::Passed => *passed = true,
                Outcome::Failed if *passed => flakes.push(cell.run),
                Outcome::Flaky => {
                    *passed = true;
                    flakes.push(cell.run);
                }
                _ => {}
            }
        }
        flakes
    }

    /// The group of each run, which is the number of the first run like it.
    fn groups(&self, plugin: &str) -> Vec<usize> {
        let mut first = BTreeMap::new();
        let group = |(number, run): (usize, &SelectedRun<'_>)| {
            let facts = &run.run.facts;
            let digest = facts.plugins.iter().find(|one| one.name == plugin).map_or(0, |one| one.digest);
            *first.entry((facts.version.clone(), digest)).or_insert(number)
        };
        self.runs.iter().enumerate().map(group).collect()
    }

    fn series(&self, cells: &[Cell]) -> Series {
        let mut series = Series::default();
        let (mut failing, mut first, mut before): (Option<bool>, Option<u32>, Option<u32>) = (None, None, None);
        let mut previous = None;
        for cell in cells.iter().filter(|cell| cell.outcome.ran()) {
            let fails = cell.outcome == Outcome::Failed;
            if failing != Some(fails) {
                (failing, first, before, series.streak.runs) = (Some(fails), Some(cell.run), previous, 0);
            }
            series.streak.runs += 1;
            if fails {
                series.longest_failing = series.longest_failing.max(series.streak.runs);
            }
            previous = Some(cell.run);
        }
        let archive = |number: Option<u32>| Some(self.run(number?)?.run.file.name.clone());
        series.streak.failing = failing == Some(true);
        series.streak.since = first
            .and_then(|number| self.run(number))
            .map_or(Timestamp::UNIX_EPOCH, |run| Timestamp::from_second(run.run.facts.started).unwrap_or_default());
        if series.streak.failing {
            (series.first_bad, series.last_good) = (archive(first), archive(before));
        }
        series
    }

    fn run(&self, number: u32) -> Option<&SelectedRun<'_>> {
        self.runs.get(number as usize)
    }

    fn strip(&self, cells: &[Cell]) -> String {
        let mut letters = vec![Outcome::Skipped.letter(); self.runs.len()];
        for cell in cells {
            if let Some(letter) = letters.get_mut(cell.run as usize) {
                *letter = cell.outcome.letter();
            }
        }
        letters.into_iter().collect()
    }

    /// The history by version, if the cluster has had several.
    fn versions(&self, cells: &[Cell], flakes: &[u32]) -> Vec<VersionHistory> {
        let version = |run: &SelectedRun<'_>| run.run.facts.version.clone();
        let first = self.runs.first().map(version);
        if self.runs.iter().all(|run| Some(&run.run.facts.version) == first.as_ref()) {
            return Vec::new();
        }
        let mut versions: Vec<VersionHistory> = Vec::new();
        for cell in cells.iter().filter(|cell| cell.outcome.ran()) {
            let Some(name) = self.run(cell.run).map(|run| known(&run.run.facts.version)) else { continue };
            let at = versions.iter().position(|one| one.version == name).unwrap_or_else(|| {
                versions.push(VersionHistory { version: name, ran: 0, passed: 0, flakes: 0 });
                versions.len() - 1
            });
            if let Some(version) = versions.get_mut(at) {
                version.ran += 1;
                version.passed += u64::from(cell.outcome == Outcome::Passed);
                version.flakes += u64::from(flakes.contains(&cell.run));
            }
        }
        versions
    }
}

/// The series of runs in which a test failed, or did not fail.
struct Series {
    streak: Streak,
    longest_failing: u64,
    first_bad: Option<String>,
    last_good: Option<String>,
}

impl Default for Series {
    fn default() -> Self {
        let streak = Streak { failing: false, runs: 0, since: Timestamp::UNIX_EPOCH };
        Self { streak, longest_failing: 0, first_bad: None, last_good: None }
    }
}

/// The median of all durations of passed runs, of those before the newest, and of the newest; and
/// the durations in seconds.
fn durations(cells: &[Cell]) -> (Option<f64>, Option<f64>, Option<f64>, Vec<f64>) {
    let passed = cells.iter().filter(|cell| cell.outcome == Outcome::Passed);
    let seconds: Vec<f64> = passed.filter_map(|cell| Some(f64::from(cell.millis?) / 1000.0)).collect();
    let (before, recent) = seconds.split_at(seconds.len().saturating_sub(RECENT));
    let (mut all, mut trend) = (None, (None, None));
    if before.len() >= FEWEST && recent.len() >= FEWEST {
        trend = (median(before), median(recent));
    }
    if !seconds.is_empty() {
        all = median(&seconds);
    }
    (all, trend.0, trend.1, seconds)
}

/// The middle value, or the lower one of the two in the middle.
fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
#[path = "stats_tests.rs"]
mod tests;
