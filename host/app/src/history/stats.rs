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

    fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes.iter().filter(|one| **one == outcome).count() as u64
    }

    /// Forgets the outcomes, and keeps their memory.
    fn clear(&mut self) {
        self.outcomes.clear();
    }
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

/// What is computed once for all tests.
struct RunGroups<'a> {
    /// For each plugin, the group of each run: runs with the same version and the same definition.
    by_plugin: BTreeMap<&'a str, Vec<usize>>,
    /// Whether the cluster has had several versions.
    has_several_versions: bool,
}

impl ClusterRuns<'_> {
    /// The runs with their counts of tests, and the tests that ran, in the order of their keys.
    pub(super) fn statistics(&self, rows: &Rows<'_>) -> (Vec<RunOverview>, Vec<TestHistory>) {
        let cores = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        // Threads do not share chunks, and one for less than a chunk is not worth its start.
        let size = rows.keys.len().div_ceil(cores).next_multiple_of(CHUNK).max(CHUNK);
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
    ///
    /// The runs advance together, a chunk of tests after another, so that the outcomes of a row are
    /// written at about the same time. Rows that are spread over memory would be several times slower.
    /// Rows without a test in a later chunk are complete, and others reuse their memory.
    fn part(&self, rows: &Rows<'_>, range: Range<usize>) -> Part {
        let mut part = Part { counts: vec![RunOverview::default(); self.runs.len()], tests: Vec::new() };
        let mut groups = RunGroups { by_plugin: BTreeMap::new(), has_several_versions: self.has_several_versions() };
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
                self.finish(rows, complete, &mut found, &mut groups, &mut part.tests);
            }
        }
        self.finish(rows, rest, &mut found, &mut groups, &mut part.tests);
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
        groups: &mut RunGroups<'b>,
        tests: &mut Vec<(usize, TestHistory)>,
    ) {
        let keys = rows.keys.get(complete.clone()).unwrap_or_default();
        for ((number, key), row) in complete.zip(keys).zip(found) {
            tests.extend(self.test(key, row, groups).map(|test| (number, test)));
            row.clear();
        }
    }

    /// The history of a test, or `None` if it never ran.
    fn test<'b>(&self, key: &'b TestKey, row: &Row, groups: &mut RunGroups<'b>) -> Option<TestHistory> {
        let [passed, failed, flaky] =
            [Outcome::Passed, Outcome::Failed, Outcome::Flaky].map(|outcome| row.count(outcome));
        let ran = passed + failed + flaky;
        if ran == 0 {
            return None;
        }
        let flakes = if failed + flaky == 0 { Vec::new() } else { self.flakes(&key.plugin, row, groups) };
        let versions = if groups.has_several_versions { self.versions(row, &flakes) } else { Vec::new() };
        let series = self.series(row);
        let (seconds, seconds_before, seconds_recent, durations) = durations(row);
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
            outcomes: strip(&row.outcomes),
            versions,
            durations,
        })
    }

    /// The runs with a flake: the test passed in another attempt of the run, or in a later run with
    /// the same version and the same definition of the plugin.
    fn flakes<'b>(&self, plugin: &'b str, row: &Row, groups: &mut RunGroups<'b>) -> Vec<usize> {
        let groups = groups.by_plugin.entry(plugin).or_insert_with(|| self.groups(plugin));
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

    fn series(&self, row: &Row) -> Series {
        let mut series = Series::default();
        let (mut failing, mut first, mut before): (Option<bool>, Option<usize>, Option<usize>) = (None, None, None);
        let mut previous = None;
        for (run, outcome) in row.ran() {
            let fails = outcome == Outcome::Failed;
            if failing != Some(fails) {
                (failing, first, before, series.streak.runs) = (Some(fails), Some(run), previous, 0);
            }
            series.streak.runs += 1;
            if fails {
                series.longest_failing = series.longest_failing.max(series.streak.runs);
            }
            previous = Some(run);
        }
        let archive = |number: Option<usize>| Some(self.run(number?)?.run.file.name.clone());
        series.streak.failing = failing == Some(true);
        series.streak.since = first
            .and_then(|number| self.run(number))
            .and_then(|run| Timestamp::from_second(run.run.facts.started).ok())
            .unwrap_or_default();
        if series.streak.failing {
            (series.first_bad, series.last_good) = (archive(first), archive(before));
        }
        series
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

/// The series of runs in which a test failed, or did not fail.
#[derive(Default)]
struct Series {
    streak: Streak,
    longest_failing: u64,
    first_bad: Option<String>,
    last_good: Option<String>,
}

/// The median of all durations of passed runs in seconds, of those before the newest, and of the
/// newest; and the durations in milliseconds.
fn durations(row: &Row) -> (Option<f64>, Option<f64>, Option<f64>, Vec<u32>) {
    let passed = row.outcomes.iter().zip(&row.millis).filter(|(outcome, _)| **outcome == Outcome::Passed);
    let mut millis = Vec::with_capacity(row.outcomes.len());
    millis.extend(passed.filter_map(|(_, millis)| *millis));
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
