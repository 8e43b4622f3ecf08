//! One expected result of the ledger.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::ledger::error_record::ErrorRecord;
use crate::ledger::event::Stored;
use crate::name::ResultKey;
use crate::progress::ProgressUpdate;
use crate::status::Status;

/// The outcome of post-processing a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The rolled-up status.
    pub status: Status,
    /// The number of leaves by status.
    pub counts: BTreeMap<String, u64>,
}

/// The state of an expected result.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyState {
    /// Nothing was received yet.
    Waiting,
    /// The result is being uploaded.
    Uploading {
        /// The number of the upload.
        upload: u64,
        /// When the upload started.
        since: Timestamp,
    },
    /// An upload failed. A retry is allowed.
    Broken {
        /// When the upload failed.
        at: Timestamp,
        /// The reason.
        reason: String,
    },
    /// The result was received and stored.
    Received {
        /// When the result was stored.
        at: Timestamp,
        /// What was stored.
        stored: Stored,
    },
    /// The result will not arrive.
    Failed {
        /// When the failure became final.
        at: Timestamp,
        /// The error that replaces the result.
        error: ErrorRecord,
    },
}

/// The outcome of a result so far. An upload in progress is stored separately.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Waiting,
    Broken { at: Timestamp, reason: String },
    Received { at: Timestamp, stored: Stored },
    Failed { at: Timestamp, error: ErrorRecord },
}

/// An upload in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Upload {
    pub(super) id: u64,
    pub(super) since: Timestamp,
    /// Whether its files are being moved into place. A held failure waits until the move ends.
    pub(super) claimed: bool,
}

/// A failure that waits for the end of the current upload.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Held {
    pub(super) error: ErrorRecord,
    /// When the failure stops waiting.
    pub(super) until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: ResultKey,
    pub(super) outcome: Outcome,
    pub(super) upload: Option<Upload>,
    /// Only set together with an upload.
    pub(super) held: Option<Held>,
    pub(super) progress: Option<ProgressUpdate>,
    pub(super) heard: Option<Timestamp>,
    pub(super) from: Option<String>,
    /// What prevents the result from arriving, while it is expected.
    pub(super) trouble: Option<String>,
    pub(super) judged: Option<Judged>,
}

impl Entry {
    pub(super) fn new(key: ResultKey) -> Self {
        Self {
            key,
            outcome: Outcome::Waiting,
            upload: None,
            held: None,
            progress: None,
            heard: None,
            from: None,
            trouble: None,
            judged: None,
        }
    }

    /// Returns whether the result was received or has failed, which cannot change any more.
    pub(super) fn is_final(&self) -> bool {
        matches!(self.outcome, Outcome::Received { .. } | Outcome::Failed { .. })
    }

    /// Returns whether a held failure has stopped waiting for the upload.
    pub(super) fn is_overdue(&self, now: Timestamp) -> bool {
        self.held_until().is_some_and(|until| until <= now)
    }

    /// Returns when the held failure stops waiting for the upload. `None` means that there is no
    /// held failure, or that only the end of the upload matters.
    pub(super) fn held_until(&self) -> Option<Timestamp> {
        self.held.as_ref().filter(|_| !self.is_claimed())?.until
    }

    pub(super) fn is_claimed(&self) -> bool {
        self.upload.is_some_and(|upload| upload.claimed)
    }

    /// Returns whether something may still happen at any time: nothing was received yet, or an
    /// upload is in progress.
    pub(super) fn is_open(&self, now: Timestamp) -> bool {
        !self.is_overdue(now) && (self.upload.is_some() || matches!(self.outcome, Outcome::Waiting))
    }

    /// Returns when the retry window ends, for a result whose upload failed.
    pub(super) fn retry_ends(&self) -> Option<Timestamp> {
        match self.outcome {
            Outcome::Broken { at, .. } => Some(later(at)),
            _ => None,
        }
    }

    /// Records `error` and stops waiting for an upload.
    pub(super) fn fail(&mut self, at: Timestamp, error: ErrorRecord) {
        self.outcome = Outcome::Failed { at, error };
        self.upload = None;
        self.held = None;
    }

    pub(super) fn state(&self) -> KeyState {
        match (&self.outcome, self.upload) {
            (Outcome::Received { at, stored }, _) => KeyState::Received { at: *at, stored: stored.clone() },
            (Outcome::Failed { at, error }, _) => KeyState::Failed { at: *at, error: error.clone() },
            (_, Some(upload)) => KeyState::Uploading { upload: upload.id, since: upload.since },
            (Outcome::Broken { at, reason }, None) => KeyState::Broken { at: *at, reason: reason.clone() },
            (Outcome::Waiting, None) => KeyState::Waiting,
        }
    }
}

/// Returns the time [`RETRY_WINDOW`] after `at`, or the latest possible time on overflow.
pub(super) fn later(at: Timestamp) -> Timestamp {
    at.checked_add(RETRY_WINDOW).unwrap_or(Timestamp::MAX)
}

/// How long a plugin waits for the retry of a failed upload once all its other results are
/// received: 120 s. This is longer than the pause between retries of any known worker
/// (docs/protocol.md, "Retries").
pub const RETRY_WINDOW: Duration = Duration::from_secs(120);
