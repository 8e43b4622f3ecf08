//! Reads the metadata of a component without compiling or running it.

mod encoding;
mod info;
mod metadata;
mod shape;
mod walk;

pub use info::{ModuleInfo, Roles, inspect};
pub use metadata::{DETECT_BYTES, DetectRule, METADATA_SECTION, file_pattern};

pub(crate) use info::{Inspected, inspect_all};
pub(crate) use shape::Shape;
