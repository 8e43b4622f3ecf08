//! Values as JSON and YAML, and text for one line: names, excerpts, sizes and durations.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, IntoInnerError, Write};

use plumbline_core::rollup::meaning;
use plumbline_core::text::{printable, steers_terminal};
use plumbline_core::{Item, Status};
use serde::Serialize;

/// The most characters of a one-line excerpt.
const MAX_LINE: usize = 160;

/// The first line that is not empty, without control characters, shortened to 160 characters.
pub fn one_line(text: &str) -> String {
    shortened(text, MAX_LINE)
}

/// The first line that is not empty, without control characters, shortened to `most` characters.
pub fn shortened(text: &str, most: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut out: String = line.chars().map(printable).take(most).collect();
    if line.chars().count() > most {
        out.push('…');
    }
    out
}

/// A name on one line, without control characters.
pub fn name(text: &str) -> String {
    text.chars().map(printable).collect()
}

/// The first line of a text, escaped for Markdown and HTML.
pub fn escape(text: &str) -> String {
    escape_line(&one_line(text))
}

/// The same for a line of any length, which may start with a space.
pub(super) fn escape_line(line: &str) -> String {
    let mut out = String::new();
    for c in line.chars().map(printable) {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // A mention would notify a user. Hosts look for mentions in the rendered text, so an escaped `@` is
            // one too. A space without width after it prevents that.
            '@' => out.push_str("@&#8203;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// A size for people: `512 B`, `1.5 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" || value >= 10.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// The number of leaves by what their statuses count as; timeouts count as failed.
#[derive(Default)]
pub(crate) struct LeafCounts<'a> {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    pub(crate) others: BTreeMap<&'a str, u64>,
}

impl<'a> LeafCounts<'a> {
    pub(crate) fn of(root: &'a Item) -> Self {
        let mut counts = Self::default();
        for leaf in root.leaves() {
            *match meaning(&leaf.status) {
                Status::Passed => &mut counts.passed,
                Status::Failed | Status::Timeout => &mut counts.failed,
                Status::Skipped => &mut counts.skipped,
                Status::Unknown | Status::NotRead | Status::Custom(_) => {
                    counts.others.entry(leaf.status.as_str()).or_default()
                }
            } += 1;
        }
        counts
    }

    pub(crate) fn other(&self) -> u64 {
        self.others.values().sum()
    }
}

/// A duration for people: `12 ms`, `1.9 s`, `3 min 20 s`, `2 h 5 min`.
pub fn short_seconds(seconds: f64) -> String {
    // Rounded first, so that no duration is shown as 60 s.
    let whole = seconds.round() as u64;
    if seconds < 0.9995 {
        return format!("{:.0} ms", seconds * 1000.0);
    }
    if seconds < 59.95 {
        return format!("{seconds:.1} s");
    }
    if whole < 3600 {
        return format!("{} min {} s", whole / 60, whole % 60);
    }
    format!("{} h {} min", whole / 3600, whole % 3600 / 60)
}

/// Prints `value` as indented JSON.
pub fn print_json(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    // The serializer writes many small pieces. The buffer passes each of them on as a whole, so it divides no
    // character.
    let mut buffer = BufWriter::new(JsonText(&mut *out));
    serde_json::to_writer_pretty(&mut buffer, value)?;
    buffer.into_inner().map_err(IntoInnerError::into_error)?;
    writeln!(out)
}

/// Prints `value` as JSON on one line.
pub fn print_json_line(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(JsonText(&mut *out), value)?;
    writeln!(out)
}

/// Prints `value` as a YAML document. If a text in it contains control characters, it is printed as
/// JSON, which is also YAML.
pub fn print_yaml(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    print_yaml_or_json(value, out).map(drop)
}

/// Prints `value` like [`print_yaml`]. Returns whether it is printed as JSON.
pub(crate) fn print_yaml_or_json(value: &impl Serialize, out: &mut impl Write) -> io::Result<bool> {
    let text = serde_saphyr::to_string(value).map_err(io::Error::other)?;
    let is_json = text.chars().any(|c| steers_terminal(c) && !matches!(c, '\n' | '\t'));
    if is_json {
        print_json(value, out)?;
    } else {
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(is_json)
}

/// Escapes characters in JSON that control a terminal, and starts of commands such as `##[` that CI
/// services read in any line of a log. This changes no value.
pub struct JsonText<W>(pub W);

impl<W: Write> Write for JsonText<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Most text needs no search.
        if bytes.is_ascii() && !bytes.contains(&0x7f) && !bytes.contains(&b'#') {
            return self.0.write_all(bytes).map(|()| bytes.len());
        }
        // The serializer writes whole characters, and escapes those below U+0020 by itself.
        let text = std::str::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        write_escaped(text, is_escaped, &mut self.0)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes a part of a JSON text. `is_escaped` says which characters have their escaped form, after the
/// text before them.
pub(super) fn write_escaped<W: Write + ?Sized>(
    text: &str,
    is_escaped: impl Fn(Option<&str>, char) -> bool,
    out: &mut W,
) -> io::Result<()> {
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|&(at, c)| is_escaped(rest.get(..at), c)) {
        let (before, after) = rest.split_at(at);
        // All of them are in the Basic Multilingual Plane.
        write!(out, "{before}\\u{:04x}", u32::from(c))?;
        rest = after.get(c.len_utf8()..).unwrap_or_default();
    }
    out.write_all(rest.as_bytes())
}

/// Returns whether JSON has a character in its escaped form, after the text `before`.
pub(super) fn is_escaped(before: Option<&str>, c: char) -> bool {
    match c {
        // Outside of strings, nothing ends in `##`.
        '[' => before.is_some_and(|before| before.trim_end_matches(|c: char| c.is_ascii_alphabetic()).ends_with("##")),
        c => c >= '\u{7f}' && steers_terminal(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::written;

    #[test]
    fn nothing_in_a_text_steers_the_terminal() {
        assert_eq!(one_line("\n  \u{1b}[31mred\tand\u{202e} more\nnext"), "\u{fffd}[31mred and\u{fffd} more");
        assert_eq!(one_line(&"x".repeat(500)).chars().count(), MAX_LINE + 1);
    }

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(24 << 10), "24 KiB");
        assert_eq!(size(3 << 30), "3.0 GiB");
    }

    #[test]
    fn seconds_are_read_at_a_glance() {
        for (seconds, text) in [
            (0.0, "0 ms"),
            (0.0123, "12 ms"),
            (0.9996, "1.0 s"),
            (1.94, "1.9 s"),
            (59.96, "1 min 0 s"),
            (200.4, "3 min 20 s"),
            (3599.6, "1 h 0 min"),
            (7500.0, "2 h 5 min"),
        ] {
            assert_eq!(short_seconds(seconds), text);
        }
    }

    #[test]
    fn json_has_no_command_of_a_ci_service() {
        let value =
            serde_json::json!({"##[a]": ["##[add-mask]x", "ä ##vso[task.setvariable]x", "a##", "[##"], "#[b": "# ["});
        let text = written(|out| print_json(&value, out));
        assert!(!text.contains("##[") && !text.contains("##vso["), "{text}");
        assert!(text.contains(r##""#[b": "# [""##), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn data_stays_what_it_is_and_steers_no_terminal() {
        let value = serde_json::json!({"a\u{9b}": ["\u{1b}[2J", "\u{202e}\u{7f}\u{200f}", "line\nline\tä 漢"]});
        let json = written(|out| print_json(&value, out));
        let line = written(|out| print_json_line(&value, out));
        for text in [json, line, written(|out| print_yaml(&value, out))] {
            assert!(!text.chars().any(|c| c != '\n' && steers_terminal(c)), "{text:?}");
            assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&text).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn no_character_of_a_long_document_is_divided() {
        let texts: Vec<String> = (0..5_000).map(|length| "漢".repeat(length % 7) + "\u{9b}").collect();
        let json = written(|out| print_json(&texts, out));
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), texts);
    }
}
