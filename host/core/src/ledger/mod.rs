//! The ledger: the only record of what is expected, what was received, what failed, and what
//! progress was reported.
//!
//! It is a pure state machine. The aggregator journals each accepted event as one line of JSON
//! ([`Record`]) and carries out the effects. A new process that replays the journal gets the same
//! ledger. The caller passes in the time, and the ledger never reads a clock.

mod apply;
mod error_record;
mod event;
mod query;
mod results;
mod settle;
mod state;

pub use apply::MAX_SKIP_REASON;
pub use error_record::{ErrorRecord, ErrorRecordError, MAX_ERROR_DEPTH};
pub use event::{Effect, Event, MAX_EXPECTED, Record, Refusal, Stored, StoredKind};
pub use query::ResultTally;
pub use state::{Judged, KeyState, Ledger, MAX_PROGRESS_BYTES, RETRY_WINDOW, ReplayError, TIMEOUT_ERROR};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
