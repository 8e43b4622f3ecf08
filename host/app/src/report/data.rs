//! Values as JSON and YAML.

use std::io::{self, Write};

use plumbline_core::text::steers_terminal;
use serde::Serialize;

/// Prints `value` as indented JSON.
///
/// # Errors
/// `out` cannot be written.
pub fn print_json(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(JsonText(&mut *out), value)?;
    writeln!(out)
}

/// Prints `value` as JSON on one line.
///
/// # Errors
/// `out` cannot be written.
pub fn print_json_line(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(JsonText(&mut *out), value)?;
    writeln!(out)
}

/// Prints `value` as a YAML document. If a text in it contains control characters, it is printed as
/// JSON, which is also YAML.
///
/// # Errors
/// `out` cannot be written.
pub fn print_yaml(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    let text = serde_saphyr::to_string(value).map_err(io::Error::other)?;
    if text.chars().any(|c| steers_terminal(c) && !matches!(c, '\n' | '\t')) {
        return print_json(value, out);
    }
    writeln!(out, "{}", text.trim_end())
}

/// Escapes characters in JSON that control a terminal, which changes no value.
pub struct JsonText<W>(pub W);

impl<W: Write> Write for JsonText<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The serializer writes whole characters, and escapes those below U+0020 by itself.
        let text = std::str::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|&(_, c)| c >= '\u{7f}' && steers_terminal(c)) {
            let (before, after) = rest.split_at(at);
            // All of them are in the Basic Multilingual Plane.
            write!(self.0, "{before}\\u{:04x}", u32::from(c))?;
            rest = after.get(c.len_utf8()..).unwrap_or_default();
        }
        self.0.write_all(rest.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_stays_what_it_is_and_steers_no_terminal() {
        let value = serde_json::json!({"a\u{9b}": ["\u{1b}[2J", "\u{202e}\u{7f}\u{200f}", "line\nline\tä 漢"]});
        let mut json = Vec::new();
        print_json(&value, &mut json).unwrap();
        let mut line = Vec::new();
        print_json_line(&value, &mut line).unwrap();
        let mut yaml = Vec::new();
        print_yaml(&value, &mut yaml).unwrap();
        for printed in [json, line, yaml] {
            let text = String::from_utf8(printed).unwrap();
            assert!(!text.chars().any(|c| c != '\n' && steers_terminal(c)), "{text:?}");
            assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&text).unwrap(), value, "{text}");
        }
    }
}
