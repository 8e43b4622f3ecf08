//! A project: a directory with `module.yaml`, the sources of a module, and its plugin.

mod error;
mod language;
mod manifest;
mod open;
mod read;

pub use error::{AuthorError, ErrorKind};
pub use language::Language;
pub use manifest::{MANIFEST_FILE, Manifest};
pub use open::Project;
pub(crate) use read::{read_bounded, read_text};
