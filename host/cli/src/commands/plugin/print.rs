//! What commands about keys and signatures print: a text for people, or data.

use std::io::Write;

use serde_json::Value;

use crate::args::RunFormat;
use crate::error::CliError;
use crate::output::{print_json, print_yaml};

/// Prints `text`, or `data` where a format is asked for.
pub(super) fn print(format: Option<RunFormat>, text: &str, data: &Value) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    let printed = match format {
        None => writeln!(out, "{text}"),
        Some(RunFormat::Json) => print_json(data, &mut out),
        Some(RunFormat::Yaml) => print_yaml(data, &mut out),
    };
    printed.map_err(|error| CliError::printing("the result cannot be printed", &error))
}
