//! Collects the logs of a machine: its journal since a given time, one JSON object per line, in the
//! format of `journalctl -o json`.
//!
//! ```text
//! journalctl of the root ──▶ Newest ──▶ file: (truncation) lines (notes)
//! ```
//!
//! * The machine's file system may be mounted anywhere ([`Options::root`]). A separate process
//!   enters it with `chroot` and becomes the machine's `journalctl` ([`enter`]). Without a helper,
//!   or without the permission, the file says that the logs are missing.
//! * Only one line is held in memory. The logs go into a file with the newest
//!   [`Options::max_bytes`]. The first line reports how much did not fit.

mod journalctl;
mod newest;
mod write;

pub use crate::program::{CANNOT_ENTER, CANNOT_EXECUTE, NOT_FOUND, enter};
pub use journalctl::{CollectError, DEFAULT_MAX_BYTES, DEFAULT_MINUTES, DEFAULT_TIME_LIMIT, Options};
pub use write::{
    FAILED, LIMIT_BYTES, MISSING_BYTES, MISSING_LINES, NO_JOURNAL, NOTE, Summary, TRUNCATED, WriteError, write_logs,
};
