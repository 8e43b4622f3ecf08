//! The status of a run as others read it: one JSON object (docs/protocol.md, «Status»).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::judgement::VerdictSummary;
use crate::progress::ProgressUpdate;
use crate::run_failure::RunFailure;
use crate::status::Status;
use crate::text::excerpt;
use crate::time::{NEVER, never};

/// Characters of [`PluginStatus::reason`].
pub const MAX_REASON: usize = 400;

/// The status of a run. Reading is lenient: keys may be missing or `null`, unknown ones are ignored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunStatus {
    /// One entry per expected result, in the order of the plan; `None` (written `null`) before there is a plan.
    #[serde(default)]
    pub plugins: Option<Vec<PluginStatus>>,
    /// How far the run is.
    #[serde(default)]
    pub status: RunPhase,
    /// The archive; all zero until the run is complete.
    #[serde(rename = "tar-info", default)]
    pub tar_info: TarInfo,
    /// The run was ended before its time. Ours: left out when false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Why the run failed as a whole, or was ended before its time, where no result says it. Ours: left out when there is nothing to say.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub failure: Option<RunFailure>,
    /// How much was left out to make it fit where it stands ([`crate::compact::Level`] as text); `None`: nothing. Ours.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub compacted: Option<String>,
    /// Where the archive was sent to, or why it could not be sent. Ours: left out when nobody wanted it sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<String>,
    /// When the aggregator wrote it. Ours: an old one tells a dead aggregator from a quiet one.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Timestamp>,
    /// The id of the run. Ours.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Plugins that are part of the run no longer, and why. Ours: left out when there are none.
    #[serde(default, deserialize_with = "or_empty", skip_serializing_if = "BTreeMap::is_empty")]
    pub withdrawn: BTreeMap<String, String>,
    /// When each plugin was launched. Ours: left out when none was.
    #[serde(default, deserialize_with = "or_empty", skip_serializing_if = "BTreeMap::is_empty")]
    pub launched: BTreeMap<String, Timestamp>,
    /// What judges made of plugins, by plugin. Ours: left out when nothing was judged.
    #[serde(default, deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<BTreeMap<String, VerdictSummary>>,
}

/// The status of one expected result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "PluginStatusRead")]
pub struct PluginStatus {
    /// The plugin. Text and not a [`crate::PluginName`]: old runs have names that are refused today. Also read from the key `name`.
    pub plugin: String,
    /// The node, or `global`.
    pub node: String,
    /// Whether the result is in.
    pub status: EntryStatus,
    /// How the result came out; `None` (written as empty text) until it is post-processed.
    #[serde(rename = "result-status", serialize_with = "empty_if_none")]
    pub result_status: Option<Status>,
    /// How many leaves of the result tree have which status; `None` (written `null`) until it is post-processed.
    #[serde(rename = "result-counts")]
    pub result_counts: Option<BTreeMap<String, u64>>,
    /// How far the plugin says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressUpdate>,
    /// When its worker was heard of last. Ours: left out when it never was.
    #[serde(rename = "last-heartbeat", skip_serializing_if = "Option::is_none")]
    pub last_heartbeat: Option<Timestamp>,
    /// Why the result failed, or what keeps it from arriving; at most [`MAX_REASON`] characters on
    /// one line. Ours: left out when there is nothing to report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many results this one entry stands for, if it stands for more than one: their node is `<n> nodes`. Ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folded: Option<u64>,
}

impl RunStatus {
    /// How many expected results there are.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.count(|_| true)
    }

    /// How many expected results did not arrive, and how many of these timed out.
    #[must_use]
    pub fn missing(&self) -> (u64, u64) {
        (self.count(|status| *status != EntryStatus::Complete), self.count(|status| *status == EntryStatus::TimedOut))
    }

    fn count(&self, counts: impl Fn(&EntryStatus) -> bool) -> u64 {
        let entries = self.plugins.iter().flatten().filter(|entry| counts(&entry.status));
        entries.map(PluginStatus::count).fold(0, u64::saturating_add)
    }
}

impl EntryStatus {
    /// The result is in, or it is certain that it will not arrive.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Complete | Self::Failed | Self::TimedOut)
    }
}

impl PluginStatus {
    /// How many expected results this entry stands for.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.folded.unwrap_or(1)
    }
}

fn empty_if_none<S: Serializer>(status: &Option<Status>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(status.as_ref().map_or("", Status::as_str))
}

/// [`PluginStatus`] as it is read: `plugin` and `name` may both be there.
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

/// A value of another type than ours is nobody's loss: the key may mean something else to whoever wrote it.
fn or_none<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(de: D) -> Result<Option<T>, D::Error> {
    serde_json::Value::deserialize(de).map(|value| serde_json::from_value(value).ok())
}

fn or_empty<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(de: D) -> Result<BTreeMap<String, T>, D::Error> {
    or_none(de).map(Option::unwrap_or_default)
}

impl From<PluginStatusRead> for PluginStatus {
    fn from(read: PluginStatusRead) -> Self {
        Self {
            plugin: read.plugin.or(read.name).unwrap_or_default(),
            node: read.node.unwrap_or_default(),
            status: read.status.unwrap_or_default(),
            result_status: read.result_status.filter(|text| !text.is_empty()).map(Status::from),
            result_counts: read.result_counts,
            progress: read.progress,
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
    /// File name without directories; empty when there is no archive yet.
    pub name: String,
    /// When the archive was finished.
    #[serde(default = "never", deserialize_with = "lenient_time")]
    pub created: Timestamp,
    /// Digest of the file: 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Size of the file in bytes.
    pub size: u64,
}

impl Default for TarInfo {
    fn default() -> Self {
        Self { name: String::new(), created: NEVER, sha256: String::new(), size: 0 }
    }
}

fn lenient_time<'de, D: Deserializer<'de>>(de: D) -> Result<Timestamp, D::Error> {
    Option::<Timestamp>::deserialize(de).map(|at| at.unwrap_or(NEVER))
}

/// An enum over words, written as its words; a word that is not known is kept as it is.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $(#[$first_doc:meta])* $first:ident = $first_word:literal, $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $(#[$first_doc])*
            #[default]
            $first,
            $($(#[$variant_doc])* $variant,)*
            /// A word that this version does not know.
            Other(String),
        }
        impl $name {
            /// The word as it is written.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    Self::$first => $first_word,
                    $(Self::$variant => $word,)*
                    Self::Other(text) => text,
                }
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $first_word => Self::$first,
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
    /// How far a run is.
    RunPhase {
        /// Results are awaited.
        Running = "running",
        /// Every expected result is in or has failed; the results are being read and packed.
        PostProcessing = "post-processing",
        /// The archive exists.
        Complete = "complete",
        /// The run broke down without an archive.
        Failed = "failed",
    }
}

words! {
    /// Whether an expected result is in.
    EntryStatus {
        /// It is awaited.
        Running = "running",
        /// It arrived.
        Complete = "complete",
        /// It will not arrive: an error is recorded in its place.
        Failed = "failed",
        /// It did not arrive in time: the error in its place is a timeout. Sonobuoy writes `failed`
        /// here.
        TimedOut = "timed_out",
    }
}

#[cfg(test)]
#[path = "run_status_tests.rs"]
mod tests;
