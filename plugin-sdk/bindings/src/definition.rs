//! The JSON Schemas of what people write.

use std::path::PathBuf;

use plumbline_core::definition::definition_schema_text;
use wit_parser::{PackageId, Resolve};

use crate::error::BindingsError;
use crate::registry::Files;

/// Where the schema of the definition is.
const DEFINITION: &str = "docs/definition.schema.json";

/// The schemas. They come from the code that reads the files, not from the WIT.
pub(crate) fn files(_resolve: &Resolve, _package: PackageId) -> Result<Files, BindingsError> {
    Ok(Files::from([(PathBuf::from(DEFINITION), definition_schema_text().into_bytes())]))
}
