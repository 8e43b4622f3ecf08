//! `plumbline gen schema`

use std::io::Write;
use std::process::ExitCode;

use plumbline_core::definition::{definition_schema_text, module_schema_text};

use crate::args::{GenSchemaArgs, SchemaOf};
use crate::error::CliError;

/// Prints a JSON Schema, as it is in the documentation.
pub(crate) fn schema(args: &GenSchemaArgs) -> Result<ExitCode, CliError> {
    let text = match args.of {
        SchemaOf::Definition => definition_schema_text(),
        SchemaOf::Module => module_schema_text(),
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| CliError::printing("the schema cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}
