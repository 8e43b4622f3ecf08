//! Reads a results archive of any version, file by file, without unpacking it.

mod archive;
mod extract;
mod index;
mod reader;

pub use archive::{ReadError, ReadLimits, ResultsArchive};
pub use index::ArchiveInfo;
pub use reader::FileReader;
