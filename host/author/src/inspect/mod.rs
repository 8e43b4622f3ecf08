//! Describes a module or a bundle from its files, without running anything.

mod bundle;
mod capabilities;
mod module;

pub use bundle::{BundleInspection, DefinitionSummary, Source, bundle, installed, packed};
pub use capabilities::capabilities;
pub use module::{Imports, Kind, Metadata, ModuleInspection, NamedSize, Producer, Sections, module, module_file};
