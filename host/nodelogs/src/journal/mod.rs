//! The files of the journal, read natively: `systemd.io/JOURNAL_FILE_FORMAT`, regular and compact, with values plain or compressed with zstd or LZ4.
//!
//! Nothing in a file is believed. Every offset is checked against the file, arrays and entries must lie one behind the other (as journald
//! writes them, so that no loop is possible and no byte is an entry twice), and what is made of a file is bounded by its size.

mod blocks;
mod cursor;
mod data;
mod format;
mod json;
mod merge;

pub use data::MAX_FIELD_BYTES;
pub use json::{MAX_FIELDS, MAX_LINE_BYTES};
pub use merge::MAX_OPEN;

pub(crate) use merge::read;
