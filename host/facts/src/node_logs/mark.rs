//! Plumbline's own lines between those of the journal. Every value is a string, as in the journal,
//! and `MESSAGE` is for people.

use serde_json::{Map, Value};

/// Key of the first line if older lines did not fit.
pub const TRUNCATED: &str = "PLUMBLINE_TRUNCATED";
/// Key next to [`TRUNCATED`]: the number of missing lines.
pub const MISSING_LINES: &str = "PLUMBLINE_MISSING_LINES";
/// Key next to [`TRUNCATED`]: the number of missing bytes.
pub const MISSING_BYTES: &str = "PLUMBLINE_MISSING_BYTES";
/// Key next to [`TRUNCATED`]: the size limit in bytes.
pub const LIMIT_BYTES: &str = "PLUMBLINE_LIMIT_BYTES";
/// Key of a line at the end with a note about something unexpected.
pub const NOTE: &str = "PLUMBLINE_NOTE";
/// Key of a line at the end with the reason why logs are missing.
pub const FAILED: &str = "PLUMBLINE_FAILED";
/// Key of the only line for a machine without a journal.
pub const NO_JOURNAL: &str = "PLUMBLINE_NO_JOURNAL";

/// The amount of logs that did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

/// Returns the first line of a file in which older lines are missing.
pub(crate) fn truncated(missing: Missing, limit: u64) -> Vec<u8> {
    let Missing { lines, bytes } = missing;
    let message = format!("the oldest {lines} lines ({bytes} bytes) are left out: at most {limit} bytes are kept");
    let numbers = [(MISSING_LINES, lines), (MISSING_BYTES, bytes), (LIMIT_BYTES, limit)];
    line(TRUNCATED, "4", &message, &numbers)
}

/// Returns a line about something unexpected.
pub(crate) fn note(message: &str) -> Vec<u8> {
    line(NOTE, "4", message, &[])
}

/// Returns a line with the reason why logs are missing.
pub(crate) fn failed(message: &str) -> Vec<u8> {
    line(FAILED, "3", message, &[])
}

/// Returns the line for a machine without a journal.
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
