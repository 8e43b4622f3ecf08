//! Reads a results archive of any version, file by file, without unpacking it.

mod archive;
mod error;
mod extract;
mod index;
mod info;
mod layout;
mod limits;
mod reader;

pub use archive::ResultsArchive;
pub use error::ReadError;
pub use info::ArchiveInfo;
pub use layout::Layout;
pub use limits::{MAX_META_BYTES, ReadLimits};
pub use reader::FileReader;
