//! The logs of a machine: what its journal holds since some time, one JSON object per line, as `journalctl -o json` prints it.
//!
//! ```text
//! journalctl of the root ──▶ Newest ──▶ file: (truncation) lines (notes)
//! ```
//!
//! * The machine's file system may be mounted somewhere ([`Options::root`]). A process of its own enters it by `chroot` and becomes the
//!   machine's `journalctl` ([`enter`]). Without one, or without the permission, the file says that the logs are missing.
//! * Only one line is held in memory. The logs go into a file with the newest [`Options::max_bytes`]. What did not fit is counted, and the
//!   first line says so.

mod chroot;
mod collect;
mod find;
mod journalctl;
mod mark;
mod newest;
mod notes;
mod options;
mod write;

pub use chroot::{CANNOT_ENTER, CANNOT_EXECUTE, NOT_FOUND, enter};
pub use collect::CollectError;
pub use mark::{FAILED, LIMIT_BYTES, MISSING_BYTES, MISSING_LINES, NO_JOURNAL, NOTE, TRUNCATED};
pub use options::{DEFAULT_MAX_BYTES, DEFAULT_MINUTES, DEFAULT_TIME_LIMIT, Options};
pub use write::{Summary, WriteError, write_logs};
