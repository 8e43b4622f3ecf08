//! The status of a run in its public form: one JSON object (docs/protocol.md, "Status").

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::judgement::VerdictSummary;
use crate::progress::{NEVER, ProgressUpdate, or_never};
use crate::status::Status;
use crate::text::{excerpt, printable};

/// The maximum length of [`PluginStatus::reason`] in characters.
pub const MAX_REASON: usize = 400;

/// The maximum length of a reason in bytes, 2 KiB: an error and its causes. It shares an annotation
/// with the results of thousands of nodes.
pub const MAX_REASON_BYTES: usize = 2 << 10;
/// The maximum length of a hint in bytes, 1 KiB.
pub const MAX_HINT_BYTES: usize = 1 << 10;
/// The length in bytes to which a reason is cut when nothing else fits: what failed, mostly without
/// the cause.
const SHORT_BYTES: usize = 512;
const CUT: char = '…';

/// The status of a run. Parsing is lenient: keys may be missing or `null`, and unknown ones are
/// ignored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunStatus {
    /// One entry per expected result, in the order of the plan. `None` (written `null`) before
    /// there is a plan.
    pub plugins: Option<Vec<PluginStatus>>,
    /// The phase of the run.
    pub status: RunPhase,
    /// The archive. All values are zero until the run is complete.
    #[serde(rename = "tar-info")]
    pub tar_info: TarInfo,
    /// Whether the run was interrupted. Plumbline only, omitted if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Why the run failed as a whole, was interrupted, or does not start or continue yet, if no
    /// result shows it. Plumbline only, omitted if there is nothing to report.
    #[serde(deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub failure: Option<RunFailure>,
    /// How much was left out to meet a size limit ([`crate::compact::Level`] as text). `None` means
    /// nothing. Plumbline only.
    #[serde(deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub compacted: Option<String>,
    /// Where the archive was uploaded, or why the upload failed. Plumbline only, omitted if no
    /// upload was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<String>,
    /// When the aggregator wrote the status. An old heartbeat distinguishes a dead aggregator from
    /// a quiet one. Plumbline only.
    #[serde(deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Timestamp>,
    /// The ID of the run. Plumbline only.
    #[serde(deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The skipped plugins, with reasons. Plumbline only, omitted if there are none.
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, String>,
    /// When each plugin was launched. Plumbline only, omitted if none was.
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "BTreeMap::is_empty")]
    pub launched: BTreeMap<String, Timestamp>,
    /// The results of plugins as a whole, by plugin, if their only entry does not show them.
    /// Plumbline only, omitted if there are none.
    #[serde(deserialize_with = "or_unknown", skip_serializing_if = "BTreeMap::is_empty")]
    pub totals: BTreeMap<String, PluginTotal>,
    /// The verdicts of judges, by plugin. Plumbline only, omitted if there are none.
    #[serde(deserialize_with = "verdicts", skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<BTreeMap<String, VerdictSummary>>,
}

/// The result of a plugin as a whole. It may be worse than the results of its nodes, because a
/// summary is a part of it, and it exists for a plugin without expected results.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginTotal {
    /// The status of the result tree.
    pub status: Status,
    /// The number of leaves of the result tree by status. `None` (left out) in a compacted status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<BTreeMap<String, u64>>,
    /// Why no result is expected, as one line of at most [`MAX_REASON`] characters.
    #[serde(deserialize_with = "short_reason", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The status of one expected result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "PluginStatusRead")]
pub struct PluginStatus {
    /// The name of the plugin. It is not a [`crate::PluginName`], because old runs have names that
    /// are invalid today. Also read from the key `name`.
    pub plugin: String,
    /// The name of the node, or `global`.
    pub node: String,
    /// Whether the result was received.
    pub status: EntryStatus,
    /// The status of the result. `None` (written as an empty string) until it is post-processed.
    #[serde(rename = "result-status", serialize_with = "empty_if_none")]
    pub result_status: Option<Status>,
    /// The number of leaves of the result tree by status. `None` (written `null`) until it is
    /// post-processed.
    #[serde(rename = "result-counts")]
    pub result_counts: Option<BTreeMap<String, u64>>,
    /// The progress that the plugin reported. Boxed, because few of thousands of results have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Box<ProgressUpdate>>,
    /// When its worker last sent a message. Plumbline only, omitted if it never did.
    #[serde(rename = "last-heartbeat", skip_serializing_if = "Option::is_none")]
    pub last_heartbeat: Option<Timestamp>,
    /// Why the result failed, or what prevents it from arriving, as one line of at most
    /// [`MAX_REASON`] characters. Plumbline only, omitted if there is nothing to report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of results that this entry represents, if more than one. Their node is then `<n>
    /// nodes`. Plumbline only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folded: Option<u64>,
}

impl RunStatus {
    /// Returns a copy without the entries of results, of which there may be thousands.
    pub fn without_plugins(&self) -> Self {
        Self {
            plugins: None,
            status: self.status.clone(),
            tar_info: self.tar_info.clone(),
            interrupted: self.interrupted,
            failure: self.failure.clone(),
            compacted: self.compacted.clone(),
            delivery: self.delivery.clone(),
            heartbeat: self.heartbeat,
            run: self.run.clone(),
            totals: self.totals.clone(),
            skipped: self.skipped.clone(),
            launched: self.launched.clone(),
            verdicts: self.verdicts.clone(),
        }
    }

    /// Returns the number of expected results.
    pub fn expected(&self) -> u64 {
        self.count(|_| true)
    }

    /// Returns the number of expected results that are missing, and how many of these timed out.
    pub fn missing(&self) -> (u64, u64) {
        (self.count(|status| *status != EntryStatus::Complete), self.count(|status| *status == EntryStatus::TimedOut))
    }

    fn count(&self, counts: impl Fn(&EntryStatus) -> bool) -> u64 {
        let entries = self.plugins.iter().flatten().filter(|entry| counts(&entry.status));
        entries.map(PluginStatus::count).fold(0, u64::saturating_add)
    }
}

impl EntryStatus {
    /// Returns whether the result was received, or is certain not to arrive.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Complete | Self::Failed | Self::TimedOut)
    }
}

impl PluginStatus {
    /// Returns the number of expected results that this entry represents.
    pub fn count(&self) -> u64 {
        self.folded.unwrap_or(1)
    }
}

fn empty_if_none<S: Serializer>(status: &Option<Status>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(status.as_ref().map_or("", Status::as_str))
}

/// The parsed form of [`PluginStatus`]. Both `plugin` and `name` may be present.
#[derive(Deserialize)]
struct PluginStatusRead {
    plugin: Option<String>,
    name: Option<String>,
    node: Option<String>,
    status: Option<EntryStatus>,
    #[serde(rename = "result-status")]
    result_status: Option<String>,
    #[serde(rename = "result-counts")]
    result_counts: Option<BTreeMap<String, u64>>,
    progress: Option<ProgressUpdate>,
    #[serde(rename = "last-heartbeat")]
    last_heartbeat: Option<Timestamp>,
    #[serde(default, deserialize_with = "or_none")]
    reason: Option<String>,
    #[serde(default, deserialize_with = "or_none")]
    folded: Option<u64>,
}

/// Ignores a value of an unexpected type, because another tool may use the key with another
/// meaning.
fn or_none<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(de: D) -> Result<Option<T>, D::Error> {
    serde_json::Value::deserialize(de).map(|value| serde_json::from_value(value).ok())
}

fn or_empty<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(de: D) -> Result<BTreeMap<String, T>, D::Error> {
    or_none(de).map(Option::unwrap_or_default)
}

/// Reads a mapping from plugins to outcomes. An outcome that cannot be read becomes the default,
/// which is unknown: ignoring it could turn a failure into a success.
fn or_unknown<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned + Default>(
    de: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let values: BTreeMap<String, serde_json::Value> = or_empty(de)?;
    let read = |value| serde_json::from_value(value).unwrap_or_default();
    Ok(values.into_iter().map(|(plugin, value)| (plugin, read(value))).collect())
}

fn verdicts<'de, D: Deserializer<'de>>(de: D) -> Result<Option<BTreeMap<String, VerdictSummary>>, D::Error> {
    let verdicts = or_unknown(de)?;
    Ok((!verdicts.is_empty()).then_some(verdicts))
}

fn short_reason<'de, D: Deserializer<'de>>(de: D) -> Result<Option<String>, D::Error> {
    let reason: Option<String> = or_none(de)?;
    Ok(reason.map(|text| excerpt(&text, MAX_REASON)))
}

impl From<PluginStatusRead> for PluginStatus {
    fn from(read: PluginStatusRead) -> Self {
        Self {
            plugin: read.plugin.or(read.name).unwrap_or_default(),
            node: read.node.unwrap_or_default(),
            status: read.status.unwrap_or_default(),
            result_status: read.result_status.filter(|text| !text.is_empty()).map(Status::from),
            result_counts: read.result_counts,
            progress: read.progress.map(Box::new),
            last_heartbeat: read.last_heartbeat,
            reason: read.reason.map(|text| excerpt(&text, MAX_REASON)),
            folded: read.folded,
        }
    }
}

/// The archive of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TarInfo {
    /// The file name without directories, empty if there is no archive yet.
    pub name: String,
    /// When the archive was completed.
    #[serde(deserialize_with = "or_never")]
    pub created: Timestamp,
    /// The SHA-256 digest of the file: 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// The size of the file in bytes.
    pub size: u64,
}

impl Default for TarInfo {
    fn default() -> Self {
        Self { name: String::new(), created: NEVER, sha256: String::new(), size: 0 }
    }
}

/// Defines an enum that is written as words. An unknown word is kept unchanged.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
            /// A word that this version does not know.
            Other(String),
        }
        impl $name {
            /// Returns the word as written.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(text) => text,
                }
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($word => Self::$variant,)*
                    _ => Self::Other(text),
                }
            }
        }
        impl From<$name> for String {
            fn from(word: $name) -> String {
                match word {
                    $name::Other(text) => text,
                    known => known.as_str().to_owned(),
                }
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// The phase of a run.
    RunPhase {
        /// The run waits for results.
        #[default]
        Running = "running",
        /// Every expected result was received or has failed. The results are being post-processed
        /// and packed.
        PostProcessing = "post-processing",
        /// The archive was written.
        Complete = "complete",
        /// The run failed without an archive.
        Failed = "failed",
    }
}

words! {
    /// The state of an expected result.
    EntryStatus {
        /// The run waits for the result.
        #[default]
        Running = "running",
        /// The result was received.
        Complete = "complete",
        /// The result will not arrive. An error is recorded in its place.
        Failed = "failed",
        /// The result did not arrive in time. The error in its place is a timeout. Sonobuoy writes
        /// `failed` in this case.
        TimedOut = "timed_out",
    }
}

/// Why a run failed as a whole or was interrupted. Both strings have a limited length and are one
/// line, for every writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailure {
    /// What failed, and why.
    #[serde(deserialize_with = "reason_line")]
    pub reason: String,
    /// How to fix it.
    #[serde(default, deserialize_with = "hint_line", skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl RunFailure {
    /// Creates a failure with these strings, cut to [`MAX_REASON_BYTES`] and [`MAX_HINT_BYTES`].
    pub fn new(reason: &str, hint: Option<&str>) -> Self {
        let hint = hint.map(|hint| line(hint, MAX_HINT_BYTES)).filter(|hint| !hint.is_empty());
        Self { reason: line(reason, MAX_REASON_BYTES), hint }
    }

    /// Returns a shorter form for when there is hardly any room.
    pub(crate) fn short(&self) -> Self {
        Self { reason: short(&self.reason), hint: None }
    }
}

pub(crate) fn short(text: &str) -> String {
    line(text, SHORT_BYTES)
}

fn reason_line<'de, D: Deserializer<'de>>(de: D) -> Result<String, D::Error> {
    String::deserialize(de).map(|reason| line(&reason, MAX_REASON_BYTES))
}

fn hint_line<'de, D: Deserializer<'de>>(de: D) -> Result<Option<String>, D::Error> {
    let hint = Option::<String>::deserialize(de)?.map(|hint| line(&hint, MAX_HINT_BYTES));
    Ok(hint.filter(|hint| !hint.is_empty()))
}

/// Returns `text` as one line of at most `limit` bytes. The function is idempotent.
fn line(text: &str, limit: usize) -> String {
    let mut kept = String::new();
    for part in text.lines().map(str::trim).filter(|part| !part.is_empty()) {
        let gap = if kept.is_empty() { "" } else { "; " };
        for c in gap.chars().chain(part.chars().map(printable)) {
            if kept.len() + c.len_utf8() + CUT.len_utf8() > limit {
                kept.push(CUT);
                return kept;
            }
            kept.push(c);
        }
    }
    kept
}

#[cfg(test)]
#[path = "run_status_tests.rs"]
mod tests;
