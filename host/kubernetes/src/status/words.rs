//! What is written on the pods of plugins.

use std::collections::HashMap;

use jiff::Timestamp;
use plumbline_core::ledger::{KeyState, Ledger};
use serde_json::json;

/// How a worker's result stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Word {
    /// In the order in which they are written: an end is told before a beginning.
    TimedOut,
    Failed,
    Complete,
    Running,
}

impl Word {
    fn as_str(self) -> &'static str {
        match self {
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
            Self::Complete => "complete",
            Self::Running => "running",
        }
    }
}

/// What is known of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) word: Word,
    pub(super) heard: Option<Timestamp>,
}

impl Known {
    /// The annotation.
    pub(super) fn to_json(self) -> String {
        let mut all = json!({"status": self.word.as_str()});
        if let (Some(heard), Some(all)) = (self.heard, all.as_object_mut()) {
            all.insert("last-heartbeat".to_owned(), json!(heard));
        }
        all.to_string()
    }
}

/// By plugin and node.
pub(super) type Index = HashMap<(String, String), Known>;

/// What the ledger knows of all workers.
pub(super) fn index(ledger: &Ledger) -> Index {
    let known = |key| {
        let word = match ledger.state(key)? {
            KeyState::Received { .. } => Word::Complete,
            KeyState::Failed { .. } if ledger.error(key).is_some_and(|error| error.is_timeout()) => Word::TimedOut,
            KeyState::Failed { .. } => Word::Failed,
            _ => Word::Running,
        };
        Some(Known { word, heard: ledger.last_heard(key) })
    };
    ledger.keys().filter_map(|key| Some(((key.plugin.to_string(), key.node.to_string()), known(key)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_annotation_leaves_out_what_is_not_known() {
        let running = Known { word: Word::Running, heard: Some(Timestamp::UNIX_EPOCH) };
        assert_eq!(Known { word: Word::TimedOut, heard: None }.to_json(), r#"{"status":"timed_out"}"#);
        assert_eq!(running.to_json(), r#"{"last-heartbeat":"1970-01-01T00:00:00Z","status":"running"}"#);
    }
}
