//! Differences as text and as Markdown.

use std::io::{self, Write};

use plumbline_core::Status;

use super::matrix::Matrix;
use super::{Change, Difference, LEGEND, Previous, TestNames};
use crate::report::text::escape;
use crate::report::text::{name, one_line, short_seconds};

/// The most tests in a list.
const MAX_LISTED: usize = 50;

/// The titles of the lists about durations.
const SLOWER: &str = "much slower";
const FASTER: &str = "much faster";

/// Whether the list with this title is about durations.
pub(super) fn is_about_durations(title: &str) -> bool {
    title == SLOWER || title == FASTER
}

pub(super) fn lists(found: &Difference) -> [(&'static str, &[Change]); 6] {
    [
        ("new failures", &found.new_failures),
        ("still failing", &found.still_failing),
        ("fixed", &found.fixed),
        ("not run in one of them", &found.not_run),
        (SLOWER, &found.slower),
        (FASTER, &found.faster),
    ]
}

/// The number of unknown items of the later run, which make it incomplete. `None` if there are none.
pub(super) fn unknown_items(found: &Difference) -> Option<String> {
    (found.unknown_after > 0).then(|| format!("items of unknown status after: {}", found.unknown_after))
}

/// Prints the lists as text.
pub fn diff_text(found: &Difference, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} tests ran before, {} after", found.ran_before, found.ran_after)?;
    if let Some(unknown) = unknown_items(found) {
        writeln!(out, "{unknown}")?;
    }
    for (title, changes) in lists(found) {
        if changes.is_empty() {
            continue;
        }
        writeln!(out, "\n{title}: {}", changes.len())?;
        for change in changes.iter().take(MAX_LISTED) {
            writeln!(out, "  {}{}  ({})", change.test.prefix(), name(&change.test.with_class()), how(title, change))?;
            if let Some(reason) =
                change.reason.as_ref().filter(|reason| !reason.is_empty() && !is_about_durations(title))
            {
                writeln!(out, "      {}", one_line(reason))?;
            }
        }
        if changes.len() > MAX_LISTED {
            writeln!(out, "  and {} more: `-o json` has all", changes.len() - MAX_LISTED)?;
        }
    }
    if lists(found).iter().all(|(_, changes)| changes.is_empty()) {
        writeln!(out, "no test changed")?;
    }
    Ok(())
}

/// Prints a table of counts, and the lists below it.
pub fn diff_markdown(found: &Difference, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "| ran before | ran after | new failures | still failing | fixed | not run in one | much slower | much faster |"
    )?;
    writeln!(out, "|---:|---:|---:|---:|---:|---:|---:|---:|")?;
    let counts = lists(found).map(|(_, changes)| changes.len().to_string());
    writeln!(out, "| {} | {} | {} |", found.ran_before, found.ran_after, counts.join(" | "))?;
    if let Some(unknown) = unknown_items(found) {
        writeln!(out, "\n{unknown}")?;
    }
    lists(found).iter().try_for_each(|(title, changes)| list_markdown(title, changes, out))
}

/// How long the tests of both runs took.
pub(crate) fn total_durations(found: &Difference) -> String {
    if found.seconds_before + found.seconds_after > 0.0 {
        let (after, before) = (short_seconds(found.seconds_after), short_seconds(found.seconds_before));
        format!("Tests with a duration in both runs took {after}, previously {before}.")
    } else {
        "No test has a duration in both runs.".to_owned()
    }
}

/// Prints which tests became much slower or faster since an earlier run.
pub(crate) fn durations_markdown(previous: &Previous, out: &mut impl Write) -> io::Result<()> {
    let Previous { archive, difference: found } = previous;
    writeln!(out, "\n### durations against {}\n\n{}", escape(archive), escape(&total_durations(found)))?;
    list_markdown(SLOWER, &found.slower, out)?;
    list_markdown(FASTER, &found.faster, out)
}

/// Prints a list of tests, unless it is empty.
fn list_markdown(title: &str, changes: &[Change], out: &mut impl Write) -> io::Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n### {title}: {}\n", changes.len())?;
    for change in changes.iter().take(MAX_LISTED) {
        let reason = change.reason.as_ref().filter(|reason| !reason.is_empty() && !is_about_durations(title));
        let reason = reason.map(|reason| format!(": {}", escape(reason))).unwrap_or_default();
        let (place, name, how) =
            (escaped_place(change), escape(&change.test.with_class()), escape(&how(title, change)));
        writeln!(out, "- {place}**{name}** ({how}){reason}")?;
    }
    if changes.len() > MAX_LISTED {
        writeln!(out, "- and {} more", changes.len() - MAX_LISTED)?;
    }
    Ok(())
}

impl TestNames {
    /// The name with the class, as lists of judges have it.
    pub(crate) fn with_class(&self) -> String {
        if self.classname.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, self.classname) }
    }

    /// The plugin and the place, with a space at the end. Empty for the conformance suite.
    pub(crate) fn prefix(&self) -> String {
        if self.plugin == "e2e" {
            return String::new();
        }
        format!("{} {} ", name(&self.plugin), name(&self.place)).replace("  ", " ")
    }

    /// All names, as one label.
    pub(crate) fn label(&self) -> String {
        format!("{}{}", self.prefix(), name(&self.with_class()))
    }
}

/// The same for Markdown, with a space at the end, because asterisks after a letter do not start
/// bold text.
fn escaped_place(change: &Change) -> String {
    match escape(&change.test.prefix()) {
        place if place.is_empty() => place,
        place => place + " ",
    }
}

pub(super) fn how(title: &str, change: &Change) -> String {
    if is_about_durations(title) {
        let seconds = |seconds: Option<f64>| short_seconds(seconds.unwrap_or_default());
        return format!("{}, previously {}", seconds(change.seconds_after), seconds(change.seconds_before));
    }
    let word =
        |status: &Option<Status>| status.as_ref().map_or_else(|| "not run".to_owned(), |status| name(status.as_str()));
    let took = change.seconds_after.map(|seconds| format!(", {}", short_seconds(seconds))).unwrap_or_default();
    format!("{}, previously {}{took}", word(&change.after), word(&change.before))
}

/// Prints the runs, and the tests with a column of outcomes for each run.
pub fn matrix_text(found: &Matrix, out: &mut impl Write) -> io::Result<()> {
    for (number, run) in (1..).zip(&found.runs) {
        let (archive, ran, failed) = (name(&run.archive), run.ran, run.failed);
        writeln!(out, "{number:>3}  {archive}: {ran} tests ran, {failed} failed")?;
    }
    if let Some(unknown) = unknown_items(&found.last) {
        writeln!(out, "{unknown}")?;
    }
    if found.tests.is_empty() {
        return writeln!(out, "\nno test failed or changed");
    }
    writeln!(out, "\ntests that failed or changed: {}", found.tests.len())?;
    for test in found.tests.iter().take(MAX_LISTED) {
        writeln!(out, "  {}  {}", test.letters(), test.test.label())?;
    }
    if found.tests.len() > MAX_LISTED {
        writeln!(out, "  and {} more: `-o json` has all", found.tests.len() - MAX_LISTED)?;
    }
    writeln!(out, "\n{LEGEND}")
}

/// Prints the same as tables.
pub fn matrix_markdown(found: &Matrix, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "| run | archive | ran | failed |")?;
    writeln!(out, "|---:|---|---:|---:|")?;
    for (number, run) in (1..).zip(&found.runs) {
        writeln!(out, "| {number} | {} | {} | {} |", escape(&run.archive), run.ran, run.failed)?;
    }
    if let Some(unknown) = unknown_items(&found.last) {
        writeln!(out, "\n{unknown}")?;
    }
    if found.tests.is_empty() {
        return Ok(());
    }
    let numbers: Vec<String> = (1..=found.runs.len()).map(|number| number.to_string()).collect();
    writeln!(out, "\n| {} | test |", numbers.join(" | "))?;
    writeln!(out, "|{}---|", ":-:|".repeat(numbers.len()))?;
    for test in found.tests.iter().take(MAX_LISTED) {
        let letters: Vec<String> = test.letters().chars().map(String::from).collect();
        writeln!(out, "| {} | {} |", letters.join(" | "), escape(&test.test.label()))?;
    }
    if found.tests.len() > MAX_LISTED {
        writeln!(out, "\nand {} more tests", found.tests.len() - MAX_LISTED)?;
    }
    writeln!(out, "\n{}", escape(LEGEND))
}
