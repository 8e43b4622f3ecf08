//! Findings about a submission: for a person, and as data.

use std::io::{self, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use plumbline_app::report::text::name as printable_name;
use plumbline_conformance::submission::{Finding, Outcome, Release, Summary};
use serde_json::{Value, json};

/// Names of one finding that are listed; the data has all.
const MAX_NAMES: usize = 20;

/// One line per rule, with what to do below what is not in order.
pub(super) fn text(findings: &[Finding], summary: Summary, out: &mut impl Write) -> io::Result<()> {
    let width = findings.iter().map(|finding| finding.rule.len()).max().unwrap_or_default();
    for finding in findings {
        let style = style(finding.outcome);
        writeln!(
            out,
            "{style}{:11}{style:#}  {:width$}  {}",
            finding.outcome,
            finding.rule,
            printable_name(&finding.what)
        )?;
        if finding.outcome == Outcome::Passed {
            continue;
        }
        for name in finding.names.iter().take(MAX_NAMES) {
            writeln!(out, "{:15}- {}", "", printable_name(name))?;
        }
        if finding.names.len() > MAX_NAMES {
            writeln!(out, "{:15}- and {} more: `-o json` has all", "", finding.names.len() - MAX_NAMES)?;
        }
        if let Some(hint) = &finding.hint {
            writeln!(out, "{:13}hint: {}", "", printable_name(hint))?;
        }
    }
    let Summary { passed, failed, not_checked, .. } = summary;
    writeln!(out, "\n{passed} rules kept, {failed} broken, {not_checked} not checked here")
}

/// Keys are only ever added (docs/submission.md).
pub(super) fn document(dir: &Path, release: Option<Release>, findings: &[Finding], summary: Summary) -> Value {
    json!({
        "folder": dir,
        "release": release.map(|release| release.to_string()),
        "findings": findings,
        "summary": summary,
    })
}

fn style(outcome: Outcome) -> Style {
    let colour = match outcome {
        Outcome::Passed => AnsiColor::Green,
        Outcome::Failed => AnsiColor::Red,
        Outcome::NotChecked => AnsiColor::Yellow,
    };
    Style::new().fg_color(Some(colour.into()))
}
