//! A history as text.

use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::difference::LEGEND;
use crate::history::model::{HistoryReport, RunOverview, TestHistory};
use crate::report::text::{name, short_seconds};

/// The most tests in a list of failing, flaky or slower tests.
const MAX_LISTED: usize = 50;

/// The most tests in the list of all that the user selected.
const MAX_SELECTED: usize = 500;

/// The most runs in a strip of outcomes.
const MAX_STRIP: usize = 40;

/// The name of a run without a cluster.
const NO_CLUSTER: &str = "-";

impl HistoryReport {
    /// Tests whose last runs failed, the longest series first.
    pub(super) fn failing(&self) -> Vec<&TestHistory> {
        let mut tests: Vec<_> = self.tests.iter().filter(|test| test.streak.failing).collect();
        tests.sort_by_key(|test| std::cmp::Reverse(test.streak.runs));
        tests
    }

    /// Tests with flakes that do not fail now, the most flakes first.
    pub(super) fn flaky(&self) -> Vec<&TestHistory> {
        let mut tests: Vec<_> = self.tests.iter().filter(|test| test.flakes > 0 && !test.streak.failing).collect();
        tests.sort_by(|a, b| b.flake_rate.total_cmp(&a.flake_rate));
        tests
    }

    /// Tests that take much longer than before, the slowest first.
    pub(super) fn slower(&self) -> Vec<&TestHistory> {
        let mut tests: Vec<_> = self.tests.iter().filter_map(|test| Some((test.slower()?, test))).collect();
        tests.sort_by(|((a, b), _), ((c, d), _)| (d - c).total_cmp(&(b - a)));
        tests.into_iter().map(|(_, test)| test).collect()
    }

    /// Whether tests have to say on which cluster they ran.
    pub(super) fn has_several_clusters(&self) -> bool {
        self.clusters.iter().any(|one| Some(&one.cluster) != self.clusters.first().map(|first| &first.cluster))
    }
}

/// Prints the clusters, and the failing, flaky and slower tests. With `every`, prints every test of
/// the report instead.
pub fn history_text(report: &HistoryReport, every: bool, out: &mut impl Write) -> io::Result<()> {
    let (runs, tests) = (report.runs.len(), report.tests.len());
    let tests = if tests == 1 { "1 test".to_owned() } else { format!("{tests} tests") };
    let span = match (report.runs.first(), report.runs.last()) {
        (Some(first), Some(last)) => format!(", {}", days(first.started, last.started)),
        _ => String::new(),
    };
    writeln!(out, "{runs} run{}{span}; {tests} ran\n", if runs == 1 { "" } else { "s" })?;
    clusters(report, out)?;
    missed(report, out)?;
    let several = report.has_several_clusters();
    let (lists, most) = match every {
        true => (vec![("tests", report.tests.iter().collect::<Vec<_>>())], MAX_SELECTED),
        false => {
            let lists =
                vec![("failing", report.failing()), ("flaky", report.flaky()), ("much slower", report.slower())];
            (lists, MAX_LISTED)
        }
    };
    for (title, tests) in &lists {
        list(title, tests, most, several, out)?;
    }
    match (lists.iter().all(|(_, tests)| tests.is_empty()), every) {
        (true, true) => writeln!(out, "\nno test of this name ran"),
        (true, false) => writeln!(out, "\nno test fails, is flaky or became much slower"),
        (false, _) => writeln!(out, "\n{LEGEND}"),
    }
}

fn clusters(report: &HistoryReport, out: &mut impl Write) -> io::Result<()> {
    let mut rows = vec![["cluster", "version", "runs", "without failures", "first", "last"].map(str::to_owned)];
    for one in &report.clusters {
        rows.push([
            name(one.cluster.as_deref().unwrap_or(NO_CLUSTER)),
            name(one.version.as_deref().unwrap_or(NO_CLUSTER)),
            one.runs.to_string(),
            share(one.without_failures, one.runs),
            day(one.first),
            day(one.last),
        ]);
    }
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(width);
    for [cluster, version, runs, good, first, last] in &rows {
        writeln!(out, "{cluster:a$}  {version:b$}  {runs:>c$}  {good:>d$}  {first:10}  {last}")?;
    }
    Ok(())
}

/// Prints after which runs scheduled ones are missing.
fn missed(report: &HistoryReport, out: &mut impl Write) -> io::Result<()> {
    let found: Vec<&RunOverview> = report.runs.iter().filter(|run| run.missed > 0).collect();
    let Some(last) = found.last() else { return Ok(()) };
    let count = found.iter().map(|run| run.missed).fold(0, u64::saturating_add);
    let runs = if count == 1 { "run was" } else { "runs were" };
    writeln!(
        out,
        "\n{count} scheduled {runs} missed, {} of them before {} ({})",
        last.missed,
        name(&last.archive),
        day(last.started)
    )
}

fn list(title: &str, tests: &[&TestHistory], most: usize, several: bool, out: &mut impl Write) -> io::Result<()> {
    if tests.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}: {}", tests.len())?;
    for test in tests.iter().take(most) {
        writeln!(out, "  {}", label(test, several))?;
        writeln!(out, "      {}  {}", strip(test), facts(test).join(", "))?;
        if let Some(bad) = &test.first_bad {
            let good = test.last_good.as_ref().map(|good| format!("; last good: {}", name(good))).unwrap_or_default();
            writeln!(out, "      first bad run: {} ({}){good}", name(bad), day(test.streak.since))?;
        }
    }
    if tests.len() > most {
        writeln!(out, "  and {} more: `-o json` has all", tests.len() - most)?;
    }
    Ok(())
}

/// The test with what distinguishes it from others.
pub(super) fn label(test: &TestHistory, several_clusters: bool) -> String {
    let cluster = match several_clusters {
        true => format!(" [cluster {}]", name(test.cluster.as_deref().unwrap_or(NO_CLUSTER))),
        false => String::new(),
    };
    format!("{}{cluster}", test.test.label())
}

/// What is worth knowing of a test, as parts of a sentence.
pub(super) fn facts(test: &TestHistory) -> Vec<String> {
    let mut facts = vec![format!("passed {}", share(test.passed, test.ran))];
    if test.flakes > 0 {
        facts.push(format!("flaky in {}", share(test.flakes, test.ran)));
    }
    if test.streak.failing {
        let runs = test.streak.runs;
        facts.push(if runs == 1 {
            "failed in the last run".to_owned()
        } else {
            format!("failed in the last {runs} runs")
        });
    }
    match (test.slower(), test.seconds) {
        (Some((before, recent)), _) => {
            facts.push(format!("takes {}, previously {}", short_seconds(recent), short_seconds(before)));
        }
        (None, Some(seconds)) => facts.push(format!("takes {}", short_seconds(seconds))),
        (None, None) => {}
    }
    facts
}

/// The outcomes of the newest runs, the oldest first.
fn strip(test: &TestHistory) -> String {
    let letters = test.outcomes.len();
    // Every letter is one byte.
    test.outcomes.get(letters.saturating_sub(MAX_STRIP)..).unwrap_or_default().to_owned()
}

/// A count with its denominator: `17 of 20 (85 %)`. A share of 100 % is complete.
pub(super) fn share(count: u64, of: u64) -> String {
    let percent = count.saturating_mul(100).checked_div(of).unwrap_or_default();
    format!("{count} of {of} ({percent} %)")
}

/// The day in UTC.
pub(super) fn day(time: Timestamp) -> String {
    time.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d").to_string()
}

/// One day, or the first and the last one.
pub(super) fn days(first: Timestamp, last: Timestamp) -> String {
    let (first, last) = (day(first), day(last));
    if first == last { first } else { format!("{first} to {last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_day_have_one_date() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let morning = at("2026-11-26T06:00:00Z");
        assert_eq!(days(morning, at("2026-11-26T20:00:00Z")), "2026-11-26");
        assert_eq!(days(morning, at("2026-11-27T06:00:00Z")), "2026-11-26 to 2026-11-27");
    }
}
