//! The outcome of a run: a summary for people, or one document for programs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use plumbline_aggregator::{Detected, Detections, Finished, Outcome, PluginOutcome};
use plumbline_core::judgement::{VerdictStatus, VerdictSummary};
use plumbline_core::rollup::{is_failure, meaning};
use plumbline_core::{Status, Verdict, shell_quote, text};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::local_run::LastOutput;
use crate::local_run::command::STDOUT_FILE;
use crate::report::failures::list_failures;
use crate::report::status::missing;
use crate::report::text::{name, one_line, shortened, size};
use crate::report::verdict::verdict_table;

/// Maximum statuses counted per plugin.
const MAX_COUNTS: usize = 10;

/// Statuses that are counted first, in this order.
const FIRST: [&str; 3] = ["passed", "failed", "timeout"];

/// Returns the outcome as data. Keys are never removed or renamed (docs/output.md).
pub fn outcome_document(finished: &Finished) -> Value {
    let plugin = |plugin: &PluginOutcome| {
        let mut shown = json!({
            "plugin": plugin.plugin,
            "status": plugin.outcome.total.status,
            "counts": plugin.outcome.total.counts,
            "items": plugin.outcome.items,
            "seconds": plugin.elapsed.map(|elapsed| elapsed.as_secs_f64()),
            "failures": plugin.outcome.failures,
            "reason": plugin.outcome.reason,
        });
        if let (Some(detections), Some(fields)) = (&plugin.outcome.detections, shown.as_object_mut()) {
            fields.insert("detected".to_owned(), json!(detections));
        }
        if let (Some(judged), Some(fields)) = (judged(finished, plugin), shown.as_object_mut()) {
            fields.insert("verdict".to_owned(), json!(judged));
        }
        shown
    };
    json!({
        "run": finished.run,
        "started": finished.started,
        "verdict": finished.verdict.as_str(),
        "exit-code": finished.verdict.exit_code(),
        "archive": finished.archive,
        "size": finished.bytes,
        "sha256": finished.sha256,
        "plugins": finished.plugins.iter().map(plugin).collect::<Vec<_>>(),
        "skipped": finished.status.skipped,
        "results": finished.status.plugins.as_deref().unwrap_or_default(),
    })
}

/// Prints the outcome for people, with the last log lines of plugins with problems.
pub fn outcome_text(finished: &Finished, last_output: &LastOutput, out: &mut impl Write) -> io::Result<()> {
    let width = finished.plugins.iter().map(|plugin| plugin.plugin.as_str().len()).max().unwrap_or_default().max(12);
    for plugin in &finished.plugins {
        if let Some(detections) = &plugin.outcome.detections {
            detected(plugin.plugin.as_str(), detections, out)?;
        }
    }
    writeln!(out)?;
    let mut follows_table = false;
    for plugin in &finished.plugins {
        if std::mem::take(&mut follows_table) {
            writeln!(out)?;
        }
        follows_table = plugin_text(finished, plugin, width, last_output, out)?;
    }
    for (plugin, why) in &finished.status.skipped {
        writeln!(out, "  {plugin:width$}   skipped   {}", one_line(why))?;
    }
    writeln!(out)?;
    writeln!(out, "{}", verdict(finished))?;
    if let Some(hint) = hint(finished) {
        writeln!(out, "hint:    {hint}")?;
    }
    writeln!(out, "archive: {} ({})", shown(&finished.archive), size(finished.bytes))?;
    let bad = finished.plugins.iter().find(|plugin| listed(finished, plugin) > 0 || plugin.outcome.items == 0);
    let which = bad.map(|plugin| format!(" --plugin {}", plugin.plugin)).unwrap_or_default();
    writeln!(out, "next:    plumbline results {}{which}", shell_quote(&shown(&finished.archive)))
}

/// Prints a plugin: its counts, the table of its verdict, its failures, and the end of its logs. Returns
/// whether there was a table.
fn plugin_text(
    finished: &Finished,
    plugin: &PluginOutcome,
    width: usize,
    last_output: &LastOutput,
    out: &mut impl Write,
) -> io::Result<bool> {
    let judged = judged(finished, plugin);
    plugin_line(plugin, judged, width, out)?;
    if let Some(reason) = &plugin.outcome.reason {
        writeln!(out, "  {:width$}   {}", "", one_line(reason))?;
    }
    let table = judged.map(|judged| verdict_table(judged, width + 5)).unwrap_or_default();
    if !table.is_empty() {
        writeln!(out, "\n{}", table.join("\n"))?;
    }
    let mut below = Vec::new();
    list_failures(&plugin.outcome.failures, listed(finished, plugin), width + 5, &mut below)?;
    if !is_green(finished, plugin) {
        list_last_output(last_output, plugin.plugin.as_str(), width + 5, &mut below)?;
    }
    if !table.is_empty() && !below.is_empty() {
        writeln!(out)?;
    }
    out.write_all(&below)?;
    Ok(!table.is_empty())
}

/// Prints the formats that were detected in the files of `plugin`, one line per format.
fn detected(plugin: &str, detections: &Detections, out: &mut impl Write) -> io::Result<()> {
    let Detections { files, detected, unread } = detections;
    if *detected == 0 {
        return writeln!(out, "unrecognised output: the exit code decides");
    }
    let mut formats: Vec<&str> = files.iter().map(|file| file.format.as_str()).collect();
    formats.sort_unstable();
    formats.dedup();
    for format in formats {
        // `results/NODE/` is left out, because the plugin's name is already shown.
        let below = |file: &Detected| file.file.splitn(3, '/').last().unwrap_or_default().to_owned();
        let names: Vec<String> = files.iter().filter(|file| file.format == format).map(below).collect();
        let written = match names.as_slice() {
            [name] if name == STDOUT_FILE => format!("standard output of {plugin}"),
            [name] => format!("{}, written by {plugin}", one_line(name)),
            names => format!("{} files, written by {plugin}", names.len()),
        };
        writeln!(out, "detected: {} ({written})", one_line(format))?;
    }
    let hidden = detected.saturating_sub(files.len() as u64);
    if hidden > 0 {
        writeln!(out, "detected: {hidden} more files")?;
    }
    if *unread > 0 {
        let files = if *unread == 1 { "file" } else { "files" };
        writeln!(out, "not read: {unread} {files} of unknown format, written by {plugin}")?;
    }
    Ok(())
}

/// Prints the status of a plugin, or its verdict if it has one, and its counts.
fn plugin_line(
    plugin: &PluginOutcome,
    judged: Option<&VerdictSummary>,
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let outcome = &plugin.outcome;
    let counts = counts(&outcome.total.counts, judged);
    let counts = if counts.is_empty() { "no results".to_owned() } else { text::listed(&counts, MAX_COUNTS, "   ") };
    let time = plugin.elapsed.map(|elapsed| format!("   {}", seconds(elapsed))).unwrap_or_default();
    let status = match (judged, &outcome.total.status) {
        (Some(judged), _) => judged.status.to_string(),
        // With custom statuses, the plugin's status is the list of counts.
        (None, status) if status.is_custom() => String::new(),
        (None, status) => status.to_string(),
    };
    writeln!(
        out,
        "  {:width$}   {}{:9}{}{counts}{time}",
        plugin.plugin.as_str(),
        style(&status).render(),
        status,
        style(&status).render_reset()
    )
}

/// The counts of a plugin, and how many of its failures are excused.
fn counts(counts: &BTreeMap<String, u64>, judged: Option<&VerdictSummary>) -> Vec<String> {
    let rank = |status: &str| FIRST.iter().position(|first| *first == status).unwrap_or(FIRST.len());
    let mut counts: Vec<(&String, &u64)> = counts.iter().collect();
    counts.sort_by_key(|(status, _)| rank(status));
    let last_failed = counts.iter().rposition(|(status, _)| is_failure(&status.as_str().into()));
    let excused = judged.filter(|judged| judged.excused > 0).map(|judged| match judged.excused {
        1 if judged.failures == 1 => ", excused".to_owned(),
        n if n == judged.failures => ", all excused".to_owned(),
        n => format!(", {n} excused"),
    });
    let counts = counts.into_iter().enumerate().map(|(at, (status, n))| {
        let excused = excused.as_deref().filter(|_| last_failed == Some(at)).unwrap_or_default();
        format!("{n} {}{excused}", name(status))
    });
    counts.collect()
}

fn style(status: &str) -> anstyle::Style {
    let colour = match meaning(&status.into()) {
        Status::Passed => anstyle::AnsiColor::Green,
        Status::Failed => anstyle::AnsiColor::Red,
        _ => anstyle::AnsiColor::Yellow,
    };
    anstyle::Style::new().fg_color(Some(colour.into()))
}

fn judged<'a>(finished: &'a Finished, plugin: &PluginOutcome) -> Option<&'a VerdictSummary> {
    finished.status.verdicts.as_ref()?.get(plugin.plugin.as_str())
}

fn is_green(finished: &Finished, plugin: &PluginOutcome) -> bool {
    let passed = match judged(finished, plugin) {
        Some(judged) => judged.status == VerdictStatus::Passed,
        None => meaning(&plugin.outcome.total.status) == Status::Passed,
    };
    passed || finished.verdict == Verdict::Passed
}

/// Returns how much is listed for a plugin with a verdict: what counts, and what judges could not
/// decide.
pub fn to_list(judged: &VerdictSummary) -> u64 {
    [judged.counting, judged.checks_failed, judged.checks_unknown, judged.judges_failed].iter().sum()
}

fn listed(finished: &Finished, plugin: &PluginOutcome) -> u64 {
    judged(finished, plugin).map_or_else(|| failed(finished, plugin), to_list)
}

/// Returns how much counts as failed: leaves and checks.
fn failed(finished: &Finished, plugin: &PluginOutcome) -> u64 {
    if let Some(judged) = judged(finished, plugin) {
        return judged.counting.saturating_add(judged.checks_failed);
    }
    let counts = plugin.outcome.total.counts.iter();
    counts.filter(|(status, _)| is_failure(&status.as_str().into())).map(|(_, n)| n).sum()
}

fn verdict(finished: &Finished) -> String {
    let failed: u64 = finished.plugins.iter().map(|plugin| failed(finished, plugin)).sum();
    let judged = || finished.status.verdicts.iter().flat_map(|verdicts| verdicts.values());
    let excused: u64 = judged().map(|judged| judged.excused).sum();
    let required: u64 = judged().map(|judged| judged.checks).sum();
    // A file that was not read is not a check, and a test that was skipped neither passed nor failed.
    let (mut ran, mut others) = (required, BTreeMap::<&str, u64>::new());
    for (status, n) in finished.plugins.iter().flat_map(|plugin| &plugin.outcome.total.counts) {
        match meaning(&status.as_str().into()) {
            Status::Passed | Status::Failed | Status::Timeout => ran += n,
            Status::NotRead => {}
            Status::Skipped | Status::Unknown | Status::Custom(_) => *others.entry(status).or_default() += n,
        }
    }
    let checks = if ran == 1 { "check" } else { "checks" };
    let others: Vec<String> = others.into_iter().map(|(status, n)| format!("{n} {}", name(status))).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!(" ({})", text::listed(&others, MAX_COUNTS, ", ")),
    };
    match finished.verdict {
        Verdict::Passed if excused > 0 => {
            format!("passed: {ran} {checks}, {excused} of them failed and excused{others}")
        }
        Verdict::Passed => format!("passed: {ran} {checks}{others}"),
        Verdict::Failed => format!("failed: {failed} of {ran} {checks}{others}"),
        Verdict::Incomplete => match missing(&finished.status) {
            Some(missing) => format!("incomplete: {missing}"),
            None if !idle(finished).is_empty() => {
                format!("incomplete: nothing ran in {}", idle(finished).join(", "))
            }
            None => {
                format!("incomplete: {failed} of {ran} {checks} failed{others}, and not everything could be judged")
            }
        },
        Verdict::NothingToJudge => match &*finished.plugins {
            [PluginOutcome { outcome: Outcome { reason: Some(reason), .. }, .. }] => {
                format!("nothing to judge: {reason}")
            }
            _ => "nothing to judge: there are no results, or only unknown ones".to_owned(),
        },
        Verdict::SystemFailure => "system failure: the run could not be completed".to_owned(),
        Verdict::Interrupted => "interrupted: what was gathered so far is in the archive".to_owned(),
    }
}

fn idle(finished: &Finished) -> Vec<String> {
    let idle = finished.plugins.iter().filter(|plugin| meaning(&plugin.outcome.total.status) == Status::Skipped);
    idle.map(|plugin| format!("`{}`", plugin.plugin)).collect()
}

fn hint(finished: &Finished) -> Option<&'static str> {
    let has = |status: &Status| finished.plugins.iter().any(|plugin| plugin.outcome.total.status == *status);
    match finished.verdict {
        Verdict::NothingToJudge if has(&Status::NotRead) => Some(
            "name the format of the files with `result-format` in the definition, or set `plumbline.allow-empty: true`",
        ),
        Verdict::NothingToJudge | Verdict::Incomplete if has(&Status::Skipped) => {
            Some("if the run may be empty, set `plumbline.allow-empty: true` in the definition")
        }
        _ => None,
    }
}

/// Returns the path as a user would type it: relative if it is below the current directory.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    match path.strip_prefix(&here) {
        Ok(relative) => format!("./{}", relative.display()),
        Err(_) => path.display().to_string(),
    }
}

fn seconds(elapsed: Duration) -> String {
    let whole = elapsed.as_secs();
    match whole {
        0..60 => format!("{:.1} s", elapsed.as_secs_f64()),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Maximum lines shown.
const MAX_LINES: usize = 10;
/// Maximum characters of a line.
const MAX_WIDTH: usize = 160;

/// Prints the last lines of the logs of `plugin`, indented by `indent` columns, and the path of the
/// whole logs.
fn list_last_output(output: &LastOutput, plugin: &str, indent: usize, out: &mut impl Write) -> io::Result<()> {
    for (key, text) in output.iter().filter(|(key, _)| key.plugin.as_str() == plugin) {
        let lines: Vec<String> = text.lines().filter_map(for_people).filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            continue;
        }
        let log = format!("podlogs/local/{}/logs/{}.txt", key.plugin, key.node);
        writeln!(out, "{:indent$}last lines of its log ({log} in the archive):", "")?;
        for line in lines.iter().skip(lines.len().saturating_sub(MAX_LINES)) {
            writeln!(out, "{:indent$}  {}", "", shortened(line, MAX_WIDTH))?;
        }
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoEvent {
    #[serde(rename = "Action")]
    _action: String,
    output: Option<String>,
}

/// Returns the readable part of a line: for an event of `go test -json`, its output. `None` if the
/// event has no output.
fn for_people(line: &str) -> Option<String> {
    if !line.starts_with('{') {
        return Some(line.to_owned());
    }
    match serde_json::from_str::<GoEvent>(line) {
        Ok(event) => event.output,
        Err(_) => Some(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use plumbline_aggregator::{Failure, NodeOutcome};

    use super::*;
    use crate::report::testing::written;

    fn finished() -> Finished {
        let total =
            NodeOutcome { status: Status::Failed, counts: [("failed".to_owned(), 1), ("passed".to_owned(), 2)].into() };
        let reason = Some("2.0 GiB\u{1b}[2J in use".into());
        let failures = vec![Failure { name: "swap is off".into(), reason, ..Failure::default() }];
        let outcome = Outcome { total, items: 4, failures, ..Outcome::default() };
        Finished {
            run: "7f3a9c00-0000-4000-8000-000000000000".parse().unwrap(),
            started: "2026-11-20T13:00:00Z".parse().unwrap(),
            plugins: vec![PluginOutcome {
                plugin: "node-check".parse().unwrap(),
                outcome,
                elapsed: Some(Duration::from_millis(1900)),
            }],
            status: serde_json::from_value(json!({"status": "complete"})).unwrap(),
            verdict: Verdict::Failed,
            archive: "/somewhere/202611201300_plumbline_7f3a9c.tar.gz".into(),
            bytes: 24 << 10,
            sha256: "0".repeat(64),
        }
    }

    #[test]
    fn the_summary_says_what_failed_and_what_to_do_next() {
        let mut out = Vec::new();
        let output = [("node-check/global".parse().unwrap(), "checking\nswap is on\n".to_owned())].into();
        outcome_text(&finished(), &output, &mut anstream::StripStream::new(&mut out)).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    /// The plugins by name, with their statuses, leaves and reasons.
    type Plugins<'a> = &'a [(&'a str, &'a str, &'a [(&'a str, u64)], Option<&'a str>)];

    fn summary_of(verdict: Verdict, plugins: Plugins<'_>) -> String {
        let plugins = plugins.iter().map(|(name, status, counts, reason)| PluginOutcome {
            plugin: name.parse().unwrap(),
            outcome: Outcome {
                total: NodeOutcome {
                    status: (*status).into(),
                    counts: counts.iter().map(|(status, n)| ((*status).to_owned(), *n)).collect(),
                },
                items: 1,
                reason: reason.map(Into::into),
                ..Outcome::default()
            },
            elapsed: None,
        });
        let finished = Finished { plugins: plugins.collect(), verdict, ..finished() };
        written(|out| outcome_text(&finished, &LastOutput::new(), &mut anstream::StripStream::new(out)))
    }

    #[test]
    fn a_verdict_is_a_table_between_the_counts_and_the_failures() {
        let mut finished = finished();
        finished.status.verdicts = serde_json::from_value(json!({"node-check": {
            "status": "failed", "failures": 4, "excused": 3, "counting": 1, "checks": 7, "checks-failed": 1,
            "classes": {
                "failure": {"items": 1, "counting": 1, "failures": 1},
                "known-failure": {"items": 3, "failures": 3},
            },
            "reasons": {"failure": "no judge ruled on it", "known-failure": "the cloud has no UDP"},
        }}))
        .unwrap();
        let judged = finished.plugins[0].clone();
        let counts = [("failed".to_owned(), 3), ("passed".to_owned(), 400), ("timeout".to_owned(), 1)].into();
        finished.plugins[0].outcome.total.counts = counts;
        finished.plugins.push(PluginOutcome { plugin: "other".parse().unwrap(), ..judged });
        let mut out = Vec::new();
        outcome_text(&finished, &LastOutput::new(), &mut anstream::StripStream::new(&mut out)).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_run_without_checks_shows_the_reason_and_a_hint() {
        let unread = "2 files collected, none read: the result format is `raw`";
        let shown = [
            summary_of(Verdict::NothingToJudge, &[("files", "not-read", &[("not-read", 2)], Some(unread))]),
            summary_of(
                Verdict::Passed,
                &[(
                    "files",
                    "passed",
                    &[("not-read", 2), ("passed", 1)],
                    Some("2 files collected, none read: the result format is `raw`; the exit code decides"),
                )],
            ),
            summary_of(
                Verdict::Passed,
                &[
                    ("statements", "stated", &[("passed", 1), ("skipped", 7), ("stated", 6)], None),
                    ("suite", "passed", &[("passed", 2), ("skipped", 3205)], None),
                ],
            ),
            summary_of(
                Verdict::Incomplete,
                &[
                    ("good", "passed", &[("passed", 3)], None),
                    ("idle", "skipped", &[("skipped", 5)], Some("nothing ran: all 5 tests were skipped")),
                ],
            ),
        ];
        insta::assert_snapshot!(shown.join("\n---\n"));
    }

    #[test]
    fn the_document_has_its_keys() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&outcome_document(&finished())).unwrap());
    }

    #[test]
    fn events_of_go_are_shown_as_the_output_in_them() {
        let text = concat!(
            r#"{"Action":"run","Package":"p","Test":"TestBad"}"#,
            "\n",
            r#"{"Action":"output","Package":"p","Test":"TestBad","Output":"    m_test.go:6: want 1\n"}"#,
            "\n{\"level\":\"info\"}\n",
        );
        let output: LastOutput = [("go-test/global".parse().unwrap(), text.to_owned())].into();
        let shown = written(|out| list_last_output(&output, "go-test", 0, out));
        let lines: Vec<&str> = shown.lines().skip(1).map(str::trim).collect();
        assert_eq!(lines, ["m_test.go:6: want 1", r#"{"level":"info"}"#]);
    }

    #[test]
    fn a_log_is_bounded_and_does_not_control_the_terminal() {
        let text: String =
            (0..30).map(|n| format!("line {n}\n\n")).collect::<String>() + "\u{1b}[2Jgone " + &"x".repeat(500);
        let output: LastOutput = [("smoke/global".parse().unwrap(), text)].into();
        let shown = written(|out| {
            list_last_output(&output, "smoke", 2, out)?;
            list_last_output(&output, "other", 2, out)
        });
        assert!(shown.starts_with(
            "  last lines of its log (podlogs/local/smoke/logs/global.txt in the archive):\n    line 21\n"
        ));
        assert_eq!(shown.lines().count(), 1 + MAX_LINES);
        assert!(!shown.contains('\u{1b}') && shown.contains("[2Jgone x"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= MAX_WIDTH + 5), "{shown}");
    }
}
