//! The statistics of the tests on one cluster.

use std::collections::BTreeMap;
use std::ops::Range;
use std::thread;

use jiff::Timestamp;

use crate::difference::Outcome;
use crate::difference::TestKey;
use crate::history::model::{RunOverview, Streak, TestHistory, VersionHistory};
use crate::history::select::{Rows, SelectedRun};

/// The most threads that compute statistics.
const MAX_THREADS: usize = 8;

/// The fewest tests for which a thread is worth its start.
const MIN_ROWS: usize = 512;

/// The tests of a block. With 500 runs, its cells have 400 KB.
const BLOCK: usize = 64;

/// The number of the newest runs whose durations are compared with those before.
const RECENT: usize = 5;

/// The fewest runs on each side of that comparison.
const FEWEST: usize = 3;

/// The outcome of a test in one run.
#[derive(Debug, Clone, Copy)]
struct Cell {
    /// The number of the run on its cluster.
    run: u32,
    millis: Option<u32>,
    outcome: Outcome,
}

/// The statistics of some tests: counts for each run, and the tests that ran, with their rows.
struct Part {
    counts: Vec<RunOverview>,
    tests: Vec<(usize, TestHistory)>,
}

/// The selected runs on one cluster, the oldest first.
#[derive(Default)]
pub(super) struct ClusterRuns<'a> {
    pub(super) runs: Vec<SelectedRun<'a>>,
}

/// For each plugin, the group of each run: runs with the same version and the same definition.
type Groups<'a> = BTreeMap<&'a str, Vec<usize>>;

impl ClusterRuns<'_> {
    /// The runs with their counts of tests, and the tests that ran, in the order of their keys.
    pub(super) fn statistics(&self, rows: &Rows) -> (Vec<RunOverview>, Vec<TestHistory>) {
        let cores = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let size = rows.keys.len().div_ceil(cores).max(MIN_ROWS);
        let ranges = (0..rows.keys.len()).step_by(size).map(|start| start..(start + size).min(rows.keys.len()));
        let mut overviews: Vec<RunOverview> = self.runs.iter().map(overview).collect();
        let mut found: Vec<(usize, TestHistory)> = Vec::new();
        thread::scope(|scope| {
            let start = |range: Range<usize>| {
                let part = range.clone();
                (range, thread::Builder::new().spawn_scoped(scope, move || self.part(rows, part)))
            };
            for (range, part) in ranges.map(start).collect::<Vec<_>>() {
                // The part of a thread that did not start is computed here.
                let part = part.ok().and_then(|part| part.join().ok());
                let Part { counts, tests } = part.unwrap_or_else(|| self.part(rows, range));
                overviews.iter_mut().zip(&counts).for_each(|(overview, counts)| overview.add(counts));
                found.extend(tests);
            }
        });
        found.sort_by_key(|(row, _)| rows.keys.get(*row));
        (overviews, found.into_iter().map(|(_, test)| test).collect())
    }

    /// The statistics of some of the rows.
    fn part(&self, rows: &Rows, range: Range<usize>) -> Part {
        let (cells, counts) = self.cells(rows, &range);
        let (mut groups, mut tests) = (BTreeMap::new(), Vec::new());
        for ((row, key), cells) in range.clone().zip(rows.keys.get(range).into_iter().flatten()).zip(cells) {
            tests.extend(self.test(key, &cells, &mut groups).map(|test| (row, test)));
        }
        Part { counts, tests }
    }

    /// Distributes the outcomes of all runs over the rows in `range`, and counts them by run. Skipped
    /// tests are counted only.
    ///
    /// The runs advance together, a block of tests after another, so that the cells of a row are
    /// written at about the same time. Rows that are spread over memory would be several times slower.
    fn cells(&self, rows: &Rows, range: &Range<usize>) -> (Vec<Vec<Cell>>, Vec<RunOverview>) {
        let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); range.len()];
        let mut counts = vec![RunOverview::default(); self.runs.len()];
        let chunks = rows.chunks(range);
        let open = (0_u32..).zip(&self.runs).map(|(at, run)| {
            let wanted = chunks.get(run.source).map(Vec::as_slice).unwrap_or_default();
            let entries = run.run.entries(move |chunk| wanted.get(chunk).copied().unwrap_or_default());
            (at, run, entries.peekable())
        });
        let mut open: Vec<_> = open.collect();
        for start in (0..rows.tests()).step_by(BLOCK) {
            for (number, run, entries) in &mut open {
                while let Some(entry) = entries.next_if(|entry| (entry.test as usize) < start + BLOCK) {
                    let row = rows.row(run.source, entry.test).and_then(|row| row.checked_sub(range.start));
                    let Some(row) = row.and_then(|row| cells.get_mut(row)) else { continue };
                    if let Some(counts) = counts.get_mut(*number as usize) {
                        counts.count(entry.outcome);
                    }
                    if entry.outcome == Outcome::Skipped {
                        continue;
                    }
                    if row.is_empty() {
                        row.reserve_exact(self.runs.len().saturating_sub(*number as usize));
                    }
                    row.push(Cell { run: *number, millis: entry.millis, outcome: entry.outcome });
                }
            }
        }
        cells.iter_mut().for_each(in_order);
        (cells, counts)
    }

    /// The history of a test, or `None` if it never ran.
    fn test<'b>(&self, key: &'b TestKey, cells: &[Cell], groups: &mut Groups<'b>) -> Option<TestHistory> {
        let count = |outcome: Outcome| cells.iter().filter(|cell| cell.outcome == outcome).count() as u64;
        let (passed, failed, flaky) = (count(Outcome::Passed), count(Outcome::Failed), count(Outcome::Flaky));
        let ran = passed + failed + flaky;
        if ran == 0 {
            return None;
        }
        let flakes = if failed + flaky == 0 { Vec::new() } else { self.flakes(&key.plugin, cells, groups) };
        let series = self.series(cells);
        let (seconds, seconds_before, seconds_recent, durations) = durations(cells);
        Some(TestHistory {
            test: key.into(),
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
        let mut strip = String::with_capacity(self.runs.len());
        let mut cells = cells.iter().peekable();
        for number in (0_u32..).take(self.runs.len()) {
            let cell = cells.next_if(|cell| cell.run == number);
            strip.push(cell.map_or(Outcome::Skipped, |cell| cell.outcome).letter());
        }
        strip
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

/// The median of all durations of passed runs in seconds, of those before the newest, and of the
/// newest; and the durations in milliseconds.
fn durations(cells: &[Cell]) -> (Option<f64>, Option<f64>, Option<f64>, Vec<u32>) {
    let passed = cells.iter().filter(|cell| cell.outcome == Outcome::Passed);
    let millis: Vec<u32> = passed.filter_map(|cell| cell.millis).collect();
    let (before, recent) = millis.split_at(millis.len().saturating_sub(RECENT));
    let mut trend = (None, None);
    if before.len() >= FEWEST && recent.len() >= FEWEST {
        trend = (median(before), median(recent));
    }
    (median(&millis), trend.0, trend.1, millis)
}

/// The middle value in seconds, or the lower one of the two in the middle.
fn median(millis: &[u32]) -> Option<f64> {
    let mut millis = millis.to_vec();
    let middle = millis.len().checked_sub(1)? / 2;
    Some(f64::from(*millis.select_nth_unstable(middle).1) / 1000.0)
}

/// A run, with no tests counted.
fn overview(run: &SelectedRun<'_>) -> RunOverview {
    let facts = &run.run.facts;
    RunOverview {
        archive: run.run.file.name.clone(),
        run: known(&facts.run),
        tool: known(&facts.tool),
        started: Timestamp::from_second(facts.started).unwrap_or_default(),
        cluster: known(&facts.cluster),
        version: known(&facts.version),
        missed: facts.missed,
        ..RunOverview::default()
    }
}

/// Orders the cells of a row by run. Tests that nothing distinguishes are joined: they may have
/// several numbers, in one source or in several.
fn in_order(row: &mut Vec<Cell>) {
    if row.is_sorted_by(|a, b| a.run < b.run) {
        return;
    }
    row.sort_by_key(|cell| cell.run);
    row.dedup_by(|next, kept| {
        let same = next.run == kept.run;
        if same {
            kept.outcome = kept.outcome.with_test(next.outcome);
            kept.millis = kept.millis.max(next.millis);
        }
        same
    });
}

fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
#[path = "stats_tests.rs"]
mod tests;
