//! Writer for result trees as YAML, piece by piece, so that no tree is held in memory.
//!
//! It uses a subset on which every YAML 1.1 and 1.2 parser agrees. The tree consists of block
//! mappings and sequences. Plain scalars are used only if they can only be strings, and
//! double-quoted scalars otherwise. Details that are not text use JSON flow style.

use std::fmt::Write as _;

use plumbline_core::{FlatItem, Meta};
use serde_json::Value;

/// Writes the indentation of a level. The root's children are in the first column, below `items:`.
fn indent(out: &mut String, level: u32) {
    for _ in 0..level {
        out.push_str("  ");
    }
}

/// Writes the lines of the root. `items` says whether children follow.
pub(super) fn root(out: &mut String, name: &str, status: &str, meta: &Meta, items: bool) {
    out.push_str("name: ");
    scalar(out, name);
    out.push_str("\nstatus: ");
    scalar(out, status);
    out.push_str("\nmeta:\n");
    meta_entries(out, 1, meta);
    if items {
        out.push_str("items:\n");
    }
}

/// Appends `- name: …` of an item at `level` (0: a child of the root).
pub(super) fn item_head(out: &mut String, level: u32, name: &str) {
    indent(out, level);
    out.push_str("- name: ");
    scalar(out, name);
    out.push('\n');
}

/// Appends `status: …` of an item at `level`.
pub(super) fn item_status(out: &mut String, level: u32, status: &str) {
    indent(out, level + 1);
    out.push_str("status: ");
    scalar(out, status);
    out.push('\n');
}

/// Appends `meta:` and `details:` of an item at `level`, unless they are empty.
pub(super) fn item_tail(out: &mut String, level: u32, item: &FlatItem) {
    if !item.meta.is_empty() {
        indent(out, level + 1);
        out.push_str("meta:\n");
        meta_entries(out, level + 2, &item.meta);
    }
    if !item.details.is_empty() {
        indent(out, level + 1);
        out.push_str("details:\n");
        for (key, value) in &item.details {
            entry(out, level + 2, key);
            match value {
                Value::String(text) => scalar(out, text),
                other => flow(out, other),
            }
            out.push('\n');
        }
    }
}

/// Appends `items:` of an item at `level`.
pub(super) fn item_items(out: &mut String, level: u32) {
    indent(out, level + 1);
    out.push_str("items:\n");
}

fn meta_entries(out: &mut String, level: u32, meta: &Meta) {
    for (key, value) in meta {
        entry(out, level, key);
        scalar(out, value);
        out.push('\n');
    }
}

fn entry(out: &mut String, level: u32, key: &str) {
    indent(out, level);
    scalar(out, key);
    out.push_str(": ");
}

/// Writes a string: plain if that is safe, and double-quoted otherwise.
pub(super) fn scalar(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push_str(text);
    } else {
        quoted(out, text);
    }
}

/// Returns whether every YAML parser reads unquoted `text` as this string, in block and flow style.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some((first, last)) = bytes.first().zip(bytes.last()) else { return false };
    first.is_ascii_alphabetic()
        && last != &b' '
        && bytes.len() <= 1024
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b' ' | b'_' | b'-' | b'.' | b'/' | b'(' | b')'))
        && !is_reserved(text)
}

/// Returns whether YAML 1.1 or 1.2 reads the word as something other than a string.
fn is_reserved(text: &str) -> bool {
    const WORDS: [&str; 11] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"];
    text.len() <= 5 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Writes a double-quoted scalar with the escapes that YAML and JSON share.
fn quoted(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    // Copy runs without escapes, because long texts are most of a tree.
    while let Some(at) = next_escape(rest) {
        let (run, tail) = rest.split_at(at);
        out.push_str(run);
        let mut chars = tail.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\t') => out.push_str("\\t"),
            Some('\r') => out.push_str("\\r"),
            Some(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Returns the position of the next character that needs an escape. Most text is ASCII.
fn next_escape(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| is_escape_or_wide(byte))?;
        let c = text.get(at..)?.chars().next()?;
        if needs_escape(c) {
            return Some(at);
        }
        at += c.len_utf8();
    }
}

/// Returns whether a byte needs an escape, or is part of a character beyond ASCII.
fn is_escape_or_wide(byte: u8) -> bool {
    !(0x20..0x7f).contains(&byte) || matches!(byte, b'"' | b'\\')
}

/// Returns whether a character is a quote, or is not printable or a line break in YAML.
fn needs_escape(c: char) -> bool {
    matches!(c, '"' | '\\' | '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Writes a value in flow style. The parser that created it has limited its depth.
fn flow(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => quoted(out, text),
        Value::Array(values) => {
            out.push('[');
            for (i, value) in values.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                flow(out, value);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, (key, value)) in map.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                quoted(out, key);
                out.push_str(": ");
                flow(out, value);
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            let _ = write!(out, "{value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> String {
        let mut out = String::new();
        scalar(&mut out, text);
        out
    }

    #[test]
    fn only_unmistakable_strings_are_plain() {
        assert_eq!(one("junit_01.xml"), "junit_01.xml");
        assert_eq!(one("results/global/a.xml"), "results/global/a.xml");
        for text in ["", "true", "No", "y", "1", "a: b", "a #b", " a", "a ", "- a", "[x]", "\u{feff}a", "null", "inf"] {
            assert!(one(text).starts_with('"'), "{text}");
        }
    }

    #[test]
    fn escapes_what_yaml_does_not_print() {
        assert_eq!(one("a\u{7f}\u{2028}\"\\\n\t\u{1}"), r#""a\u007f\u2028\"\\\n\t\u0001""#);
        assert_eq!(one("grüße €"), "\"grüße €\"");
    }
}
