//! The parts of an entry that the module uses.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::priority;

/// A line: an entry of the journal, or a line of the worker's own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Entry {
    #[serde(rename = "PRIORITY")]
    priority: Text,
    #[serde(rename = "MESSAGE")]
    message: Text,
    #[serde(rename = "_SYSTEMD_UNIT")]
    systemd_unit: Text,
    #[serde(rename = "UNIT")]
    unit: Text,
    #[serde(rename = "_TRANSPORT")]
    transport: Text,
    #[serde(rename = "SYSLOG_IDENTIFIER")]
    identifier: Text,
    #[serde(rename = "_COMM")]
    command: Text,
    #[serde(rename = "__REALTIME_TIMESTAMP")]
    realtime: Text,
    #[serde(rename = "PLUMBLINE_TRUNCATED")]
    truncated: Text,
    #[serde(rename = "PLUMBLINE_NOTE")]
    note: Text,
    #[serde(rename = "PLUMBLINE_FAILED")]
    failed: Text,
    #[serde(rename = "PLUMBLINE_NO_JOURNAL")]
    no_journal: Text,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An entry of the journal.
    Entry,
    /// A note about the other lines.
    Warning,
    /// Why logs are missing.
    Failed,
    /// The machine has no journal.
    NoJournal,
}

impl Entry {
    /// Parses a line.
    pub(crate) fn read(line: &[u8]) -> Result<Self, String> {
        if line.first() != Some(&b'{') {
            return Err("it is not a JSON object".to_owned());
        }
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }

    pub(crate) fn kind(&self) -> Kind {
        // Only the worker writes lines with these keys and without a timestamp. A line that someone
        // logs with these keys has one, and is an ordinary entry.
        let own = |mark: &Text| mark.is_there() && !self.realtime.is_there();
        if own(&self.failed) {
            Kind::Failed
        } else if own(&self.no_journal) {
            Kind::NoJournal
        } else if own(&self.truncated) || own(&self.note) {
            Kind::Warning
        } else {
            Kind::Entry
        }
    }

    pub(crate) fn priority(&self) -> Option<usize> {
        priority::number(self.priority.as_str())
    }

    /// Returns the unit of the entry.
    pub(crate) fn unit(&self) -> &str {
        let manager = self.systemd_unit.as_str() == "init.scope" && self.unit.is_there();
        let kernel = self.transport.as_str() == "kernel";
        let candidates = [
            if manager { self.unit.as_str() } else { "" },
            self.systemd_unit.as_str(),
            if kernel { "kernel" } else { "" },
            self.identifier.as_str(),
            self.command.as_str(),
        ];
        candidates.into_iter().find(|name| !name.is_empty()).unwrap_or("unknown")
    }

    pub(crate) fn message(&self) -> &str {
        self.message.as_str()
    }

    /// Returns the time in microseconds since 1970.
    pub(crate) fn time(&self) -> Option<u64> {
        self.realtime.as_str().parse().ok()
    }
}

/// A value of the journal: a string, a list of bytes, or a list of several of these, of which the
/// first is used.
#[derive(Debug, Default)]
struct Text(Option<String>);

impl Text {
    fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    fn is_there(&self) -> bool {
        !self.as_str().is_empty()
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of the journal")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(Some(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Text, E> {
        Ok(Text(Some(text)))
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Text, E> {
        Ok(Text(Some(value.to_string())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Text, E> {
        Ok(Text(Some(value.to_string())))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Text, E> {
        Ok(Text(Some(value.to_string())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Text, E> {
        Ok(Text(Some(value.to_string())))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Text, A::Error> {
        let mut bytes: Vec<u8> = Vec::new();
        let mut first = None;
        while let Some(item) = items.next_element::<Value>()? {
            match byte(&item) {
                Some(byte) => bytes.push(byte),
                None => drop(first.get_or_insert_with(|| nested(item))),
            }
        }
        Ok(Text(Some(first.unwrap_or_else(|| lossy(&bytes)))))
    }
}

/// Returns the text of an element of a list: a string or a list of bytes. Deeper lists do not occur and
/// are ignored.
fn nested(item: Value) -> String {
    match item {
        Value::String(text) => text,
        Value::Array(items) => {
            items.iter().map(byte).collect::<Option<Vec<u8>>>().map_or_else(String::new, |bytes| lossy(&bytes))
        }
        _ => String::new(),
    }
}

fn byte(value: &Value) -> Option<u8> {
    value.as_u64().and_then(|number| u8::try_from(number).ok())
}

/// Shows bytes that are not valid text with replacement characters.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Entry {
        Entry::read(line.as_bytes()).unwrap()
    }

    #[test]
    fn values_in_all_their_shapes() {
        for (value, expected) in [
            (r#""text""#, "text"),
            ("[104,105]", "hi"),
            ("[104,255]", "h\u{fffd}"),
            (r#"["one","two"]"#, "one"),
            (r#"[[104,105],"two"]"#, "hi"),
            ("null", ""),
            ("7", "7"),
            (r#"{"a":1}"#, ""),
            ("[]", ""),
            ("[[[1]]]", ""),
            ("[300]", ""),
        ] {
            assert_eq!(read(&format!(r#"{{"MESSAGE":{value},"OTHER":[[{{}}]]}}"#)).message(), expected, "{value}");
        }
    }

    #[test]
    fn whom_an_entry_is_about() {
        for (line, expected) in [
            (r#"{"_SYSTEMD_UNIT":"a.service","SYSLOG_IDENTIFIER":"x"}"#, "a.service"),
            (r#"{"_SYSTEMD_UNIT":"init.scope","UNIT":"b.service"}"#, "b.service"),
            (r#"{"_SYSTEMD_UNIT":"a.service","UNIT":"b.service"}"#, "a.service"),
            (r#"{"_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel"}"#, "kernel"),
            (r#"{"SYSLOG_IDENTIFIER":"x","_COMM":"y"}"#, "x"),
            (r#"{"_COMM":"y"}"#, "y"),
            ("{}", "unknown"),
        ] {
            assert_eq!(read(line).unit(), expected, "{line}");
        }
    }

    #[test]
    fn marks_are_the_workers_alone() {
        assert_eq!(read(r#"{"PLUMBLINE_FAILED":"1"}"#).kind(), Kind::Failed);
        assert_eq!(read(r#"{"PLUMBLINE_NOTE":"1"}"#).kind(), Kind::Warning);
        let forged = r#"{"PLUMBLINE_NO_JOURNAL":"1","__REALTIME_TIMESTAMP":"5"}"#;
        assert_eq!(read(forged).kind(), Kind::Entry);
        assert!(Entry::read(b"[1]").is_err() && Entry::read(b"{").is_err() && Entry::read(b"").is_err());
    }
}
