//! The ledger: the one owner of what is expected, what arrived, what failed, and what progress was reported.
//!
//! A pure state machine. The aggregator journals each accepted event as one line of JSON ([`Record`]) and carries out the effects; a
//! new process that replays the journal has the same ledger. Time is passed in and never read.

mod apply;
mod effect;
mod entry;
mod error_record;
mod event;
mod query;
mod settle;
mod state;

pub use effect::{Effect, MAX_EXPECTED, Refusal};
pub use entry::{Judged, KeyState, RETRY_WINDOW};
pub use error_record::{ErrorRecord, ErrorRecordError, MAX_ERROR_DEPTH};
pub use event::{Event, Record, Stored, StoredKind};
pub use settle::MAX_REASON;
pub use state::{Ledger, MAX_PROGRESS_BYTES, ReplayError, TIMEOUT_ERROR};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
