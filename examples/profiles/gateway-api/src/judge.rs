//! The role, which reads the report once and reports the outcome of each rule.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use plumbline_judge_common::yaml;
use plumbline_sdk::judgement::shorten;
use plumbline_sdk::{Check, InputFile, Judge, Outcome, PluginInfo, Rulings, Tree};

use crate::agreement::{list, wrong};
use crate::fields;
use crate::report::{Level, ProfileReport, Report, ResultWord};
use crate::results::{self, Ending};
use crate::selection::Selection;

/// Maximum size of the report in bytes. Real ones have a few kilobytes.
const MAX_REPORT: usize = 1 << 20;

/// Maximum size of the selection in bytes.
const MAX_SELECTION: u64 = 4 << 20;

/// Maximum size of the file `accept` in bytes.
const MAX_WORD: u64 = 64;

/// Maximum number of profiles that are checked. The API has seven.
const MAX_PROFILES: usize = 50;

/// Longest time, in seconds, in which a conformant implementation becomes consistent.
const MAX_CONSISTENCY: f64 = 30.0;

/// The judge `gateway-report`.
#[derive(Debug, Clone, Copy)]
pub struct GatewayReport;

impl Judge for GatewayReport {
    fn judge(_: &PluginInfo, tree: Tree, evidence: Vec<InputFile>, out: &mut Rulings) -> Result<(), String> {
        let (mut report, mut selection, mut accept) = (None, None, None);
        for file in evidence {
            match file.file_name() {
                "report.yaml" => report = Some(file),
                "selection.json" => selection = Some(file),
                "accept" => accept = Some(file),
                other => return Err(format!("unexpected evidence `{other}`")),
            }
        }
        let partial = accepts_partial(accept)?;
        let results = results::read(tree)?;
        let Some(report) = report else {
            out.report(checked("GWAPI-REPORT", REPORT, Outcome::Unknown, "the suite wrote no report"));
            return Ok(());
        };
        let Some(report) = read_report(report, out) else { return Ok(()) };
        out.report(rule(
            "GWAPI-IMPLEMENTATION",
            "the implementation is described",
            &fields::implementation(&report.implementation),
        ));
        out.report(rule("GWAPI-API", "version, channel and date are known", &fields::api(&report)));
        let mode = (!fields::is_file_part(&report.mode)).then(|| format!("`mode` is `{}`", report.mode));
        out.report(rule("GWAPI-MODE", "the mode can be a part of a file name", mode.as_slice()));
        judge_profiles(&report, read_selection(selection), &results, partial, out);
        Ok(())
    }
}

const REPORT: &str = "the report is a ConformanceReport";

/// Reads which results pass.
fn accepts_partial(file: Option<InputFile>) -> Result<bool, String> {
    let mut word = String::new();
    if let Some(file) = file {
        file.take(MAX_WORD).read_to_string(&mut word).map_err(|error| format!("`accept`: {error}"))?;
    }
    match word.trim() {
        "success" => Ok(false),
        "partial" => Ok(true),
        other => Err(format!("`accept` is `{other}`, and not `success` or `partial`")),
    }
}

/// Reads the report, and reports whether it is one.
fn read_report(mut file: InputFile, out: &mut Rulings) -> Option<Report> {
    let read = yaml::read::<Report>(&mut file, MAX_REPORT);
    let read = read.and_then(|report| report.wrong_type().map_or(Ok(report), Err));
    match read {
        Ok(report) => {
            let check = Check::new("GWAPI-REPORT", REPORT, Outcome::Passed);
            out.report(check.got(shorten(report.file_name())).reason("`got` is the name for the submission"));
            Some(report)
        }
        Err(why) => {
            out.report(checked("GWAPI-REPORT", REPORT, Outcome::Failed, why));
            None
        }
    }
}

fn read_selection(file: Option<InputFile>) -> Result<Selection, String> {
    let file = file.ok_or("`selection.json` not found: the suite selected no test")?;
    let mut text = Vec::new();
    file.take(MAX_SELECTION).read_to_end(&mut text).map_err(|error| format!("`selection.json`: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("`selection.json`: {error}"))
}

fn judge_profiles(
    report: &Report,
    selection: Result<Selection, String>,
    results: &BTreeMap<String, Ending>,
    partial: bool,
    out: &mut Rulings,
) {
    const TIMEOUTS: &str = "the implementation becomes consistent in time";
    const PROFILES: &str = "the report has the selected profiles";
    let reports = report.profiles.as_deref().unwrap_or_default();
    let reports = reports.get(..MAX_PROFILES).unwrap_or(reports);
    for report in reports {
        out.report(result(report, partial));
    }
    let selection = match selection {
        Ok(selection) => selection,
        Err(why) => {
            out.report(checked("GWAPI-PROFILES", PROFILES, Outcome::Unknown, why));
            return;
        }
    };
    let time = selection.max_time_to_consistency;
    let in_time = if time <= MAX_CONSISTENCY { Outcome::Passed } else { Outcome::Failed };
    let timeouts = Check::new("GWAPI-TIMEOUTS", TIMEOUTS, in_time);
    out.report(timeouts.want(format!("MaxTimeToConsistency <= {MAX_CONSISTENCY} s")).got(format!("{time} s")));

    let selected: BTreeSet<&str> = selection.profiles.iter().map(String::as_str).collect();
    let found: BTreeSet<&str> = reports.iter().map(|report| report.name.as_str()).collect();
    let same = !selected.is_empty() && selected == found && found.len() == reports.len();
    let outcome = if same { Outcome::Passed } else { Outcome::Failed };
    out.report(
        Check::new("GWAPI-PROFILES", PROFILES, outcome).want(shorten(list(&selected))).got(shorten(list(&found))),
    );
    for report in reports.iter().filter(|report| selected.contains(report.name.as_str())) {
        let id = format!("GWAPI-TESTS-{}", id_part(&report.name));
        out.report(rule(&id, "the report agrees with the results of the tests", &wrong(report, &selection, results)));
    }
}

/// Checks the results of a profile.
fn result(report: &ProfileReport, partial: bool) -> Check {
    let levels = || [("core", Some(&report.core)), ("extended", report.extended.as_ref())].into_iter();
    let present = || levels().filter_map(|(name, level)| Some((name, level?)));
    let accepted = |level: &Level| match level.result {
        ResultWord::Success => true,
        ResultWord::Partial => partial,
        ResultWord::Failure => false,
    };
    let outcome = if present().all(|(_, level)| accepted(level)) { Outcome::Passed } else { Outcome::Failed };
    let got: Vec<String> =
        present().map(|(name, level)| format!("{name} {}: {}", level.result, level.statistics)).collect();
    let mut reasons = Vec::new();
    for (name, level) in present() {
        for (word, tests) in [("failed", &level.failed_tests), ("were skipped", &level.skipped_tests)] {
            if !tests.is_empty() {
                let tests = tests.iter().map(String::as_str).collect();
                reasons.push(format!("{name} tests that {word}: {}", list(&tests)));
            }
        }
    }
    let id = format!("GWAPI-RESULT-{}", id_part(&report.name));
    Check::new(id, "the results can be published", outcome)
        .want(if partial { "success or partial" } else { "success" })
        .got(got.join("; "))
        .reason(shorten(reasons.join("; ")))
}

/// Returns a check of a rule. It passed if nothing is wrong.
fn rule(id: &str, name: &str, wrong: &[String]) -> Check {
    let outcome = if wrong.is_empty() { Outcome::Passed } else { Outcome::Failed };
    checked(id, name, outcome, wrong.join("; "))
}

fn checked(id: &str, name: &str, outcome: Outcome, reason: impl Into<String>) -> Check {
    Check::new(id, name, outcome).reason(shorten(reason.into()))
}

/// Returns the name of a profile as a part of an ID.
fn id_part(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect()
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
