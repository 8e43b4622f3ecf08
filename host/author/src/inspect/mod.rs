//! Describes a module or a bundle from its files, without running anything.

mod bundle;
mod component;
mod core_module;
mod error;
mod sections;

pub use bundle::{BundleInspection, DefinitionSummary, FileSize, Source, bundle, installed, packed};
pub use component::{Imports, Kind, Metadata, ModuleInspection, module, module_file};
pub use error::InspectionError;
pub use sections::{CustomSection, Producer, Sections};
