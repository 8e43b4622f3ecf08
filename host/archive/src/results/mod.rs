//! Reads a results archive of any version, file by file, without unpacking it.

mod archive;
mod error;
mod extract;
mod index;

pub use archive::{FileReader, ResultsArchive};
pub use error::{ReadError, ReadLimits};
pub use index::ArchiveInfo;
