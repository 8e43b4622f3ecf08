//! Describes the state of a run: a sentence with the next command, notes about what needs attention,
//! and the words for missing, skipped and stalled results.

use jiff::{SignedDuration, Timestamp};
use plumbline_core::compact::ALL_JUDGED;
use plumbline_core::progress::NEVER;
use plumbline_core::rollup::{meaning, worst};
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{GLOBAL, PluginName, Status, Verdict};
use plumbline_kubernetes::names;
use plumbline_kubernetes::status::{Seen, Waiting};

use crate::report::text::{name, one_line, size};
use crate::report::verdict::{brief, verdict_table};

/// Maximum waiting pods listed one by one.
const MAX_WAITING: usize = 10;

/// Maximum missing results listed one by one, with their reasons.
const MAX_REASONS: usize = 10;

/// Age above which a heartbeat is shown. Workers send one about every 30 s.
const OLD_HEARTBEAT: SignedDuration = SignedDuration::from_secs(60);

/// Returns the words by which scripts recognize the phase in the output of `sonobuoy status`.
fn for_scripts(phase: &RunPhase, program: &str) -> &'static str {
    match phase {
        _ if program != "sonobuoy" => "",
        RunPhase::Other(_) => "",
        RunPhase::Running => "Sonobuoy is still running. ",
        RunPhase::PostProcessing => "Sonobuoy plugins have completed. ",
        RunPhase::Complete => "Sonobuoy has completed. ",
        RunPhase::Failed => "Sonobuoy has failed. ",
    }
}

/// Returns the outcome of a complete run, or the [`sentence`] for others.
pub fn how(seen: &Seen, program: &str) -> String {
    match seen.status.status {
        RunPhase::Complete => {
            format!("{}The run is complete: {}.", for_scripts(&RunPhase::Complete, program), verdict(&seen.status))
        }
        _ => sentence(seen, program),
    }
}

/// Returns the state of the run, and the next command. `program` is the name by which the user
/// calls this program; under that of Sonobuoy, the words that its scripts look for come first.
pub fn sentence(seen: &Seen, program: &str) -> String {
    let status = &seen.status;
    let next = |command: &str| format!("`{program} {command}{}`", namespace_option(&seen.namespace));
    let (done, all) = counted(status);
    let sentence = match &status.status {
        RunPhase::Running if status.plugins.is_none() => {
            format!("The run is being prepared. Wait for it with {}.", next("wait"))
        }
        RunPhase::Running => {
            format!("The run is in progress: {done} of {all} results received. Wait for it with {}.", next("wait"))
        }
        RunPhase::PostProcessing => {
            format!(
                "All results are received. Plumbline reads and packs them. Wait for the archive with {}.",
                next("wait")
            )
        }
        RunPhase::Complete => {
            let tar = &status.tar_info;
            let archive = if tar.name.is_empty() {
                String::new()
            } else {
                format!(" ({}, {})", one_line(&tar.name), size(tar.size))
            };
            format!(
                "The run is complete: {}. Download its archive{archive} with {}.",
                verdict(status),
                next("retrieve")
            )
        }
        RunPhase::Failed => {
            let more = if status.failure.is_some() { "more" } else { "why" };
            format!(
                "The run has failed and left no archive. See {more} with {}, then remove it with {}.",
                next("logs"),
                next("delete")
            )
        }
        RunPhase::Other(word) => {
            format!("The run has the unknown status `{}`. See more with {}.", one_line(word), next("logs"))
        }
    };
    for_scripts(&status.status, program).to_owned() + &sentence
}

/// Returns further information, one line each.
pub fn notes(seen: &Seen, now: Timestamp) -> Vec<String> {
    let mut notes = failure(&seen.status);
    if let Some(silent) = seen.silent_for(now) {
        notes.push(format!(
            "The aggregator has sent no heartbeat for {}: look at its pod with `kubectl describe pod --namespace {} {}`.",
            period(silent),
            seen.namespace,
            seen.pod
        ));
    }
    if seen.restarts > 0 && !seen.is_over() {
        let times = if seen.restarts == 1 { "once".to_owned() } else { format!("{} times", seen.restarts) };
        notes.push(format!("The aggregator restarted {times}; the run resumed where it stopped."));
    }
    if let Some(delivery) = &seen.status.delivery {
        notes.push(match delivery.strip_prefix(names::NOT_DELIVERED) {
            Some(why) => format!("The archive was not uploaded: {}", one_line(why)),
            None => format!("The archive was sent to {}.", one_line(delivery)),
        });
    }
    notes.extend(judged(&seen.status));
    notes.extend(unseen_results(&seen.status));
    for entry in seen.status.plugins.iter().flatten() {
        if let Some(still) = stalled(&seen.status, entry, now) {
            let logs = logs_command(&entry.plugin, &seen.namespace);
            let name = one_line(&entry.plugin);
            notes.push(format!("{name}: no progress for {}. See what it does with `{logs}`.", period(still)));
        }
    }
    notes.extend(seen.status.skipped.iter().map(|(plugin, why)| format!("{}.", skipped(plugin, why))));
    let missing: Vec<String> =
        seen.status.plugins.iter().flatten().filter_map(|entry| why_missing(&seen.status, entry, now)).collect();
    let more = missing.len().saturating_sub(MAX_REASONS);
    notes.extend(missing.into_iter().take(MAX_REASONS));
    if more > 0 {
        let all = format!("`plumbline status -o wide{}`", namespace_option(&seen.namespace));
        notes.push(format!("{more} more results have problems. List them with {all}."));
    }
    notes.extend(waiting_pods(seen, now));
    if seen.is_compacted() {
        notes.push(format!(
            "The aggregator's pod holds a summary. See every result with `plumbline status --full{}`.",
            namespace_option(&seen.namespace)
        ));
    }
    notes
}

/// Returns why pods are waiting, except those whose reason is shown with their result.
fn waiting_pods(seen: &Seen, now: Timestamp) -> Vec<String> {
    let has_reason = |waiting: &Waiting| {
        seen.status.plugins.iter().flatten().any(|entry| entry.reason.is_some() && is_of(waiting, entry))
    };
    let waiting: Vec<&Waiting> = seen.waiting.iter().filter(|waiting| !has_reason(waiting)).collect();
    let sentence = |waiting: &&Waiting| {
        let plugin = waiting.plugin.as_deref().unwrap_or("a pod");
        let node = waiting.node.as_deref().map(|node| format!(" on {node}")).unwrap_or_default();
        let waits = match waiting.since {
            Some(at) => format!("has been waiting for {}", period(now.duration_since(at))),
            None => "is waiting".to_owned(),
        };
        one_line(&format!("{plugin}{node} {waits}: {}", waiting.words()))
    };
    let mut sentences: Vec<String> = waiting.iter().take(MAX_WAITING).map(sentence).collect();
    let more = waiting.len().saturating_sub(MAX_WAITING);
    if more > 0 {
        let all = namespace_option(&seen.namespace);
        sentences.push(format!("{more} more pods are waiting: see them with `plumbline status -o wide{all}`."));
    }
    sentences
}

/// Returns why a result is missing or may not arrive, and an old heartbeat of its worker. `None`
/// without a problem.
fn why_missing(status: &RunStatus, entry: &PluginStatus, now: Timestamp) -> Option<String> {
    if entry.status == EntryStatus::Complete {
        return None;
    }
    // The status itself may be older than `now`.
    let now = status.heartbeat.unwrap_or(now);
    let silent = entry.last_heartbeat.map(|at| now.duration_since(at));
    let silent = silent.filter(|silent| !entry.status.is_final() && *silent > OLD_HEARTBEAT);
    let silent = silent.map(|silent| format!("last heartbeat {} ago", period(silent)));
    let why = match (&entry.reason, silent) {
        (Some(reason), Some(silent)) => format!("{reason} ({silent})"),
        (Some(reason), None) => reason.clone(),
        (None, Some(silent)) => silent,
        (None, None) => return None,
    };
    let node = if entry.node == GLOBAL { String::new() } else { format!(" on {}", entry.node) };
    Some(one_line(&format!("{}{node}: {why}", entry.plugin)))
}

/// Returns why the run failed as a whole or was ended, and a hint.
pub fn failure(status: &RunStatus) -> Vec<String> {
    let Some(failure) = &status.failure else { return Vec::new() };
    let hint = failure.hint.as_deref().map(|hint| format!("hint:  {}", name(hint)));
    [format!("cause: {}", name(&failure.reason))].into_iter().chain(hint).collect()
}

/// Returns the verdict on each plugin: with a table once the run is over, as a sentence before that.
pub fn judged(status: &RunStatus) -> Vec<String> {
    let is_over = matches!(status.status, RunPhase::Complete | RunPhase::Failed);
    let verdicts = status.verdicts.iter().flatten();
    let lines = verdicts.flat_map(|(plugin, verdict)| {
        let words = if is_over { brief(verdict) } else { verdict.sentence() };
        let table = if is_over { verdict_table(verdict, 2) } else { Vec::new() };
        std::iter::once(name(&format!("{plugin}: {words}"))).chain(table)
    });
    lines.collect()
}

/// Returns the results of plugins that none of their entries shows: why no result is expected, and a
/// result as a whole that is worse than all others, such as that of a summary. The verdict of judges
/// replaces the latter.
pub fn unseen_results(status: &RunStatus) -> Vec<String> {
    let totals = status.totals.iter().filter_map(|(plugin, total)| {
        if let Some(reason) = &total.reason {
            return Some(format!("{plugin}: {reason}, so no result is expected"));
        }
        let verdicts = status.verdicts.as_ref();
        if verdicts.is_some_and(|all| all.contains_key(plugin) || all.contains_key(ALL_JUDGED)) {
            return None;
        }
        let bad = worst(&total.status)?;
        let mut entries = status.plugins.iter().flatten().filter(|entry| entry.plugin == *plugin);
        if entries.any(|entry| entry.result_status.as_ref().and_then(worst) == Some(bad.clone())) {
            return None;
        }
        let counts = total.counts.iter().flatten().filter(|(status, _)| worst(&status.as_str().into()).is_some());
        let counts: Vec<String> = counts.map(|(status, n)| format!("{n} {status}")).collect();
        let counts = if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
        Some(format!("{plugin}: {bad} as a whole{counts}"))
    });
    totals.map(|line| one_line(&line)).collect()
}

fn counted(status: &RunStatus) -> (u64, u64) {
    status.plugins.iter().flatten().fold((0_u64, 0_u64), |(done, all), entry| {
        let ended = if entry.status.is_final() { entry.count() } else { 0 };
        (done.saturating_add(ended), all.saturating_add(entry.count()))
    })
}

fn verdict(status: &RunStatus) -> String {
    match Verdict::from_run(status) {
        Verdict::Passed => match sum(status.verdicts.iter().flatten().map(|(_, verdict)| verdict.excused)) {
            0 => "everything passed".to_owned(),
            1 => "it passed, with 1 failure excused".to_owned(),
            n => format!("it passed, with {n} failures excused"),
        },
        Verdict::Failed => failed(status),
        Verdict::Incomplete => missing(status).unwrap_or_else(|| "not everything could be judged".to_owned()),
        Verdict::NothingToJudge => "there is nothing to judge".to_owned(),
        Verdict::SystemFailure => "the system failed".to_owned(),
        Verdict::Interrupted => "it was interrupted".to_owned(),
    }
}

/// Returns how many tests failed. Judges can excuse some of them, and not every status has counts.
fn failed(status: &RunStatus) -> String {
    // The result of a plugin as a whole has the leaves of all its entries.
    let mut results: Vec<_> = status.totals.values().filter_map(|total| total.counts.as_ref()).collect();
    for entry in status.plugins.iter().flatten() {
        let has_total = status.totals.get(&entry.plugin).is_some_and(|total| total.counts.is_some());
        results.extend(entry.result_counts.as_ref().filter(|_| !has_total));
    }
    let counts = || results.iter().copied().flatten();
    let is_failed = |status: &str| meaning(&status.into()) == Status::Failed;
    let failed = sum(counts().filter(|(status, _)| is_failed(status)).map(|(_, count)| *count));
    if failed == 0 || status.verdicts.is_some() {
        return "at least one test or check failed".to_owned();
    }
    format!("{failed} of {} tests failed", sum(counts().map(|(_, count)| *count)))
}

/// The sum of numbers in a status, which another program may have written.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Returns the option that further commands need to find the same run.
fn namespace_option(namespace: &str) -> String {
    if namespace == names::DEFAULT_NAMESPACE { String::new() } else { format!(" -n {namespace}") }
}

/// Describes how many expected results of a finished run did not arrive; `None` if all did.
pub fn missing(status: &RunStatus) -> Option<String> {
    let all = status.expected();
    match status.missing() {
        (0, _) => None,
        (missing, 0) => Some(format!("{missing} of {all} results did not arrive")),
        (missing, late) if missing == late => Some(format!("{missing} of {all} results timed out")),
        (missing, late) => Some(format!("{missing} of {all} results did not arrive, {late} of them timed out")),
    }
}

/// Returns the line that reports a skipped plugin.
pub fn skipped(plugin: &str, why: &str) -> String {
    format!("{}: skipped: {}", one_line(plugin), one_line(why))
}

/// Time without progress after which a plugin is reported as stalled: 10 min. Single tests seldom
/// take longer.
const STALLED: SignedDuration = SignedDuration::from_mins(10);

/// Returns how long the progress of an expected result has not changed at `now`, if that is long.
/// The time counts from its last update or launch. Plugins on each node count only if they report
/// progress: most do not, and they have many results.
pub fn stalled(status: &RunStatus, entry: &PluginStatus, now: Timestamp) -> Option<SignedDuration> {
    if entry.status != EntryStatus::Running {
        return None;
    }
    let updated = entry.progress.as_ref().map(|progress| progress.timestamp).filter(|&at| at != NEVER);
    let launched = status.launched.get(&entry.plugin).copied();
    let since = match updated {
        // The launch is later if the plugin was started again after a restart of the aggregator.
        Some(updated) => launched.map_or(updated, |launched| launched.max(updated)),
        None if entry.node == GLOBAL => launched?,
        None => return None,
    };
    let still = now.duration_since(since);
    (still >= STALLED).then_some(still)
}

/// Returns the command that shows the logs of a plugin in a cluster. For an invalid plugin name, it
/// shows all logs.
pub fn logs_command(plugin: &str, namespace: &str) -> String {
    let plugin = plugin.parse::<PluginName>().map(|name| format!(" --plugin {name}")).unwrap_or_default();
    format!("plumbline logs{plugin}{}", namespace_option(namespace))
}

/// Describes the progress that a plugin reports.
pub fn progress(entry: &PluginStatus) -> Option<String> {
    let progress = entry.progress.as_ref()?;
    let failed = progress.failed();
    let mut text = format!("{} passed or skipped   {failed} failed", progress.completed);
    if progress.total > 0 {
        let done = progress.completed.saturating_add(i64::try_from(failed).unwrap_or(i64::MAX));
        text = format!("{done}/{}   {text}", progress.total);
    }
    if !progress.msg.is_empty() {
        text.push_str("   ");
        text.push_str(&one_line(&progress.msg));
    }
    Some(text)
}

/// Formats a duration for people.
pub fn period(span: SignedDuration) -> String {
    let seconds = span.as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Whether the waiting pod belongs to this result.
pub fn is_of(waiting: &Waiting, entry: &PluginStatus) -> bool {
    let node = entry.node == GLOBAL || waiting.node.as_deref() == Some(&entry.node);
    waiting.plugin.as_deref() == Some(&entry.plugin) && node
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
