//! OCI image layouts in directories and archives (OCI image specification, "Image Layout").

mod archive;
mod directory;

pub use archive::{OpenedLayout, open, write as write_archive};
pub use directory::{Entry, Layout};
