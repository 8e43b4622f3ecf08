//! Packs a directory into a reproducible `.tar.gz`.

mod content;
mod directory;
mod error;
mod file;
mod options;

pub use crate::walk::SkipReason;
pub use directory::{Packing, pack_directory};
pub use error::PackError;
pub use file::{Packed, write_archive};
pub use options::{MAX_SKIPPED_LISTED, PackOptions, Skipped};
