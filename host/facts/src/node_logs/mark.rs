//! Lines of our own between those of the journal. Every value is text, as in the journal, and `MESSAGE` is for people.

use serde_json::{Map, Value};

/// Key of the first line when older lines did not fit.
pub const TRUNCATED: &str = "PLUMBLINE_TRUNCATED";
/// Beside [`TRUNCATED`]: how many lines are missing.
pub const MISSING_LINES: &str = "PLUMBLINE_MISSING_LINES";
/// Beside [`TRUNCATED`]: how many bytes are missing.
pub const MISSING_BYTES: &str = "PLUMBLINE_MISSING_BYTES";
/// Beside [`TRUNCATED`]: how many bytes are kept at most.
pub const LIMIT_BYTES: &str = "PLUMBLINE_LIMIT_BYTES";
/// Key of a line, at the end, about something odd.
pub const NOTE: &str = "PLUMBLINE_NOTE";
/// Key of a line, at the end, that says why logs are missing.
pub const FAILED: &str = "PLUMBLINE_FAILED";
/// Key of the only line of a machine without a journal.
pub const NO_JOURNAL: &str = "PLUMBLINE_NO_JOURNAL";

/// What was not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

/// The first line, when older ones are missing.
pub(crate) fn truncated(missing: Missing, limit: u64) -> Vec<u8> {
    let Missing { lines, bytes } = missing;
    let message = format!("the oldest {lines} lines ({bytes} bytes) are left out: at most {limit} bytes are kept");
    let numbers = [(MISSING_LINES, lines), (MISSING_BYTES, bytes), (LIMIT_BYTES, limit)];
    line(TRUNCATED, "4", &message, &numbers)
}

/// A line about something odd.
pub(crate) fn note(message: &str) -> Vec<u8> {
    line(NOTE, "4", message, &[])
}

/// A line that says why logs are missing.
pub(crate) fn failed(message: &str) -> Vec<u8> {
    line(FAILED, "3", message, &[])
}

/// The line of a machine without a journal.
pub(crate) fn no_journal(message: &str) -> Vec<u8> {
    line(NO_JOURNAL, "5", message, &[])
}

fn line(kind: &str, priority: &str, message: &str, numbers: &[(&str, u64)]) -> Vec<u8> {
    let mut fields = Map::new();
    let mut put = |key: &str, value: String| drop(fields.insert(key.to_owned(), Value::String(value)));
    put(kind, "1".to_owned());
    for (key, number) in numbers {
        put(key, number.to_string());
    }
    put("SYSLOG_IDENTIFIER", "plumbline".to_owned());
    put("PRIORITY", priority.to_owned());
    put("MESSAGE", message.to_owned());
    let mut line = Value::Object(fields).to_string().into_bytes();
    line.push(b'\n');
    line
}
