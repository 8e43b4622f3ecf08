//! Writes JSON values as YAML documents in the usual style.
//!
//! Keys are sorted, lists are not indented, and multi-line text is a block. Strings that an older
//! YAML parser could read as a number, a date or a boolean are quoted.

use std::fmt::Write as _;

use serde_json::Value;

/// Returns the documents, each followed by a line `---`.
#[must_use]
pub fn to_yaml(documents: &[Value]) -> String {
    documents.iter().map(|value| to_document(value) + "---\n").collect()
}

/// Returns one document, without a marker before or after it.
#[must_use]
pub fn to_document(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, 0, false);
    out
}

/// Writes a value whose lines start at `indent` columns, and a line break. `begun` says that the
/// first line of a mapping is already indented, because it follows `- `.
fn write(out: &mut String, value: &Value, indent: usize, mut begun: bool) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            // The sort order of this map type depends on the features of the JSON library.
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            for (key, value) in sorted {
                if !std::mem::take(&mut begun) {
                    pad(out, indent);
                }
                text(out, key, None);
                out.push_str(if is_block(value) { ":\n" } else { ": " });
                write(out, value, if value.is_object() { indent + 2 } else { indent }, false);
            }
            return;
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                pad(out, indent);
                out.push_str(if item.is_array() && is_block(item) { "-\n" } else { "- " });
                write(out, item, if is_block(item) { indent + 2 } else { indent }, true);
            }
            return;
        }
        Value::String(content) => text(out, content, Some(indent)),
        // Empty lists and mappings, and the other scalars, are as in JSON.
        other => out.push_str(&other.to_string()),
    }
    out.push('\n');
}

/// Returns true if a value takes lines of its own.
fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

fn pad(out: &mut String, columns: usize) {
    out.extend(std::iter::repeat_n(' ', columns));
}

/// Writes a string in the plainest form that every parser reads as this string. It uses several
/// lines only if `block` gives the indentation.
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
    // A parser takes the indentation from the first line, unless that line is itself indented, or
    // empty.
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
            pad(out, indent + 2);
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
            // Writing to a `String` cannot fail.
            c => drop(write!(out, "\\U{:08X}", u32::from(c))),
        }
    }
    out.push('"');
}

/// Returns true if a character may appear unescaped on one line of a YAML document.
///
/// This excludes control characters, Unicode line breaks and byte order marks.
fn is_printable(c: char) -> bool {
    let breaks = matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    c == '\t' || !(c.is_control() || breaks)
}

/// Returns true if a string needs no quotes. The check is stricter than the standard: in case of
/// doubt, quote.
fn is_plain(content: &str) -> bool {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if words.iter().any(|word| word.eq_ignore_ascii_case(content)) {
        return false;
    }
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./$(),=+*".contains(c);
    let inner = content.char_indices().all(|(at, c)| {
        // `: ` and ` #` have a meaning, and trailing blanks are lost.
        let after = content.get(at + 1..).and_then(|rest| rest.chars().next());
        safe(c) || (matches!(c, ':' | ' ') && after.is_some_and(safe))
    });
    inner && (begins_plainly(content) || is_quantity(content))
}

/// Returns true if the start of a string cannot be that of a number, a date or a time.
///
/// Those start with a digit, a sign or a point, also in old parsers. An option (`-v`, `--level`) or
/// a path (`./run.sh`) is safe.
fn begins_plainly(content: &str) -> bool {
    let rest = content.strip_prefix("--").or_else(|| content.strip_prefix('-')).unwrap_or(content);
    rest.starts_with(|c: char| c.is_ascii_alphabetic())
        || content.starts_with(['/', '$', '_'])
        || content.starts_with("./")
}

/// Returns true for digits with a unit, such as `512Mi` or `50m`, which no parser reads as a
/// number.
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
        fn written_yaml_reads_back_equal(value in values()) {
            let yaml = to_document(&value);
            let read: Value = serde_saphyr::from_str(&yaml).map_err(|error| TestCaseError::fail(format!("{error}\n{yaml}")))?;
            prop_assert_eq!(read, value, "{}", yaml);
        }
    }
}
