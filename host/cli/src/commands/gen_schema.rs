//! `plumbline gen schema`

use std::io::Write;
use std::process::ExitCode;

use plumbline_core::definition::definition_schema_text;

use crate::error::CliError;

/// Prints the JSON Schema of definitions, as it is in the documentation.
pub(crate) fn schema() -> Result<ExitCode, CliError> {
    let mut out = std::io::stdout().lock();
    out.write_all(definition_schema_text().as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| CliError::printing("the schema cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}
