//! The logs of a machine: what its journal holds since some time, one JSON object per line, as `journalctl -o json` prints it.
//!
//! ```text
//! find ── journal files below a root ──┬─▶ journalctl of that root ─┐
//!                                      └─▶ journal: the files ──────┼─▶ Newest ──▶ file: (truncation) lines (notes)
//! ```
//!
//! * The machine's file system may be mounted somewhere ([`Options::root`]). Its own `journalctl` is asked first, through a `chroot` in a
//!   process of its own ([`enter`]); where there is none, or no right to, the journal's files are read here.
//! * Nothing is held in memory but a block of a file and one line: what comes goes into a file that holds the newest
//!   [`Options::max_bytes`]. What did not fit is counted, and the first line says so.
//! * The files are input from outside: whatever is wrong in them costs entries, and a note, never more.
#![forbid(unsafe_code)]

mod chroot;
mod collect;
mod find;
mod journal;
mod journalctl;
mod mark;
mod newest;
mod notes;
mod options;
mod write;

pub use chroot::{CANNOT_ENTER, CANNOT_EXECUTE, NOT_FOUND, enter};
pub use collect::{CollectError, Source};
pub use find::MAX_FILES;
pub use journal::{MAX_FIELD_BYTES, MAX_FIELDS, MAX_LINE_BYTES, MAX_OPEN};
pub use mark::{FAILED, LIMIT_BYTES, MISSING_BYTES, MISSING_LINES, NO_JOURNAL, NOTE, TRUNCATED};
pub use options::{DEFAULT_MAX_BYTES, DEFAULT_MINUTES, DEFAULT_TIME_LIMIT, Options, Via};
pub use write::{Summary, WriteError, write_logs};
