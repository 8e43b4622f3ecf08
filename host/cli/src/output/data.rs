//! Trees and outcomes as data.

use std::io::{self, Write};

use plumbline_core::text::steers_terminal;
use serde::Serialize;

use super::foreign::JsonText;

/// Prints `value` as indented JSON.
pub(crate) fn print_json(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(JsonText(&mut *out), value)?;
    writeln!(out)
}

/// Prints `value` as JSON on one line.
pub(crate) fn print_json_line(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(JsonText(&mut *out), value)?;
    writeln!(out)
}

/// Prints `value` as a YAML document: as JSON, which YAML includes, if a text in it would steer a terminal.
pub(crate) fn print_yaml(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    let text = serde_saphyr::to_string(value).map_err(io::Error::other)?;
    if text.chars().any(|c| steers_terminal(c) && !matches!(c, '\n' | '\t')) {
        return print_json(value, out);
    }
    writeln!(out, "{}", text.trim_end())
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
