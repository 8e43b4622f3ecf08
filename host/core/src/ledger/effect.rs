//! What a ledger wants done, and what it refuses.

use crate::ledger::error_record::ErrorRecord;
use crate::name::{PluginName, ResultKey};

/// What the aggregator has to do after an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The result is in. Each key yields either this or [`Effect::ResultFailed`], once.
    ResultReceived {
        /// The result.
        key: ResultKey,
    },
    /// The result will not arrive: write `error` to its `error.json`.
    ResultFailed {
        /// The result.
        key: ResultKey,
        /// What stands in its place.
        error: ErrorRecord,
    },
    /// Every expected result of the plugin is in or has failed: it can be post-processed. Once per plugin.
    PluginComplete {
        /// The plugin.
        plugin: PluginName,
    },
    /// The plugin is part of the run no longer: nothing is to be done for it. In the place of [`Effect::PluginComplete`].
    PluginWithdrawn {
        /// The plugin.
        plugin: PluginName,
    },
    /// Every plugin is complete. Once, and only after the planning: see [`super::Ledger::apply`].
    RunComplete,
    /// The status shows something new. Heartbeats alone do not say so: thousands of workers would cause a write each.
    StatusChanged,
}

/// Why an event was not accepted. The ledger is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody expects this result (status 403).
    #[error("result `{0}` is not expected in this run")]
    Unexpected(ResultKey),
    /// The result, or an error in its place, is recorded (status 409).
    #[error("result `{0}` was already received")]
    AlreadyReceived(ResultKey),
    /// Another upload of this result is under way; it may be tried again later.
    #[error("result `{0}` is being uploaded by another request: try again when that has ended")]
    Busy(ResultKey),
    /// The upload is not the one that is under way.
    #[error("upload {upload} of result `{key}` is not the one under way")]
    StaleUpload {
        /// The result.
        key: ResultKey,
        /// The upload that was named.
        upload: u64,
    },
    /// The plugin was not planned.
    #[error("plugin `{0}` is not part of this run")]
    UnknownPlugin(PluginName),
    /// The plugin was planned before.
    #[error("plugin `{0}` is already planned")]
    AlreadyPlanned(PluginName),
    /// A key of another plugin, or one that was named before.
    #[error("result `{key}` cannot be planned for plugin `{plugin}`: it belongs to another plugin or is named twice")]
    BadPlan {
        /// The plugin that was planned.
        plugin: PluginName,
        /// The key.
        key: ResultKey,
    },
    /// The run expects more results than the ledger holds.
    #[error("the run expects {0} results, more than {max}", max = super::MAX_EXPECTED)]
    TooMany(usize),
    /// The plugin was launched, is complete, or was withdrawn before.
    #[error("plugin `{0}` cannot be withdrawn: it was launched, or nothing of it is expected any more")]
    NotWithdrawable(PluginName),
    /// The run is complete: nothing can be planned any more.
    #[error("plugin `{0}` cannot be planned: the run is already complete")]
    RunOver(PluginName),
}

/// Expected results of one run. 5,000 nodes with 40 plugins each; about 100 MB of ledger.
pub const MAX_EXPECTED: usize = 200_000;
