//! What commands about keys and signatures print: a text for people, or data.

use std::io::Write;

use serde_json::Value;

use crate::args::DataFormat;
use crate::error::CliError;
use crate::output::print_json;

/// Prints `text` or `data`.
pub(super) fn print(format: DataFormat, text: &str, data: &Value) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    let printed = match format {
        DataFormat::Text => writeln!(out, "{text}"),
        DataFormat::Json => print_json(data, &mut out),
    };
    printed.map_err(|error| CliError::printing("failed to print the result", &error))
}
