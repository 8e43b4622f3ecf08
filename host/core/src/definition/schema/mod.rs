//! The keys of a definition, described once. The reader knows exactly these keys, and the JSON
//! Schema for editors is built from the same tables.

mod build;
mod container;
mod field;
mod module;
mod own;
mod permissions;
mod pod;
mod runs;
mod top;

pub use build::{
    DEFINITION_SCHEMA_ID, MODULE_SCHEMA_ID, definition_schema, definition_schema_text, module_schema,
    module_schema_text,
};

pub(super) use container::CONTAINER;
pub(super) use field::Field;
pub(super) use own::{LIMITS, PLUMBLINE, VERDICT};
pub(super) use permissions::{PERMISSIONS, POLICY_RULE};
pub(super) use runs::{GINKGO, PROGRESS, RERUNS};
pub(super) use top::{CONFIG, TOP};

#[cfg(test)]
mod tests;
