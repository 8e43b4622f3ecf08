//! The ledger: the only record of what is expected, what was received, what failed, and what
//! progress was reported.
//!
//! It is a pure state machine. The aggregator journals each accepted event as one line of JSON
//! ([`Record`]) and carries out the effects. A new process that replays the journal gets the same
//! ledger. The caller passes in the time, and the ledger never reads a clock.

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
