//! The annotations on the pods of plugins.

use std::collections::HashMap;

use jiff::Timestamp;
use plumbline_core::ledger::{KeyState, Ledger};
use serde_json::json;

/// The state of a worker's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WorkerPhase {
    /// Sorted by the order of writing: final states come before initial ones.
    TimedOut,
    Failed,
    Complete,
    Running,
}

impl WorkerPhase {
    fn as_str(self) -> &'static str {
        match self {
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
            Self::Complete => "complete",
            Self::Running => "running",
        }
    }
}

/// The known state of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkerStatus {
    pub(super) word: WorkerPhase,
    pub(super) heard: Option<Timestamp>,
}

impl WorkerStatus {
    /// Returns the annotation as JSON.
    pub(super) fn to_json(self) -> String {
        let mut all = json!({"status": self.word.as_str()});
        if let (Some(heard), Some(all)) = (self.heard, all.as_object_mut()) {
            all.insert("last-heartbeat".to_owned(), json!(heard));
        }
        all.to_string()
    }
}

/// The known states by plugin and node.
pub(super) type Index = HashMap<(String, String), WorkerStatus>;

/// Returns the ledger's state of all workers.
pub(super) fn index(ledger: &Ledger) -> Index {
    let known = |key| {
        let word = match ledger.state(key)? {
            KeyState::Received { .. } => WorkerPhase::Complete,
            KeyState::Failed { .. } if ledger.error(key).is_some_and(|error| error.is_timeout()) => {
                WorkerPhase::TimedOut
            }
            KeyState::Failed { .. } => WorkerPhase::Failed,
            _ => WorkerPhase::Running,
        };
        Some(WorkerStatus { word, heard: ledger.last_heard(key) })
    };
    ledger.keys().filter_map(|key| Some(((key.plugin.to_string(), key.node.to_string()), known(key)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_annotation_leaves_out_what_is_not_known() {
        let running = WorkerStatus { word: WorkerPhase::Running, heard: Some(Timestamp::UNIX_EPOCH) };
        assert_eq!(WorkerStatus { word: WorkerPhase::TimedOut, heard: None }.to_json(), r#"{"status":"timed_out"}"#);
        assert_eq!(running.to_json(), r#"{"last-heartbeat":"1970-01-01T00:00:00Z","status":"running"}"#);
    }
}
