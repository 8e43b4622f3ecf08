//! The statistics of a history: of the tests on each cluster, and of its versions.

use std::collections::BTreeMap;
use std::ops::Range;
use std::thread;

use jiff::Timestamp;

use crate::difference::Outcome;
use crate::difference::TestKey;
use crate::error::AppError;
use crate::history::History;
use crate::history::index::{CHUNK, Entries, Entry};
use crate::history::model::{ClusterHistory, HistoryReport, RunOverview, Streak, TestHistory, VersionHistory};
use crate::history::select::{Rows, SelectedRun, Selection, runs};

/// The most threads that compute statistics.
const MAX_THREADS: usize = 8;

/// The number of the newest runs whose durations are compared with those before.
const RECENT: usize = 5;

/// The fewest runs on each side of that comparison.
const FEWEST: usize = 3;

impl History {
    /// Computes the statistics of the selected runs and tests.
    pub fn report(&self, selection: &Selection) -> Result<HistoryReport, AppError> {
        let runs = runs(self, selection)?;
        let rows = Rows::of(self, &runs, selection)?;
        let mut clusters: BTreeMap<&str, ClusterRuns<'_>> = BTreeMap::new();
        for run in &runs {
            clusters.entry(&run.run.facts.cluster).or_default().runs.push(*run);
        }
        let mut report = HistoryReport {
            unreadable: self.problems.iter().map(ToString::to_string).collect(),
            ..HistoryReport::default()
        };
        for cluster in clusters.values() {
            let (overviews, tests) = cluster.statistics(&rows);
            report.clusters.extend(versions(&overviews));
            report.runs.extend(overviews);
            report.tests.extend(tests);
        }
        report.runs.sort_by(|a, b| (a.started, &a.archive).cmp(&(b.started, &b.archive)));
        Ok(report)
    }
}

/// The runs of one cluster, by version, in the order of their first runs.
fn versions(runs: &[RunOverview]) -> Vec<ClusterHistory> {
    let mut versions: Vec<ClusterHistory> = Vec::new();
    for run in runs {
        let at = versions.iter().position(|known| known.version == run.version).unwrap_or_else(|| {
            versions.push(ClusterHistory {
                cluster: run.cluster.clone(),
                version: run.version.clone(),
                first: run.started,
                ..ClusterHistory::default()
            });
            versions.len() - 1
        });
        if let Some(version) = versions.get_mut(at) {
            version.runs += 1;
            version.without_failures += u64::from(run.failed == 0 && run.passed + run.flaky > 0);
            version.last = run.started;
        }
    }
    versions
}

/// The outcomes of a test.
#[derive(Debug, Default)]
struct Row {
    /// The outcome in each run on the cluster. Empty if it was skipped in all of them.
    outcomes: Vec<Outcome>,
    /// The duration in milliseconds of each outcome. That of a skipped one means nothing.
    millis: Vec<Option<u32>>,
}

impl Row {
    /// Adds an outcome of the run with this number, of `runs`. Tests that nothing distinguishes are joined:
    /// they may have several numbers, in one source or in several.
    fn add(&mut self, run: usize, runs: usize, outcome: Outcome, millis: Option<u32>) {
        if self.outcomes.is_empty() {
            self.outcomes.resize(runs, Outcome::Skipped);
            self.millis.resize(runs, None);
        }
        let (Some(known), Some(longest)) = (self.outcomes.get_mut(run), self.millis.get_mut(run)) else { return };
        if *known == Outcome::Skipped {
            (*known, *longest) = (outcome, millis);
        } else {
            (*known, *longest) = (known.with_test(outcome), (*longest).max(millis));
        }
    }

    /// The numbers of the runs in which the test passed or failed, with the outcomes.
    fn ran(&self) -> impl DoubleEndedIterator<Item = (usize, Outcome)> {
        self.outcomes.iter().copied().enumerate().filter(|(_, outcome)| outcome.ran())
    }

    /// The counts of outcomes, and the series of runs in which the test failed, or did not fail.
    fn series(&self) -> Series {
        let (mut series, mut previous) = (Series::default(), None);
        for (run, outcome) in self.ran() {
            let fails = outcome == Outcome::Failed;
            series.passed += u64::from(outcome == Outcome::Passed);
            series.failed += u64::from(fails);
            series.flaky += u64::from(outcome == Outcome::Flaky);
            if series.first.is_none() || series.failing != fails {
                (series.failing, series.first, series.before, series.runs) = (fails, Some(run), previous, 0);
            }
            series.runs += 1;
            if fails {
                series.longest_failing = series.longest_failing.max(series.runs);
            }
            previous = Some(run);
        }
        series
    }

    /// Forgets the outcomes, and keeps their memory.
    fn clear(&mut self) {
        self.outcomes.clear();
    }
}

/// The statistics of some tests: counts for each run, and the tests that ran.
struct Part {
    counts: Vec<RunOverview>,
    tests: Vec<RowHistory>,
}

/// A row and the history of its test, which is in a box because sorting moves it.
type RowHistory = (usize, Box<TestHistory>);

/// Sorts tests by their keys. If the tests are a few sorted parts, this merges them.
fn sort(tests: &mut [RowHistory], rows: &Rows<'_>) {
    tests.sort_by_key(|(row, _)| rows.keys.get(*row));
}

/// The selected runs on one cluster, the oldest first.
#[derive(Default)]
pub(super) struct ClusterRuns<'a> {
    pub(super) runs: Vec<SelectedRun<'a>>,
}

/// What is computed or allocated once for all tests.
struct Shared<'a> {
    /// For each plugin, the group of each run ([`ClusterRuns::groups`]).
    groups: BTreeMap<&'a str, Vec<usize>>,
    /// Whether the cluster has had several versions.
    has_several_versions: bool,
    /// The durations of the current test, in any order.
    millis: Vec<u32>,
}

impl ClusterRuns<'_> {
    /// The runs with their counts of tests, and the tests that ran, in the order of their keys.
    pub(super) fn statistics(&self, rows: &Rows<'_>) -> (Vec<RunOverview>, Vec<TestHistory>) {
        let cores = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        // Threads do not share chunks, and one for less than a chunk is not worth its start.
        let size = rows.keys.len().div_ceil(cores).next_multiple_of(CHUNK).max(CHUNK);
        let ranges = (0..rows.keys.len()).step_by(size).map(|start| start..(start + size).min(rows.keys.len()));
        let mut overviews: Vec<RunOverview> = self.runs.iter().map(overview).collect();
        let mut found: Vec<RowHistory> = Vec::new();
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
        sort(&mut found, rows);
        (overviews, found.into_iter().map(|(_, test)| *test).collect())
    }

    /// The statistics of some of the rows, in the order of their keys.
    ///
    /// The runs advance together, a chunk of tests after another, so that the outcomes of a row are
    /// written at about the same time. Rows that are spread over memory would be several times slower.
    /// Rows without a test in a later chunk are complete, and others reuse their memory.
    fn part(&self, rows: &Rows<'_>, range: Range<usize>) -> Part {
        let mut part = Part { counts: vec![RunOverview::default(); self.runs.len()], tests: Vec::new() };
        let has_several_versions = self.has_several_versions();
        let mut shared = Shared { groups: BTreeMap::new(), has_several_versions, millis: Vec::new() };
        let wanted = rows.wanted(&range);
        let mut runs: Vec<_> = self.runs.iter().map(|run| run.run.chunks().peekable()).collect();
        let (mut rest, mut found) = (range, Vec::new());
        for chunk in 0..rows.chunks() {
            for (((number, run), chunks), counts) in (0..).zip(&self.runs).zip(&mut runs).zip(&mut part.counts) {
                let Some((_, entries)) = chunks.next_if(|(at, _)| *at == chunk) else { continue };
                let is_wanted = wanted.get(run.source).and_then(|chunks| chunks.get(chunk));
                if is_wanted == Some(&true) {
                    self.distribute(number, entries, rows.of_source(run.source), &rest, &mut found, counts);
                }
            }
            if let Some(end) = rows.complete_after(chunk) {
                let complete = rest.start..end.clamp(rest.start, rest.end);
                rest.start = complete.end;
                self.finish(rows, complete, &mut found, &mut shared, &mut part.tests);
            }
        }
        self.finish(rows, rest, &mut found, &mut shared, &mut part.tests);
        sort(&mut part.tests, rows);
        part
    }

    /// Distributes outcomes of a run over the rows in `range`, which start at `found`, and counts
    /// them. Skipped tests are counted only.
    fn distribute(
        &self,
        run: usize,
        entries: Entries<'_>,
        rows: &[Option<u32>],
        range: &Range<usize>,
        found: &mut Vec<Row>,
        counts: &mut RunOverview,
    ) {
        for Entry { test, outcome, millis } in entries {
            let row = rows.get(test as usize).copied().flatten().map(|row| row as usize);
            let Some(at) = row.filter(|row| range.contains(row)).map(|row| row - range.start) else { continue };
            counts.count(outcome);
            if outcome == Outcome::Skipped {
                continue;
            }
            if at >= found.len() {
                found.resize_with(at + 1, Row::default);
            }
            if let Some(row) = found.get_mut(at) {
                row.add(run, self.runs.len(), outcome, millis);
            }
        }
    }

    /// Adds the histories of the tests in complete rows, which are the first of `found`, and clears
    /// these.
    fn finish<'b>(
        &self,
        rows: &'b Rows<'_>,
        complete: Range<usize>,
        found: &mut [Row],
        shared: &mut Shared<'b>,
        tests: &mut Vec<RowHistory>,
    ) {
        let keys = rows.keys.get(complete.clone()).unwrap_or_default();
        for ((number, key), row) in complete.zip(keys).zip(found) {
            tests.extend(self.test(key, row, shared).map(|test| (number, Box::new(test))));
            row.clear();
        }
    }

    /// The history of a test, or `None` if it never ran.
    fn test<'b>(&self, key: &'b TestKey, row: &Row, shared: &mut Shared<'b>) -> Option<TestHistory> {
        let series = row.series();
        let Series { passed, failed, flaky, .. } = series;
        let ran = passed + failed + flaky;
        if ran == 0 {
            return None;
        }
        let flakes = if failed + flaky == 0 { Vec::new() } else { self.flakes(&key.plugin, row, shared) };
        let versions = if shared.has_several_versions { self.versions(row, &flakes) } else { Vec::new() };
        let archive = |run: Option<usize>| Some(self.run(run?)?.run.file.name.clone());
        let (first_bad, last_good) =
            if series.failing { (archive(series.first), archive(series.before)) } else { (None, None) };
        let (durations, medians) = durations(row, &mut shared.millis);
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
            streak: self.streak(&series),
            longest_failing: series.longest_failing,
            first_bad,
            last_good,
            seconds: medians.all,
            seconds_recent: medians.recent,
            seconds_before: medians.before,
            outcomes: strip(&row.outcomes),
            versions,
            durations,
        })
    }

    /// The runs with a flake: the test passed in another attempt of the run, or in a later run with
    /// the same version and the same definition of the plugin.
    fn flakes<'b>(&self, plugin: &'b str, row: &Row, shared: &mut Shared<'b>) -> Vec<usize> {
        let groups = shared.groups.entry(plugin).or_insert_with(|| self.groups(plugin));
        let (mut passed, mut flakes) = (vec![false; groups.len()], Vec::new());
        for (run, outcome) in row.ran().rev() {
            let Some(passed) = groups.get(run).and_then(|group| passed.get_mut(*group)) else { continue };
            match outcome {
                Outcome::Passed => *passed = true,
                Outcome::Failed if *passed => flakes.push(run),
                Outcome::Flaky => {
                    *passed = true;
                    flakes.push(run);
                }
                _ => {}
            }
        }
        flakes
    }

    /// The group of each run, which is the number of the first run with the same version and the same
    /// definition. A run without a version is alone: between two of them, a failure may have been fixed.
    fn groups(&self, plugin: &str) -> Vec<usize> {
        let mut first = BTreeMap::new();
        let group = |(number, run): (usize, &SelectedRun<'_>)| {
            let facts = &run.run.facts;
            if facts.version.is_empty() {
                return number;
            }
            let digest = facts.plugins.iter().find(|one| one.name == plugin).map_or(0, |one| one.digest);
            *first.entry((facts.version.clone(), digest)).or_insert(number)
        };
        self.runs.iter().enumerate().map(group).collect()
    }

    fn streak(&self, series: &Series) -> Streak {
        let first = series.first.and_then(|run| self.run(run)).map(|run| run.run.facts.started);
        let since = first.and_then(|started| Timestamp::from_second(started).ok()).unwrap_or_default();
        Streak { failing: series.failing, runs: series.runs, since }
    }

    fn run(&self, number: usize) -> Option<&SelectedRun<'_>> {
        self.runs.get(number)
    }

    fn has_several_versions(&self) -> bool {
        let mut versions = self.runs.iter().map(|run| &run.run.facts.version);
        let first = versions.next();
        versions.any(|version| Some(version) != first)
    }

    /// The history by version.
    fn versions(&self, row: &Row, flakes: &[usize]) -> Vec<VersionHistory> {
        let mut versions: Vec<VersionHistory> = Vec::new();
        for (number, outcome) in row.ran() {
            let Some(name) = self.run(number).map(|run| run.run.facts.version.as_str()) else { continue };
            let is_of = |one: &VersionHistory| one.version.as_deref().unwrap_or_default() == name;
            let at = versions.iter().position(is_of).unwrap_or_else(|| {
                versions.push(VersionHistory { version: known(name), ran: 0, passed: 0, flakes: 0 });
                versions.len() - 1
            });
            if let Some(version) = versions.get_mut(at) {
                version.ran += 1;
                version.passed += u64::from(outcome == Outcome::Passed);
                version.flakes += u64::from(flakes.contains(&number));
            }
        }
        versions
    }
}

/// How often a test passed and failed, and the runs since the last change between failing and not
/// failing.
#[derive(Default)]
struct Series {
    passed: u64,
    failed: u64,
    flaky: u64,
    failing: bool,
    /// The number of runs since the change.
    runs: u64,
    /// The first of these runs, and the one before it.
    first: Option<usize>,
    before: Option<usize>,
    /// The longest series of failures.
    longest_failing: u64,
}

/// The medians of durations in seconds: of all runs, and for the trend, of the newest and of those
/// before.
struct Medians {
    all: Option<f64>,
    recent: Option<f64>,
    before: Option<f64>,
}

/// The durations of passed runs in milliseconds, and their medians. `millis` is memory that all tests
/// share: an index has millions of durations.
fn durations(row: &Row, millis: &mut Vec<u32>) -> (Vec<u32>, Medians) {
    millis.clear();
    let passed = row.outcomes.iter().zip(&row.millis).filter(|(outcome, _)| **outcome == Outcome::Passed);
    millis.extend(passed.filter_map(|(_, millis)| *millis));
    let durations = millis.clone();
    let (before, recent) = millis.split_at_mut(durations.len().saturating_sub(RECENT));
    let has_trend = before.len() >= FEWEST && recent.len() >= FEWEST;
    let (before, recent) = if has_trend { (median(before), median(recent)) } else { (None, None) };
    (durations, Medians { all: median(millis), recent, before })
}

/// The middle value in seconds, or the lower one of the two in the middle. Reorders the values.
fn median(millis: &mut [u32]) -> Option<f64> {
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

/// The letters of the outcomes, one for each run.
fn strip(outcomes: &[Outcome]) -> String {
    let letter = |outcome: &Outcome| u8::try_from(outcome.letter()).unwrap_or(b'?');
    String::from_utf8(outcomes.iter().map(letter).collect()).unwrap_or_default()
}

fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
#[path = "stats_tests.rs"]
mod tests;
