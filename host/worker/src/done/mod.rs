//! The done file, by which a plugin says that it has finished, and what to send (docs/protocol.md,
//! "Done file").

mod file;
mod locate;
mod protocol;
mod watch;
mod write;

pub(crate) use file::kind_of;
pub use file::{DONE_FILE, DoneError, MAX_DONE_BYTES};
pub use locate::{KNOWN_RESULTS_DIRS, Kind, LocateError, Located, locate};
pub use protocol::Timing;
pub use watch::wait_for_done;
pub use write::write_done;
