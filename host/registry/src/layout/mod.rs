//! OCI image layouts in directories and archives (OCI image specification, "Image Layout").

mod archive;
mod directory;
mod unpack;

pub use archive::write as write_archive;
pub use directory::{Entry, Layout};
pub use unpack::{OpenedLayout, open};
