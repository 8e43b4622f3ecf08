//! Reads the metadata of a component without compiling or running it.

mod info;
mod metadata;
mod structure;

pub use info::{ModuleInfo, Roles, inspect, refused_imports};
pub use metadata::{DETECT_BYTES, DetectRule, METADATA_SECTION, file_pattern};

pub(crate) use info::{Inspected, inspect_all};
pub(crate) use structure::Shape;
