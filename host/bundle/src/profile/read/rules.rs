//! Rules for single texts of a profile, and the errors with their places.

use serde_json::Value;
use serde_saphyr::Spanned;

use super::raw::Text;
use crate::profile::error::ProfileError;
use crate::profile::model::VALUE_PLACEHOLDER;

/// Maximum length of texts for people, and of other texts, in bytes.
const MAX_PROSE: usize = 1000;
pub(super) const MAX_TEXT: usize = 500;
/// Maximum length of the name of an option or mode.
const MAX_NAME: usize = 63;
/// Maximum length of the name of an object, and of the prefix of an annotation, in bytes.
const MAX_CRD_NAME: usize = 253;

/// Variables that Plumbline sets (docs/definition.md).
const RESERVED: [&str; 3] = ["RESULTS_DIR", "NODE_NAME", "RESULT_TYPE"];
const RESERVED_PREFIXES: [&str; 2] = ["SONOBUOY", "PLUMBLINE_"];

pub(super) fn line<T>(spanned: &Spanned<T>) -> u64 {
    spanned.referenced.line()
}

pub(super) fn invalid<T>(path: impl Into<String>, at: &Spanned<T>, why: impl Into<String>) -> ProfileError {
    ProfileError::Invalid { path: path.into(), why: why.into(), line: line(at) }
}

pub(super) fn bounded(key: &str, count: usize, most: usize) -> Result<(), ProfileError> {
    if count <= most {
        return Ok(());
    }
    Err(ProfileError::Invalid {
        path: key.to_owned(),
        why: format!("it has {count} entries, more than {most}"),
        line: 1,
    })
}

/// Checks a text that people read.
pub(super) fn prose(path: &str, text: Text) -> Result<String, ProfileError> {
    let value = text.value.trim();
    if value.is_empty() || value.len() > MAX_PROSE || value.chars().any(|c| c.is_control() && c != '\n') {
        return Err(invalid(path, &text, format!("write 1 to {MAX_PROSE} characters without control characters")));
    }
    Ok(value.split_whitespace().collect::<Vec<_>>().join(" "))
}

pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// Returns the expression that matches what one of these expressions matches.
pub(super) fn alternation(alternatives: &[Value]) -> Option<String> {
    let texts: Option<Vec<&str>> = alternatives.iter().map(Value::as_str).collect();
    texts.filter(|texts| !texts.is_empty() && texts.iter().all(|text| !text.is_empty())).map(|texts| texts.join("|"))
}

/// Checks the name of an option or mode.
pub(super) fn word(path: &str, text: &Text) -> Result<(), ProfileError> {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let name = &text.value;
    let fits = name.len() <= MAX_NAME
        && name.starts_with(edge)
        && name.ends_with(edge)
        && name.chars().all(|c| edge(c) || c == '-' || c == '.');
    match fits {
        true => Ok(()),
        false => Err(invalid(
            path,
            text,
            format!("invalid name `{}`: use lower-case letters, digits, `-` and `.`, at most {MAX_NAME}", cut(name)),
        )),
    }
}

pub(super) fn variable(path: &str, text: &Text) -> Result<(), ProfileError> {
    let name = &text.value;
    let fits = name.len() <= MAX_TEXT
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !fits {
        return Err(invalid(path, text, format!("invalid variable name `{}`", cut(name))));
    }
    if RESERVED.contains(&name.as_str()) || RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return Err(invalid(path, text, format!("Plumbline sets `{}` itself: use another variable", cut(name))));
    }
    Ok(())
}

pub(super) fn fits_argument(arg: &str) -> bool {
    arg.len() <= MAX_TEXT && !arg.contains(char::is_control) && arg.matches(VALUE_PLACEHOLDER).count() == 1
}

/// Returns whether `key` can be a key of `plumbline.options`.
pub(super) fn is_option_key(key: &str) -> bool {
    (1..=MAX_NAME).contains(&key.len())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Returns whether `text` is the name of a custom resource definition: a plural, and a group with a
/// dot.
pub(super) fn is_crd_name(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= MAX_CRD_NAME && text.split('.').count() >= 3 && text.split('.').all(label)
}

/// Returns whether `text` is the key of an annotation: a name, after a prefix and a slash if it has
/// one.
pub(super) fn is_annotation(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let (prefix, name) = text.split_once('/').unwrap_or(("a", text));
    (1..=MAX_NAME).contains(&name.len())
        && (1..=MAX_CRD_NAME).contains(&prefix.len())
        && name.bytes().all(plain)
        && prefix.bytes().all(plain)
}

pub(super) fn is_file_name(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && !text.starts_with('.')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Returns whether `path` names a file of a bundle, without characters of patterns.
pub(super) fn is_pattern_free(path: &str) -> bool {
    is_relative(path) && !path.contains(['{', '}', '*', '?', '[', ']'])
}

/// Returns whether `path` is relative and plain: it leads out of no directory.
pub(super) fn is_relative(path: &str) -> bool {
    path.len() <= MAX_TEXT
        && !path.contains(|c: char| c.is_control() || c == '\\')
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

pub(super) fn cut(text: &str) -> String {
    plumbline_core::text::shortened(text, 100)
}
