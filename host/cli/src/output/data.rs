//! Trees and outcomes as data.

use std::io::{self, Write};

use serde::Serialize;

/// Prints `value` as indented JSON.
pub(crate) fn print_json(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// `value` as a YAML document.
fn to_yaml(value: &impl Serialize) -> io::Result<String> {
    serde_saphyr::to_string(value).map_err(io::Error::other)
}

/// Prints `value` as a YAML document.
pub(crate) fn print_yaml(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    let text = to_yaml(value)?;
    writeln!(out, "{}", text.trim_end())
}
