//! A project: a directory with `module.yaml`, the sources of a module, and its plugin.

mod error;
mod language;
mod manifest;
mod open;
mod read;
mod sources;

pub use error::{AuthorError, ErrorKind};
pub use language::Language;
pub use manifest::{MANIFEST_FILE, Manifest};
pub use open::Project;
pub(crate) use read::{read_bounded, read_text};
pub(crate) use sources::Sources;
pub use sources::stale;
