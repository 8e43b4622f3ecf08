//! A directory, into a `.tar.gz` that is the same bytes every time.

mod content;
mod directory;
mod error;
mod file;
mod options;

pub use crate::walk::LeftOut;
pub use directory::{Packing, pack_directory};
pub use error::PackError;
pub use file::{Packed, write_archive};
pub use options::{MAX_SKIPPED_LISTED, PackOptions, Skipped};
