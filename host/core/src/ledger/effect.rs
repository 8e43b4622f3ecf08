//! The effects that a ledger requests, and the reasons for which it rejects events.

use crate::ledger::error_record::ErrorRecord;
use crate::name::{PluginName, ResultKey};

/// An action that the aggregator carries out after an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The result was received and stored. Each key yields either this or [`Effect::ResultFailed`],
    /// once.
    ResultReceived {
        /// The key of the result.
        key: ResultKey,
    },
    /// The result will not arrive. Write `error` to its `error.json`.
    ResultFailed {
        /// The key of the result.
        key: ResultKey,
        /// The error that replaces the result.
        error: ErrorRecord,
    },
    /// Every expected result of the plugin was received or has failed, so it can be post-processed.
    /// Occurs once per plugin.
    PluginComplete {
        /// The name of the plugin.
        plugin: PluginName,
    },
    /// The plugin was skipped and needs no further action. Replaces [`Effect::PluginComplete`].
    PluginSkipped {
        /// The name of the plugin.
        plugin: PluginName,
    },
    /// Every plugin is complete. Occurs once, after planning: see [`super::Ledger::apply`].
    RunComplete,
    /// The status has changed. Heartbeats alone do not cause this effect, because thousands of
    /// workers would then cause a write each.
    StatusChanged,
}

/// Why the ledger rejected an event. The ledger is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The result is not expected (HTTP status 403).
    #[error("result `{0}` is not expected in this run")]
    Unexpected(ResultKey),
    /// The result, or an error in its place, is already recorded (HTTP status 409).
    #[error("result `{0}` was already received")]
    AlreadyReceived(ResultKey),
    /// Another upload of this result is in progress. The client may retry later.
    #[error("result `{0}` is being uploaded by another request: try again when that has ended")]
    Busy(ResultKey),
    /// The upload is not the current one.
    #[error("upload {upload} of result `{key}` is not the one under way")]
    StaleUpload {
        /// The key of the result.
        key: ResultKey,
        /// The number of the rejected upload.
        upload: u64,
    },
    /// The plugin is not planned.
    #[error("plugin `{0}` is not part of this run")]
    UnknownPlugin(PluginName),
    /// The plugin is already planned.
    #[error("plugin `{0}` is already planned")]
    AlreadyPlanned(PluginName),
    /// The key belongs to another plugin or occurs twice.
    #[error("result `{key}` cannot be planned for plugin `{plugin}`: it belongs to another plugin or is named twice")]
    BadPlan {
        /// The name of the plugin.
        plugin: PluginName,
        /// The invalid key.
        key: ResultKey,
    },
    /// The run expects more results than a ledger can hold.
    #[error("the run expects {0} results, more than {max}", max = super::MAX_EXPECTED)]
    TooMany(usize),
    /// The plugin was launched, is complete, or was already skipped.
    #[error("plugin `{0}` cannot be skipped: it was launched, or nothing of it is expected any more")]
    NotSkippable(PluginName),
    /// The run is complete, so nothing can be planned.
    #[error("plugin `{0}` cannot be planned: the run is already complete")]
    RunOver(PluginName),
}

/// The maximum number of expected results of one run: 5,000 nodes with 40 plugins each, about 100
/// MB of ledger.
pub const MAX_EXPECTED: usize = 200_000;
