//! What happens to a ledger.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::judgement::VerdictSummary;
use crate::ledger::error_record::ErrorRecord;
use crate::name::{PluginName, ResultKey};
use crate::progress::ProgressUpdate;
use crate::run_status::TarInfo;
use crate::status::Status;

/// Something that happened. Journalled, so the form is stable: events and keys are only added, and a reader ignores keys that it
/// does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// These results are expected of a plugin. Each plugin is planned once, before it is launched.
    Planned {
        /// The plugin.
        plugin: PluginName,
        /// Its results, in the order in which the status shows them. None: the plugin is complete at once.
        keys: Vec<ResultKey>,
    },
    /// The driver of a plugin was started.
    Launched {
        /// The plugin.
        plugin: PluginName,
    },
    /// The driver of a plugin could not be started: every missing result of the plugin has failed.
    LaunchFailed {
        /// The plugin.
        plugin: PluginName,
        /// Why, in one sentence.
        reason: String,
    },
    /// A plugin is not needed after all: its results are expected no longer, and the run goes on as if it had not been planned.
    Withdrawn {
        /// The plugin.
        plugin: PluginName,
        /// Why, in one sentence.
        reason: String,
    },
    /// A worker said that it is there.
    Hello {
        /// The result that the worker will send.
        key: ResultKey,
        /// Where the worker spoke from.
        from: String,
    },
    /// A worker said that it is still there.
    Heartbeat {
        /// The result that the worker will send.
        key: ResultKey,
    },
    /// What currently keeps a result from arriving, as far as the dispatcher can see. Never
    /// journalled: a restarted dispatcher looks again.
    Trouble {
        /// The result.
        key: ResultKey,
        /// One sentence; `None` once nothing is wrong any more.
        reason: Option<String>,
    },
    /// A plugin said how far it is.
    Progress {
        /// The result that the plugin works on.
        key: ResultKey,
        /// What it said.
        update: ProgressUpdate,
    },
    /// An upload began.
    UploadStarted {
        /// The result that is being uploaded.
        key: ResultKey,
        /// The upload; the aggregator gives every upload a number of its own.
        upload: u64,
    },
    /// An upload is complete and verified, and is about to be moved into its place. Until it ends, nothing else decides the result.
    UploadClaimed {
        /// The result.
        key: ResultKey,
        /// The upload.
        upload: u64,
    },
    /// An upload is complete, verified and in its place.
    UploadStored {
        /// The result.
        key: ResultKey,
        /// The upload.
        upload: u64,
        /// What was stored.
        stored: Stored,
    },
    /// An upload broke off or could not be stored. It may be tried again.
    UploadFailed {
        /// The result.
        key: ResultKey,
        /// The upload.
        upload: u64,
        /// Why, in one sentence.
        reason: String,
    },
    /// A result will not arrive.
    Failed {
        /// The result.
        key: ResultKey,
        /// What stands in its place.
        error: ErrorRecord,
    },
    /// The time of a plugin is over: every missing result of the plugin has failed with [`super::TIMEOUT_ERROR`].
    TimedOut {
        /// The plugin.
        plugin: PluginName,
    },
    /// The files of one result were turned into a tree.
    PostProcessed {
        /// The result.
        key: ResultKey,
        /// The status of the tree.
        status: Status,
        /// Its leaves by status.
        counts: BTreeMap<String, u64>,
    },
    /// The tree of a whole plugin is finished.
    PluginPostProcessed {
        /// The plugin.
        plugin: PluginName,
        /// The status of the tree.
        status: Status,
        /// Its leaves by status.
        counts: BTreeMap<String, u64>,
    },
    /// Judges have spoken on the tree of a whole plugin.
    PluginJudged {
        /// The plugin.
        plugin: PluginName,
        /// What they made of it.
        summary: VerdictSummary,
    },
    /// The archive exists.
    Archived {
        /// The archive.
        tar: TarInfo,
    },
    /// Somebody ended the run: what is missing stays missing, what was gathered is kept.
    Interrupted,
    /// A new process took over from one that ended without warning: uploads that were under way are gone.
    Restarted,
}

impl Event {
    /// Whether the journal keeps it. A restarted aggregator learns the rest again from workers and
    /// the cluster; heartbeats of every node every few seconds would be most of the journal.
    #[must_use]
    pub fn is_journalled(&self) -> bool {
        !matches!(self, Self::Hello { .. } | Self::Heartbeat { .. } | Self::Trouble { .. } | Self::Progress { .. })
    }
}

/// An event and when it happened: one line of the journal, `{"at":"...","event":"...",...}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What an upload left on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// How the body was read.
    pub kind: StoredKind,
    /// Files stored.
    pub files: u64,
    /// Bytes of these files together.
    pub bytes: u64,
    /// Digest of the body as it was sent: 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// How the body of an upload was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredKind {
    /// A gzip-compressed tar, unpacked.
    Archive,
    /// One file, stored as it is.
    File,
}
