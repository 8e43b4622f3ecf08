//! The events of a ledger.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::judgement::VerdictSummary;
use crate::ledger::error_record::ErrorRecord;
use crate::name::{PluginName, ResultKey};
use crate::progress::ProgressUpdate;
use crate::run_status::TarInfo;
use crate::status::Status;

/// An event of a run. Events are journaled, so their form is stable: events and keys are only
/// added, and a reader ignores unknown keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The expected results of a plugin. Each plugin is planned once, before it is launched.
    Planned {
        /// The name of the plugin.
        plugin: PluginName,
        /// The expected results, in the order in which the status shows them. Without any, the
        /// plugin is complete at once.
        keys: Vec<ResultKey>,
    },
    /// The plugin was launched.
    Launched {
        /// The name of the plugin.
        plugin: PluginName,
    },
    /// The plugin could not be launched, so all its missing results have failed.
    LaunchFailed {
        /// The name of the plugin.
        plugin: PluginName,
        /// The reason, as one sentence.
        reason: String,
    },
    /// A plugin is skipped because it is not needed. Its results are no longer expected, and the
    /// run continues as if it had not been planned. Earlier journals call the event `withdrawn`.
    #[serde(alias = "withdrawn")]
    Skipped {
        /// The name of the plugin.
        plugin: PluginName,
        /// The reason, as one sentence.
        reason: String,
    },
    /// A worker has started and reported to the aggregator.
    Hello {
        /// The key of the result that the worker will send.
        key: ResultKey,
        /// The address of the worker.
        from: String,
    },
    /// A worker reported that it is alive.
    Heartbeat {
        /// The key of the result that the worker will send.
        key: ResultKey,
    },
    /// What currently prevents a result from arriving, as far as the dispatcher can see. This event
    /// is not journaled, because a restarted dispatcher checks again.
    Problem {
        /// The key of the result.
        key: ResultKey,
        /// The reason as one sentence, or `None` once the problem is gone.
        reason: Option<String>,
    },
    /// A plugin reported its progress.
    Progress {
        /// The key of the result that the plugin produces.
        key: ResultKey,
        /// The reported progress.
        update: ProgressUpdate,
    },
    /// An upload started.
    UploadStarted {
        /// The key of the result.
        key: ResultKey,
        /// The number of the upload, unique in the run.
        upload: u64,
    },
    /// An upload is complete and verified, and is about to be moved into place. Until the move
    /// ends, no other event decides the result.
    UploadClaimed {
        /// The key of the result.
        key: ResultKey,
        /// The number of the upload.
        upload: u64,
    },
    /// An upload is complete, verified and in place.
    UploadStored {
        /// The key of the result.
        key: ResultKey,
        /// The number of the upload.
        upload: u64,
        /// What was stored.
        stored: Stored,
    },
    /// An upload was interrupted or could not be stored. It may be retried.
    UploadFailed {
        /// The key of the result.
        key: ResultKey,
        /// The number of the upload.
        upload: u64,
        /// The reason, as one sentence.
        reason: String,
    },
    /// A result will not arrive.
    Failed {
        /// The key of the result.
        key: ResultKey,
        /// The error that replaces the result.
        error: ErrorRecord,
    },
    /// The plugin timed out: every missing result of it has failed with [`super::TIMEOUT_ERROR`].
    TimedOut {
        /// The name of the plugin.
        plugin: PluginName,
    },
    /// The files of one result were post-processed into a tree.
    PostProcessed {
        /// The key of the result.
        key: ResultKey,
        /// The status of the tree.
        status: Status,
        /// The number of leaves by status.
        counts: BTreeMap<String, u64>,
    },
    /// The tree of the whole plugin is complete.
    PluginPostProcessed {
        /// The name of the plugin.
        plugin: PluginName,
        /// The status of the tree.
        status: Status,
        /// The number of leaves by status.
        counts: BTreeMap<String, u64>,
    },
    /// The judges of a plugin have finished.
    PluginJudged {
        /// The name of the plugin.
        plugin: PluginName,
        /// The summary of the verdict.
        summary: VerdictSummary,
    },
    /// The archive was written.
    Archived {
        /// The archive.
        tar: TarInfo,
    },
    /// The run was interrupted. Missing results stay missing, and what was gathered is kept.
    Interrupted,
    /// A new process replaced one that ended unexpectedly. Uploads that were in progress are lost.
    Restarted,
}

impl Event {
    /// Returns whether the journal keeps this event.
    ///
    /// A restarted aggregator learns the other events again from workers and the cluster.
    /// Heartbeats of every node every few seconds would take up most of the journal.
    #[must_use]
    pub fn is_journalled(&self) -> bool {
        !matches!(self, Self::Hello { .. } | Self::Heartbeat { .. } | Self::Problem { .. } | Self::Progress { .. })
    }
}

/// An event with its time, one line of the journal: `{"at":"...","event":"...",...}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When the event happened.
    pub at: Timestamp,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// What an upload stored on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// How the body was read.
    pub kind: StoredKind,
    /// The number of stored files.
    pub files: u64,
    /// The total size of these files in bytes.
    pub bytes: u64,
    /// The SHA-256 digest of the body as sent: 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// How the body of an upload was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredKind {
    /// A gzip-compressed tar, which was unpacked.
    Archive,
    /// A single file, stored unchanged.
    File,
}
