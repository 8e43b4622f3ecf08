//! The JSON Schemas of the files that people write. Editors find them at their URLs, and the reader
//! of definitions takes the keys that it knows from them.
//!
//! A document that matches the schema is read without a warning. The reader accepts more, with a
//! warning for each deviation: keys in any case, numbers in place of strings, and unknown keys. A key
//! that is close to one of Plumbline's is an error.

use std::sync::LazyLock;

use serde_json::Value;

/// Where the mappings of a definition are in its schema, as JSON pointers (RFC 6901).
pub(super) const TOP: &str = "";
pub(super) const CONFIG: &str = "/properties/sonobuoy-config";
pub(super) const CONTAINER: &str = "/properties/spec";
pub(super) const PLUMBLINE: &str = "/properties/plumbline";
pub(super) const LIMITS: &str = "/properties/plumbline/properties/limits";
pub(super) const PERMISSIONS: &str = "/properties/plumbline/properties/permissions";
pub(super) const POLICY_RULE: &str = "/properties/plumbline/properties/permissions/properties/cluster/items";
pub(super) const PROGRESS: &str = "/properties/plumbline/properties/progress";
pub(super) const RERUNS: &str = "/properties/plumbline/properties/reruns";
pub(super) const SUITE: &str = "/properties/plumbline/properties/suite";
pub(super) const VERDICT: &str = "/properties/plumbline/properties/verdict/items";

static DEFINITION: LazyLock<Value> = LazyLock::new(definition_schema);

/// Returns the JSON Schema (draft 2020-12) of a definition (docs/definition.md).
pub fn definition_schema() -> Value {
    // A test parses both schemas.
    serde_json::from_str(definition_schema_text()).unwrap_or_default()
}

/// Returns the JSON Schema (draft 2020-12) of `module.yaml`, the file of a module's project. Its
/// reader is part of the tools for authors, and a test there compares the two.
pub fn module_schema() -> Value {
    serde_json::from_str(module_schema_text()).unwrap_or_default()
}

/// Returns [`definition_schema`] as formatted text.
pub fn definition_schema_text() -> &'static str {
    include_str!("../../../../docs/definition.schema.json")
}

/// Returns [`module_schema`] as formatted text.
pub fn module_schema_text() -> &'static str {
    include_str!("../../../../docs/module.schema.json")
}

/// Returns the keys of the mapping at `pointer` in the schema of definitions.
pub(super) fn keys(pointer: &str) -> impl Iterator<Item = &'static str> {
    let properties = DEFINITION.pointer(pointer).and_then(|mapping| mapping.get("properties"));
    properties.and_then(Value::as_object).into_iter().flat_map(|properties| properties.keys().map(String::as_str))
}

#[cfg(test)]
#[path = "schema_tables_tests.rs"]
mod tables;
#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
