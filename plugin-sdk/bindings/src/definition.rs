//! The JSON Schemas of files that people write.

use std::path::PathBuf;

use plumbline_core::definition::{definition_schema_text, module_schema_text};
use wit_parser::{PackageId, Resolve};

use crate::error::BindingsError;
use crate::registry::Files;

/// The path of the schema for definitions.
const DEFINITION: &str = "docs/definition.schema.json";

/// The path of the schema for `module.yaml`.
const MODULE: &str = "docs/module.schema.json";

/// Returns the schemas. They come from the code that reads the files, and not from the WIT.
pub(crate) fn files(_resolve: &Resolve, _package: PackageId) -> Result<Files, BindingsError> {
    let schemas = [(DEFINITION, definition_schema_text()), (MODULE, module_schema_text())];
    Ok(schemas.into_iter().map(|(path, text)| (PathBuf::from(path), text.into_bytes())).collect())
}
