//! One expected result.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::ledger::error_record::ErrorRecord;
use crate::ledger::event::Stored;
use crate::name::ResultKey;
use crate::progress::ProgressUpdate;
use crate::status::Status;

/// How a tree came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The rolled-up status.
    pub status: Status,
    /// Leaves by status.
    pub counts: BTreeMap<String, u64>,
}

/// Where an expected result stands.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyState {
    /// Nothing arrived.
    Waiting,
    /// It is being uploaded.
    Uploading {
        /// The upload.
        upload: u64,
        /// When it began.
        since: Timestamp,
    },
    /// An upload failed; a retry is admitted.
    Broken {
        /// When it failed.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// It is in.
    Received {
        /// When it was stored.
        at: Timestamp,
        /// What was stored.
        stored: Stored,
    },
    /// It will not arrive.
    Failed {
        /// When that became certain.
        at: Timestamp,
        /// What stands in its place.
        error: ErrorRecord,
    },
}

/// What came of a result so far; an upload under way stands beside it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Waiting,
    Broken { at: Timestamp, reason: String },
    Received { at: Timestamp, stored: Stored },
    Failed { at: Timestamp, error: ErrorRecord },
}

/// An upload under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Upload {
    pub(super) id: u64,
    pub(super) since: Timestamp,
    /// Its files are being moved into their place: a failure held back waits until that has ended.
    pub(super) claimed: bool,
}

/// A failure that waits for the end of the upload under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Held {
    pub(super) error: ErrorRecord,
    /// From here on the failure no longer waits.
    pub(super) until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: ResultKey,
    pub(super) outcome: Outcome,
    pub(super) upload: Option<Upload>,
    /// Only ever there beside an upload.
    pub(super) held: Option<Held>,
    pub(super) progress: Option<ProgressUpdate>,
    pub(super) heard: Option<Timestamp>,
    pub(super) from: Option<String>,
    /// What keeps the result from arriving, while it is awaited.
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

    /// Received or failed: nothing changes that any more.
    pub(super) fn is_final(&self) -> bool {
        matches!(self.outcome, Outcome::Received { .. } | Outcome::Failed { .. })
    }

    /// The failure held back behind an upload no longer waits for it.
    pub(super) fn is_overdue(&self, now: Timestamp) -> bool {
        self.held_until().is_some_and(|until| until <= now)
    }

    /// When the failure held back stops waiting for the upload; `None` when there is none or when only the upload's end counts.
    pub(super) fn held_until(&self) -> Option<Timestamp> {
        self.held.as_ref().filter(|_| !self.is_claimed())?.until
    }

    pub(super) fn is_claimed(&self) -> bool {
        self.upload.is_some_and(|upload| upload.claimed)
    }

    /// Something may still happen at any time: nothing arrived yet, or an upload is under way.
    pub(super) fn is_open(&self, now: Timestamp) -> bool {
        !self.is_overdue(now) && (self.upload.is_some() || matches!(self.outcome, Outcome::Waiting))
    }

    /// When the time for a retry is over, for a result whose upload failed.
    pub(super) fn retry_ends(&self) -> Option<Timestamp> {
        match self.outcome {
            Outcome::Broken { at, .. } => Some(later(at)),
            _ => None,
        }
    }

    /// Ends the wait for an upload and records `error`.
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

/// [`RETRY_WINDOW`] after `at`; the end of time for a time so late that there is none after it.
pub(super) fn later(at: Timestamp) -> Timestamp {
    at.checked_add(RETRY_WINDOW).unwrap_or(Timestamp::MAX)
}

/// How long a plugin whose other results are all in waits for the retry of a failed upload: 120 s, which is longer than the pauses
/// between the tries of any known worker (docs/protocol.md, «Retries»).
pub const RETRY_WINDOW: Duration = Duration::from_secs(120);
