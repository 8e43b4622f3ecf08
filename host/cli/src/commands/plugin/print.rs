//! Output of the commands for keys and signatures, as text or data.

use std::io::Write;

use plumbline_app::AppError;
use plumbline_app::report::print_json;
use serde_json::Value;

use crate::args::DataFormat;

/// Prints `text` or `data`.
pub(super) fn print(format: DataFormat, text: &str, data: &Value) -> Result<(), AppError> {
    let mut out = anstream::stdout().lock();
    let printed = match format {
        DataFormat::Text => writeln!(out, "{text}"),
        DataFormat::Json => print_json(data, &mut out),
    };
    printed.map_err(|error| AppError::printing("failed to print the result", &error))
}
