//! JSON values as YAML documents, as people and tools of the field know them: keys sorted, lists not indented, text of several lines as a
//! block, and nothing that an older reader of YAML takes for a number, a date or a truth value.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The documents, each followed by a line `---`.
#[must_use]
pub fn to_yaml(documents: &[Value]) -> String {
    documents.iter().map(|value| to_document(value) + "---\n").collect()
}

/// One document, without a marker before or after it.
#[must_use]
pub fn to_document(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => mapping(&mut out, fields, 0, false),
        Value::Array(items) if !items.is_empty() => list(&mut out, items, 0),
        other => {
            scalar(&mut out, other, 0);
            out.push('\n');
        }
    }
    out
}

/// The lines of a mapping at `indent` columns; the first line is not indented when it follows `- `.
fn mapping(out: &mut String, fields: &Map<String, Value>, indent: usize, mut begun: bool) {
    // Whether a map of this type is sorted depends on how the JSON library was built.
    let mut sorted: Vec<_> = fields.iter().collect();
    sorted.sort_by_key(|(key, _)| *key);
    for (key, value) in sorted {
        if !begun {
            out.extend(std::iter::repeat_n(' ', indent));
        }
        begun = false;
        text(out, key, None);
        out.push(':');
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                out.push('\n');
                mapping(out, fields, indent + 2, false);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                list(out, items, indent);
            }
            other => {
                out.push(' ');
                scalar(out, other, indent);
                out.push('\n');
            }
        }
    }
}

fn list(out: &mut String, items: &[Value], indent: usize) {
    for item in items {
        out.extend(std::iter::repeat_n(' ', indent));
        out.push('-');
        match item {
            Value::Object(fields) if !fields.is_empty() => {
                out.push(' ');
                mapping(out, fields, indent + 2, true);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                list(out, items, indent + 2);
            }
            other => {
                out.push(' ');
                scalar(out, other, indent);
                out.push('\n');
            }
        }
    }
}

/// A value that stands on the line that was begun; a block goes on below it.
fn scalar(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::String(content) => text(out, content, Some(indent)),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
        other => {
            // Cannot fail: writing to a String.
            let _ = write!(out, "{other}");
        }
    }
}

/// A text in the plainest form that every reader takes for this text; in several lines only where `block` says the indentation.
fn text(out: &mut String, content: &str, block: Option<usize>) {
    let printable = content.chars().all(|c| c == '\n' || is_printable(c));
    match block {
        Some(indent) if printable && content.contains('\n') && !content.trim_matches('\n').is_empty() => {
            literal(out, content, indent);
        }
        _ if !printable || content.contains('\n') => double_quoted(out, content),
        _ if is_plain(content) => out.push_str(content),
        _ => {
            out.push('\'');
            out.push_str(&content.replace('\'', "''"));
            out.push('\'');
        }
    }
}

fn literal(out: &mut String, content: &str, indent: usize) {
    out.push('|');
    // A reader takes the indentation from the first line, unless that line is itself indented, or empty.
    if content.starts_with([' ', '\n', '\t']) {
        out.push('2');
    }
    let body = match (content.strip_suffix('\n'), content.ends_with("\n\n")) {
        (None, _) => {
            out.push('-');
            content
        }
        (Some(body), false) => body,
        (Some(body), true) => {
            out.push('+');
            body
        }
    };
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', indent + 2));
            out.push_str(line);
        }
    }
}

fn double_quoted(out: &mut String, content: &str) {
    out.push('"');
    for c in content.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_printable(c) => out.push(c),
            // Cannot fail: writing to a String.
            c => drop(write!(out, "\\U{:08X}", u32::from(c))),
        }
    }
    out.push('"');
}

/// What may stand in a YAML document as it is, on one line: no control characters, no line breaks of other alphabets, no byte order mark.
fn is_printable(c: char) -> bool {
    let breaks = matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    c == '\t' || !(c.is_control() || breaks)
}

/// Whether a text needs no quotes. Narrower than the standard: whoever doubts quotes.
fn is_plain(content: &str) -> bool {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if words.iter().any(|word| word.eq_ignore_ascii_case(content)) {
        return false;
    }
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./$(),=+*".contains(c);
    let inner = content.char_indices().all(|(at, c)| {
        // `: ` and ` #` have a meaning, and blanks at the end are lost.
        let after = content.get(at + 1..).and_then(|rest| rest.chars().next());
        safe(c) || (matches!(c, ':' | ' ') && after.is_some_and(safe))
    });
    inner && (begins_plainly(content) || is_quantity(content))
}

/// A number, a date, a time, or what old readers take for one, begins with a digit, a sign or a point. An option (`-v`, `--level`) and a
/// path (`./run.sh`) are none of these.
fn begins_plainly(content: &str) -> bool {
    let rest = content.strip_prefix("--").or_else(|| content.strip_prefix('-')).unwrap_or(content);
    rest.starts_with(|c: char| c.is_ascii_alphabetic())
        || content.starts_with(['/', '$', '_'])
        || content.starts_with("./")
}

/// `512Mi`, `50m`: digits and a unit, which no reader takes for a number.
fn is_quantity(content: &str) -> bool {
    let units = ["m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"];
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && content.get(digits..).is_some_and(|unit| units.contains(&unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_look_like_those_of_the_field() {
        let value = json!({
            "kind": "Pod",
            "metadata": {"labels": {}, "name": "a", "annotations": {"x/y": "true", "n": "1"}},
            "spec": {
                "containers": [{"name": "c", "args": ["--a=b", "-v", "", "x: y", "it's"], "env": []}],
                "nested": [[1, [2]], []],
                "flag": true, "none": null, "count": 3,
            },
            "data": {"run.sh": "#!/bin/sh\nset -eu\n\n  echo hi\n", "no-end": "a\nb", "more": "a\n\n", "deep": "  a\nb\n", "tab": "a\tb\u{7}"},
        });
        insta::assert_snapshot!(to_yaml(&[value, json!({})]));
    }

    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ \n\t#:'\"|>{}\\[\\],&*!%@`?~.0-9eE+xyYnNo-]{0,12}",
            any::<String>(),
            "(true|No|~|null|0x1F|1_000|12:30:45|2001-01-01|=|<<|-|-?\\.inf|0o7|017|---|--- a|- a|-a|--a|\\.\\.\\.|\\./a|1e3|5m|-1m|1Mi|\\*a|a\\*)",
        ]
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            texts().prop_map(Value::String),
            any::<i64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
                proptest::collection::btree_map(texts(), inner, 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_as_the_same(value in values()) {
            let yaml = to_document(&value);
            let read: Value = serde_saphyr::from_str(&yaml).map_err(|error| TestCaseError::fail(format!("{error}\n{yaml}")))?;
            prop_assert_eq!(read, value, "{}", yaml);
        }
    }
}
