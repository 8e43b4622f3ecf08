//! The differences between two runs, as text and as Markdown.

use std::io::{self, Write};

use plumbline_core::Status;

use super::markdown::escape;
use super::text::{name, one_line, short_seconds};
use crate::difference::{Change, Difference};

/// The most tests in a list.
const MAX_LISTED: usize = 50;

/// The lists, with their titles.
fn lists(found: &Difference) -> [(&'static str, &[Change]); 5] {
    [
        ("new failures", &found.new_failures),
        ("still failing", &found.still_failing),
        ("fixed", &found.fixed),
        ("not run in one of them", &found.not_run),
        ("much slower", &found.slower),
    ]
}

/// Prints the lists as text.
///
/// # Errors
/// `out` cannot be written.
pub fn diff_text(found: &Difference, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} tests ran before, {} after", found.ran_before, found.ran_after)?;
    for (title, changes) in lists(found) {
        if changes.is_empty() {
            continue;
        }
        writeln!(out, "\n{title}: {}", changes.len())?;
        for change in changes.iter().take(MAX_LISTED) {
            writeln!(out, "  {}{}  ({})", place(change), name(&label(change)), how(title, change))?;
            if let Some(reason) = change.reason.as_ref().filter(|reason| !reason.is_empty() && title != "much slower") {
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
///
/// # Errors
/// `out` cannot be written.
pub fn diff_markdown(found: &Difference, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "| ran before | ran after | new failures | still failing | fixed | not run in one | much slower |")?;
    writeln!(out, "|---:|---:|---:|---:|---:|---:|---:|")?;
    let counts = lists(found).map(|(_, changes)| changes.len().to_string());
    writeln!(out, "| {} | {} | {} |", found.ran_before, found.ran_after, counts.join(" | "))?;
    for (title, changes) in lists(found) {
        if changes.is_empty() {
            continue;
        }
        writeln!(out, "\n### {title}: {}\n", changes.len())?;
        for change in changes.iter().take(MAX_LISTED) {
            let reason = change.reason.as_ref().filter(|reason| !reason.is_empty() && title != "much slower");
            let reason = reason.map(|reason| format!(": {}", escape(reason))).unwrap_or_default();
            writeln!(
                out,
                "- {}**{}** ({}){reason}",
                escaped_place(change),
                escape(&label(change)),
                escape(&how(title, change))
            )?;
        }
        if changes.len() > MAX_LISTED {
            writeln!(out, "- and {} more", changes.len() - MAX_LISTED)?;
        }
    }
    Ok(())
}

/// The name with the class.
fn label(change: &Change) -> String {
    match change.classname.as_str() {
        "" => change.name.clone(),
        class => format!("{} ({class})", change.name),
    }
}

/// The plugin and the place of a test. Empty for the conformance suite.
fn place(change: &Change) -> String {
    if change.plugin == "e2e" {
        String::new()
    } else {
        format!("{} {} ", name(&change.plugin), name(&change.place)).replace("  ", " ")
    }
}

/// The same for Markdown, with a space at the end, because asterisks after a letter do not start
/// bold text.
fn escaped_place(change: &Change) -> String {
    match escape(&place(change)) {
        place if place.is_empty() => place,
        place => place + " ",
    }
}

fn how(title: &str, change: &Change) -> String {
    if title == "much slower" {
        let seconds = |seconds: Option<f64>| short_seconds(seconds.unwrap_or_default());
        return format!("{}, before {}", seconds(change.seconds_after), seconds(change.seconds_before));
    }
    let word = |status: &Option<Status>| {
        status.as_ref().map_or_else(|| "not there".to_owned(), |status| name(status.as_str()))
    };
    let took = change.seconds_after.map(|seconds| format!(", {}", short_seconds(seconds))).unwrap_or_default();
    format!("{}, before {}{took}", word(&change.after), word(&change.before))
}
