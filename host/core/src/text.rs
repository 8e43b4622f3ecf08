//! Text for people: untrusted text made safe for a terminal, shortening, quoting, suggestions for
//! mistyped names, and errors with their causes.

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::path::Path;

use serde_json::Value;

/// The number of characters of a foreign value that a message repeats.
const MAX_SHOWN: usize = 60;

/// The length in bytes above which a string gets no suggestion. Real keys and names are shorter,
/// and a string from outside may be as long as a document.
const MAX_SUGGESTED: usize = 64;

/// The special characters of Go regular expressions, as in Go's own `QuoteMeta`.
const SPECIAL: &[char] = &['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'];

/// One line of text that is safe to print: it has no line break, and no character that controls a
/// terminal.
///
/// Every constructor sanitizes. So a message or a view that takes this type accepts text from
/// outside, and no caller has to remember to sanitize it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Printable(String);

impl Printable {
    /// Returns the first `most` characters of `text`, followed by `…` if there are more. Characters
    /// that control a terminal are escaped, such as `\n` or `\u{1b}`.
    pub fn escaped(text: &str, most: usize) -> Self {
        let start = first_chars(text, most);
        let mut shown = String::with_capacity(start.len());
        for c in start.chars() {
            if steers_terminal(c) {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
        }
        if start.len() < text.len() {
            shown.push('…');
        }
        Self(shown)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Replaces characters that control a terminal, as [`one_line`] does.
impl<T: AsRef<str>> From<T> for Printable {
    fn from(text: T) -> Self {
        Self(one_line(text.as_ref()))
    }
}

impl From<Printable> for String {
    fn from(text: Printable) -> Self {
        text.0
    }
}

impl Deref for Printable {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for Printable {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for Printable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Returns whether a terminal acts on `c` instead of displaying it, or reorders the text around it.
///
/// These are control characters, line and paragraph separators, and marks that control the
/// direction of text (Unicode UAX #9).
pub fn steers_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Replaces a character that controls a terminal: a tab by a space, any other by U+FFFD. Returns
/// all other characters unchanged.
pub fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if steers_terminal(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// Returns `text` as one printable line. Line breaks become spaces.
pub fn one_line(text: &str) -> String {
    text.trim_end_matches(['\n', '\r'])
        .replace("\r\n", " ")
        .chars()
        .map(|c| if c == '\n' { ' ' } else { printable(c) })
        .collect()
}

/// Returns a log line as printable text, like [`one_line`], but keeps escape sequences that only
/// set colors.
pub fn coloured_line(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line.trim_end_matches(['\n', '\r']);
    while let Some(start) = rest.find("\u{1b}[") {
        let (before, sequence) = rest.split_at(start);
        shown.extend(before.chars().map(printable));
        let parameters = sequence.get(2..).unwrap_or_default();
        let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':');
        match end.filter(|end| parameters.get(*end..).is_some_and(|rest| rest.starts_with('m'))) {
            Some(end) => {
                let (colour, after) = sequence.split_at(2 + end + 1);
                shown.push_str(colour);
                rest = after;
            }
            None => {
                shown.push(char::REPLACEMENT_CHARACTER);
                rest = sequence.get(1..).unwrap_or_default();
            }
        }
    }
    shown.extend(rest.chars().map(printable));
    shown
}

/// Returns the first `most` characters of `text`.
pub fn first_chars(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Returns the first `most` characters of `text`, followed by `…` if there are more.
pub fn shortened(text: &str, most: usize) -> String {
    let start = first_chars(text, most);
    if start.len() < text.len() { format!("{start}…") } else { text.to_owned() }
}

/// Returns the first `most` characters of `text` as one line, followed by `…` if there are more.
pub fn excerpt(text: &str, most: usize) -> String {
    let start = first_chars(text, most);
    let mut shown = one_line(start);
    if start.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Returns the lines of `text` as printable text. Lines after the first start with `indent`, so
/// that none of them looks like a separate message.
pub fn indented(text: &str, indent: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(one_line).collect();
    lines.join(&format!("\n{indent}"))
}

/// Joins the first `most` of `items` with `separator`, and appends how many more there are.
pub fn listed<T: AsRef<str>>(items: &[T], most: usize, separator: &str) -> String {
    let mut shown: Vec<String> = items.iter().take(most).map(|item| one_line(item.as_ref())).collect();
    if items.len() > most {
        shown.push(format!("… {} more", items.len().saturating_sub(most)));
    }
    shown.join(separator)
}

/// Describes a JSON value for a message about its type. `object` is what the format calls a mapping.
pub(crate) fn described(value: &Value, object: &str) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(truth) => format!("`{truth}`"),
        Value::Number(number) => format!("the number `{number}`"),
        Value::String(text) => format!("the text `{}`", first_chars(text, MAX_SHOWN)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => object.to_owned(),
    }
}

/// Returns the message of `error` and of all its causes, separated by `: `.
///
/// A cause is left out if the text so far already contains its message. Some libraries repeat the
/// message of a cause in their own.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        if !text.contains(&message) {
            text += ": ";
            text += &message;
        }
        next = cause.source();
    }
    text
}

/// Returns the entry of `known` that `typed` most likely stands for, or `None` if none is similar.
///
/// Up to a third of the letters may differ, but not all of them. Case is ignored, `_` equals `-`,
/// and two swapped letters count as one mistake.
pub fn closest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if typed.len() > MAX_SUGGESTED {
        return None;
    }
    let plain = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    let typed = plain(typed);
    let letters = typed.chars().count();
    let near = known.into_iter().filter(|known| known.len() <= MAX_SUGGESTED);
    let near = near.map(|known| (strsim::osa_distance(&typed, &plain(known)), known));
    let near = near.filter(|&(distance, known)| distance <= (known.chars().count() / 3).max(1) && distance < letters);
    near.min().map(|(_, known)| known)
}

/// Returns a Go regular expression (RE2) that matches exactly `text`.
pub fn go_quote(text: &str) -> String {
    text.chars().flat_map(|c| SPECIAL.contains(&c).then_some('\\').into_iter().chain([c])).collect()
}

/// Quotes `text` as one word of a POSIX shell command. Text that is safe stays unchanged, and other
/// text is put in single quotes.
pub fn shell_quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%_+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes `path` as one argument of a POSIX shell command that no program mistakes for an option.
pub fn shell_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.starts_with('-') { shell_quote(&format!("./{text}")) } else { shell_quote(&text) }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
