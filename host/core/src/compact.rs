//! Compacts the status of a run to a size limit: healthy entries are dropped first, entries in
//! trouble last.
//!
//! An annotation holds a fixed number of bytes, however many nodes there are and however long the
//! names of failed tests are. Readers that do not know the compacted form still find an array of
//! plugins with the usual keys.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

use jiff::{SignedDuration, Timestamp};

use crate::judgement::{VerdictStatus, VerdictSummary};
use crate::run_status::{EntryStatus, PluginStatus, PluginTotal, RunFailure, RunPhase, RunStatus, short};
use crate::status::Status;
use crate::text::excerpt;
use crate::verdict::Seen;

/// The smallest limit that can always be met, 8 KiB: the maximum size of [`Level::Totals`].
pub const MIN_LIMIT: usize = 8 << 10;
/// Bytes of names of failed tests that each entry keeps at the first level. A name has about 100
/// bytes, and twenty names are enough to see what is going wrong.
const SOME_NAMES: usize = 2 << 10;
/// Characters of each reason that the first level keeps.
const SHORT_REASON: usize = 120;
/// How many entries in trouble to keep when not all of them fit, tried in this order.
const TROUBLED: [usize; 4] = [400, 100, 20, 0];
/// The silence after which a worker may be in trouble: three times the interval of 30 s between its
/// heartbeats.
const SILENT: SignedDuration = SignedDuration::from_secs(90);
/// The fewest bytes of an entry: its keys without values.
const MIN_ENTRY_BYTES: usize = 75;
/// Characters of an unknown status word that the last level keeps.
const MAX_WORD: usize = 64;

/// How much of a status was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing was left out.
    Full,
    /// Messages, and some or all names of failed tests, were left out. Their counts remain.
    Names,
    /// Results that were received and passed are folded into one entry per plugin. Totals of plugins
    /// have no counts.
    Passed,
    /// All entries that are not in trouble are folded, one entry per plugin, status and result.
    Healthy,
    /// Entries in trouble are folded too, except for the first ones that fit.
    Plugins,
    /// All plugins are folded, one entry per status and standard result.
    Totals,
}

impl Level {
    /// Returns the level as written under the key `compacted`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Names => "names",
            Self::Passed => "passed",
            Self::Healthy => "healthy",
            Self::Plugins => "plugins",
            Self::Totals => "totals",
        }
    }
}

/// A status that fits a size limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// The status as one line of JSON.
    pub json: String,
    /// How much of the status was left out.
    pub level: Level,
}

/// Returns `status` as JSON of at most `limit_bytes` bytes, with `heartbeat` as the time of
/// writing. Limits below [`MIN_LIMIT`] are raised to it.
///
/// The number of results by status and the verdict on the run are the same at every level. An entry
/// that represents several results counts them under `folded`, and has `<n> nodes` in place of the
/// node.
pub fn compact(status: &RunStatus, heartbeat: Timestamp, limit_bytes: usize) -> Compacted {
    let limit = limit_bytes.max(MIN_LIMIT);
    let entries = status.plugins.as_deref().unwrap_or_default();
    let mut shown = RunStatus { heartbeat: Some(heartbeat), compacted: None, ..status.without_plugins() };
    // Entries that are too many to fit are not copied.
    let most = limit / MIN_ENTRY_BYTES;
    let at = |shown: &mut RunStatus, level: Level| {
        shown.compacted = (level > Level::Full).then(|| level.as_str().to_owned());
        fitting(shown, limit).map(|json| Compacted { json, level })
    };
    if entries.len() <= most {
        shown.plugins.clone_from(&status.plugins);
        if let Some(compacted) = at(&mut shown, Level::Full) {
            return compacted;
        }
        for kept in [Some(SOME_NAMES), None] {
            drop_names(&mut shown, kept);
            if let Some(compacted) = at(&mut shown, Level::Names) {
                return compacted;
            }
        }
    }
    shown.totals.values_mut().for_each(drop_counts);
    let folded = |shown: &mut RunStatus, level: Level, folds: &mut dyn FnMut(&PluginStatus) -> bool| {
        shown.plugins = Some(fold(entries, most, folds)?);
        drop_names(shown, None);
        at(shown, level)
    };
    if let Some(compacted) = folded(&mut shown, Level::Passed, &mut has_passed) {
        return compacted;
    }
    let troubled = |entry: &PluginStatus| is_in_trouble(entry, heartbeat);
    if let Some(compacted) = folded(&mut shown, Level::Healthy, &mut |entry: &PluginStatus| !troubled(entry)) {
        return compacted;
    }
    for kept in TROUBLED {
        let mut left = kept;
        let mut folds = |entry: &PluginStatus| {
            let keep = left > 0 && troubled(entry);
            left -= usize::from(keep);
            !keep
        };
        if let Some(compacted) = folded(&mut shown, Level::Plugins, &mut folds) {
            return compacted;
        }
    }
    (shown.plugins, shown.totals) = fold_plugins(entries, &shown);
    last_level(shown, limit)
}

/// Leaves out everything that a status need not have, in addition to the entries.
fn last_level(mut shown: RunStatus, limit: usize) -> Compacted {
    shown.compacted = Some(Level::Totals.as_str().to_owned());
    // There may be as many of these as plugins. A reader of this level needs the number of missing
    // results.
    shown.skipped.clear();
    shown.launched.clear();
    if let RunPhase::Other(word) = &shown.status {
        shown.status = RunPhase::Other(word.chars().take(MAX_WORD).collect());
    }
    if fitting(&shown, limit).is_none() {
        shown.verdicts = shown.verdicts.as_ref().map(one_verdict);
    }
    if fitting(&shown, limit).is_none() {
        shown.failure = shown.failure.as_ref().map(RunFailure::short);
        shown.delivery = shown.delivery.as_deref().map(short);
    }
    // Serializing maps with string keys cannot fail. If it did, readers would see a run without a
    // plan.
    let json = serde_json::to_string(&shown).unwrap_or_else(|_| "{}".to_owned());
    Compacted { json, level: Level::Totals }
}

fn fitting(status: &RunStatus, limit: usize) -> Option<String> {
    let mut json = Bounded { bytes: Vec::new(), limit };
    serde_json::to_writer(&mut json, status).ok()?;
    String::from_utf8(json.bytes).ok()
}

/// Bytes up to a limit. The status of thousands of results is not written to its end, only to see that
/// it is too large.
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for Bounded {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.len() > self.limit.saturating_sub(self.bytes.len()) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps `kept` bytes of names and a short reason in each entry. With `None`, drops names, messages
/// and reasons.
fn drop_names(status: &mut RunStatus, kept: Option<usize>) {
    let short = |reason: &Option<String>| reason.as_deref().map(|reason| excerpt(reason, SHORT_REASON));
    for entry in status.plugins.iter_mut().flatten() {
        entry.reason = if kept.is_some() { short(&entry.reason) } else { None };
    }
    status.totals.values_mut().for_each(|total| total.reason = short(&total.reason));
    for progress in status.plugins.iter_mut().flatten().filter_map(|entry| entry.progress.as_mut()) {
        // Names of errors do not count as failures, so they must not become omitted failures.
        progress.errors.clear();
        progress.trim_names(kept.unwrap_or(0));
        if kept.is_none() {
            // An empty name has no bytes and would survive any trimming.
            progress.omitted = progress.failed();
            progress.failures.clear();
            progress.msg.clear();
        }
    }
}

fn drop_counts(total: &mut PluginTotal) {
    (total.status, total.counts) = (class_of(seen_in(total)), None);
}

fn has_passed(entry: &PluginStatus) -> bool {
    entry.status == EntryStatus::Complete && entry.result_status.as_ref().is_some_and(is_harmless)
}

fn is_harmless(status: &Status) -> bool {
    matches!(status, Status::Passed | Status::Skipped | Status::NotRead)
}

fn is_in_trouble(entry: &PluginStatus, now: Timestamp) -> bool {
    match entry.status {
        EntryStatus::Failed | EntryStatus::TimedOut => true,
        EntryStatus::Complete => class(entry).is_some_and(|class| !is_harmless(&class)),
        EntryStatus::Running | EntryStatus::Other(_) => {
            entry.last_heartbeat.is_none_or(|heard| now.duration_since(heard) > SILENT)
        }
    }
}

/// Folds the entries for which `folds` returns true, if they agree in plugin, status, result and
/// class. An entry without a partner stays unchanged. Returns `None` if more than `most` remain.
fn fold(
    entries: &[PluginStatus],
    most: usize,
    mut folds: impl FnMut(&PluginStatus) -> bool,
) -> Option<Vec<PluginStatus>> {
    let mut folded: Vec<PluginStatus> = Vec::new();
    let mut places = HashMap::new();
    for entry in entries {
        let key = (entry.plugin.as_str(), entry.status.as_str(), entry.result_status.as_ref(), class(entry));
        let length = folded.len();
        let place = folds(entry).then(|| *places.entry(key).or_insert(length));
        match place.and_then(|place| folded.get_mut(place)) {
            Some(into) => add(into, entry),
            None if length >= most => return None,
            None => folded.push(entry.clone()),
        }
    }
    Some(folded)
}

fn add(into: &mut PluginStatus, entry: &PluginStatus) {
    let count = into.count().saturating_add(entry.count());
    into.folded = Some(count);
    into.node = format!("{count} nodes");
    into.progress = None;
    into.reason = None;
    // The oldest heartbeat is the relevant one. If one entry has none, the folded entry has none.
    into.last_heartbeat = into.last_heartbeat.zip(entry.last_heartbeat).map(|(a, b)| a.min(b));
    match (&mut into.result_counts, &entry.result_counts) {
        (Some(sums), Some(counts)) => {
            for (status, count) in counts {
                let sum = sums.entry(status.clone()).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        (sums @ None, Some(counts)) => *sums = Some(counts.clone()),
        (_, None) => {}
    }
}

/// The name that replaces the plugins with a verdict when there is no room for each. No plugin can
/// have this name.
pub const ALL_JUDGED: &str = "all judged";

fn one_verdict(verdicts: &BTreeMap<String, VerdictSummary>) -> BTreeMap<String, VerdictSummary> {
    let has = |status| verdicts.values().any(|verdict| verdict.status == status);
    let status = [VerdictStatus::Failed, VerdictStatus::Unknown].into_iter().find(|status| has(*status));
    let sum = |of: fn(&VerdictSummary) -> u64| verdicts.values().map(of).fold(0, u64::saturating_add);
    let one = VerdictSummary {
        status: status.unwrap_or(VerdictStatus::Passed),
        failures: sum(|verdict| verdict.failures),
        excused: sum(|verdict| verdict.excused),
        counting: sum(|verdict| verdict.counting),
        unknown: sum(|verdict| verdict.unknown),
        checks: sum(|verdict| verdict.checks),
        checks_failed: sum(|verdict| verdict.checks_failed),
        checks_unknown: sum(|verdict| verdict.checks_unknown),
        judges_failed: sum(|verdict| verdict.judges_failed),
        classes: BTreeMap::new(),
        reasons: BTreeMap::new(),
    };
    [(ALL_JUDGED.to_owned(), one)].into()
}

/// Returns one entry per status and standard result over all plugins, at most 4 × 8, and one total
/// for all plugins with a total in `status`, which also has the verdicts.
fn fold_plugins(
    entries: &[PluginStatus],
    status: &RunStatus,
) -> (Option<Vec<PluginStatus>>, BTreeMap<String, PluginTotal>) {
    let ran = plugins_that_ran(entries, &status.totals);
    let plain_class = |plugin: &str, class: Option<Status>| match class {
        // Once plugins are folded, a reader can no longer see whether skipped results were all that
        // the plugin had.
        Some(Status::Skipped) if ran.contains(plugin) => Some(Status::Passed),
        Some(Status::Skipped) => Some(Status::Unknown),
        other => other,
    };
    // A verdict is looked up by the plugin's name, which is dropped here.
    let verdict = |plugin: &str| status.verdicts.as_ref().and_then(|verdicts| verdicts.get(plugin));
    let judged = |plugin: &str, class: Option<Status>| match verdict(plugin) {
        Some(verdict) => Some(judged_class(verdict.status, class)),
        None => class,
    };
    let mut all = Seen::default();
    for (plugin, total) in &status.totals {
        let class = plain_class(plugin, Some(class_of(seen_in(total))));
        all.look_at(&judged(plugin, class).unwrap_or_default(), None);
    }
    let plain: Vec<PluginStatus> = entries
        .iter()
        .map(|entry| PluginStatus {
            plugin: String::new(),
            node: String::new(),
            status: match &entry.status {
                // An unknown status is neither complete nor given up.
                EntryStatus::Other(_) => EntryStatus::Running,
                known => known.clone(),
            },
            result_status: match (&entry.status, plain_class(&entry.plugin, class(entry))) {
                (EntryStatus::Complete, class) => judged(&entry.plugin, class),
                (_, class) => class,
            },
            result_counts: None,
            progress: None,
            last_heartbeat: entry.last_heartbeat,
            reason: None,
            folded: Some(entry.count()),
        })
        .collect();
    let plugins = entries.iter().map(|entry| entry.plugin.as_str()).chain(status.totals.keys().map(String::as_str));
    let name = format!("{} plugins", plugins.collect::<BTreeSet<_>>().len());
    let mut sums = fold(&plain, usize::MAX, |_| true).unwrap_or_default();
    for sum in &mut sums {
        sum.plugin.clone_from(&name);
        sum.node = format!("{} nodes", sum.count());
    }
    let total = PluginTotal { status: class_of(all), ..PluginTotal::default() };
    let total = (!status.totals.is_empty()).then_some((name, total));
    (Some(sums), total.into_iter().collect())
}

/// Returns the plugins with a result that did not fail.
fn plugins_that_ran<'a>(entries: &'a [PluginStatus], totals: &'a BTreeMap<String, PluginTotal>) -> BTreeSet<&'a str> {
    let good = entries.iter().filter(|entry| seen(entry).good).map(|entry| entry.plugin.as_str());
    good.chain(totals.iter().filter(|(_, total)| seen_in(total).good).map(|(plugin, _)| plugin.as_str())).collect()
}

/// Returns a result status for a plugin with a verdict that leads to the same verdict on the run.
fn judged_class(verdict: VerdictStatus, class: Option<Status>) -> Status {
    match (verdict, class) {
        (VerdictStatus::Passed, _) => Status::Passed,
        (VerdictStatus::Failed, _) => Status::Failed,
        (VerdictStatus::Unknown, None | Some(Status::Unknown | Status::NotRead)) => Status::Unknown,
        (VerdictStatus::Unknown, Some(Status::Custom(text))) if text == NOTHING => Status::Unknown,
        (VerdictStatus::Unknown, Some(_)) => Status::Custom(PARTLY_UNKNOWN.to_owned()),
    }
}

/// A status with both known and unknown results.
const PARTLY_UNKNOWN: &str = "passed: 1, unknown: 1";
/// A status whose counts are all zero.
const NOTHING: &str = "passed: 0";

/// Reduces the result to one of a few statuses that lead to the same verdict. Returns `None` if
/// there is no result.
fn class(entry: &PluginStatus) -> Option<Status> {
    entry.result_status.as_ref()?;
    Some(class_of(seen(entry)))
}

/// Returns one of a few statuses that lead to the same verdict as what was seen.
fn class_of(seen: Seen) -> Status {
    match seen {
        Seen { timeout: true, .. } => Status::Timeout,
        Seen { failed: true, .. } => Status::Failed,
        Seen { unknown: true, good: true, .. } => Status::Custom(PARTLY_UNKNOWN.to_owned()),
        Seen { unknown: true, .. } => Status::Unknown,
        Seen { good: true, .. } => Status::Passed,
        Seen { skipped: true, .. } => Status::Skipped,
        Seen { not_read: true, .. } => Status::NotRead,
        // The counts are all zero: nothing is known, and no verdict exists.
        Seen { .. } => Status::Custom(NOTHING.to_owned()),
    }
}

fn seen(entry: &PluginStatus) -> Seen {
    let mut seen = Seen::default();
    seen.look_at_entry(entry);
    seen
}

fn seen_in(total: &PluginTotal) -> Seen {
    let mut seen = Seen::default();
    seen.look_at(&total.status, total.counts.as_ref());
    seen
}

#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
