//! Bounds and cleans what the server answers. Everything in it may come from an archive.

use plumbline_core::text::{first_chars, printable};
use serde_json::{Map, Value, json};

use crate::error::AppError;

/// The most entries of a list in an answer.
pub(super) const MAX_ENTRIES: usize = 50;

/// The size of a list in bytes of JSON at which the answer ends.
const MAX_BYTES: usize = 40 << 10;

/// The most bytes of JSON of an entry, except for a few notes on what was cut.
const MAX_ENTRY_BYTES: usize = 32 << 10;

/// The most bytes of JSON of a list that an answer has next to its pages, and of facts about a run.
pub(super) const MAX_PART_BYTES: usize = 8 << 10;

/// The bytes that the next member of an object or list needs. With fewer, the rest is cut.
const MIN_ROOM: usize = 64;

/// The most characters of a text, unless the tool is about this text.
const MAX_CHARS: usize = 2_000;

/// The most members of an object, and elements of a list, inside an entry.
const MAX_MEMBERS: usize = 100;

/// The most levels of an entry.
const MAX_LEVELS: usize = 8;

/// A part of a list, from a cursor to where the answer is full.
pub(super) struct Page {
    from: usize,
    entries: Vec<Value>,
    bytes: usize,
    /// The number of entries of the whole list so far.
    total: usize,
    is_full: bool,
}

impl Page {
    /// Starts after the entries that earlier answers had. `cursor` is from the answer before.
    pub(super) fn new(cursor: Option<&str>) -> Result<Self, AppError> {
        let from = cursor.map_or(Ok(0), str::parse);
        let from = from.map_err(|_| AppError::usage("invalid cursor").hint("pass `cursor` of the answer before"))?;
        Ok(Self { from, entries: Vec::new(), bytes: 0, total: 0, is_full: false })
    }

    /// Adds the next entry of the list, if it belongs to this part.
    pub(super) fn push(&mut self, entry: impl FnOnce() -> Value) {
        self.push_long(|| clean(entry()));
    }

    /// Adds an entry that is already clean and bounded, because its texts may be longer than those of
    /// others.
    pub(super) fn push_long(&mut self, entry: impl FnOnce() -> Value) {
        let at = self.total;
        self.total += 1;
        if at < self.from || self.is_full {
            return;
        }
        let entry = entry();
        let bytes = entry.to_string().len();
        // One entry always fits, because it is bounded.
        if self.entries.len() >= MAX_ENTRIES || (self.bytes + bytes > MAX_BYTES && !self.entries.is_empty()) {
            self.is_full = true;
            return;
        }
        self.bytes += bytes;
        self.entries.push(entry);
    }

    /// Ends the list. Returns `answer` with it as `key`, and a cursor if there is more.
    pub(super) fn finish(self, key: &str, answer: Value) -> Value {
        let mut answer = members(answer);
        let next = self.from.saturating_add(self.entries.len());
        answer.insert("total".to_owned(), json!(self.total));
        answer.insert("cursor".to_owned(), json!((next < self.total).then(|| next.to_string())));
        answer.insert(key.to_owned(), Value::Array(self.entries));
        answer.into()
    }
}

/// The members of an object.
pub(super) fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Removes what no text of an entry may have, and cuts what is too long, with a note.
pub(super) fn clean(value: Value) -> Value {
    clean_within(value, MAX_ENTRY_BYTES)
}

/// Does the same as [`clean`], with at most `bytes` of JSON.
pub(super) fn clean_within(value: Value, bytes: usize) -> Value {
    Cleaner { room: bytes }.value(value, MAX_LEVELS)
}

/// Cleans a value, as long as there is room.
struct Cleaner {
    /// The bytes of JSON that the value may still take.
    room: usize,
}

impl Cleaner {
    fn value(&mut self, value: Value, levels: usize) -> Value {
        if value.is_array() || value.is_object() {
            // The brackets, and what separates it from the next value.
            self.room = self.room.saturating_sub(3);
            if levels == 0 {
                return self.note("(deeper levels are cut)");
            }
        }
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Array(list) => self.list(list, levels.saturating_sub(1)),
            Value::Object(members) => self.object(members, levels.saturating_sub(1)),
            other => {
                self.take(&other);
                other
            }
        }
    }

    fn list(&mut self, list: Vec<Value>, levels: usize) -> Value {
        let all = list.len();
        let mut shown = Vec::new();
        for value in list.into_iter().take(MAX_MEMBERS) {
            if self.room < MIN_ROOM {
                break;
            }
            shown.push(self.value(value, levels));
        }
        let more = all - shown.len();
        if more > 0 {
            shown.push(self.note(&format!("({more} more are cut)")));
        }
        shown.into()
    }

    fn object(&mut self, members: Map<String, Value>, levels: usize) -> Value {
        let members = members.into_iter().filter(|(_, value)| !value.is_null());
        // Lists and objects come last, because one of them may take all the room.
        let (large, small): (Vec<_>, Vec<_>) = members.partition(|(_, value)| value.is_array() || value.is_object());
        let mut more = large.len() + small.len();
        let mut shown = Map::new();
        for (key, value) in small.into_iter().chain(large).take(MAX_MEMBERS) {
            if self.room < MIN_ROOM {
                break;
            }
            let (key, value) = (self.text(&key), self.value(value, levels));
            shown.insert(key, value);
            more -= 1;
        }
        if more > 0 {
            shown.insert("cut".to_owned(), self.note(&format!("{more} more members")));
        }
        shown.into()
    }

    /// Returns a note on what was cut. It is never cut itself: there is one for each open list or object.
    fn note(&mut self, note: &str) -> Value {
        let note = Value::from(note);
        self.take(&note);
        note
    }

    /// Returns the text, or its start if there is no room for more.
    fn text(&mut self, text: &str) -> String {
        let mut shown = text_of(text, MAX_CHARS);
        if json_bytes(&shown.as_str().into()) > self.room {
            // A character takes up to four bytes.
            shown = text_of(text, self.room / 8);
        }
        self.take(&shown.as_str().into());
        shown
    }

    fn take(&mut self, value: &Value) {
        self.room = self.room.saturating_sub(json_bytes(value));
    }
}

/// Returns the bytes that a value takes in JSON, with those that separate it from the next one.
fn json_bytes(value: &Value) -> usize {
    value.to_string().len() + 2
}

/// The text without control characters other than line breaks and tabs, and cut after `most`
/// characters.
pub(super) fn text_of(text: &str, most: usize) -> String {
    let start = first_chars(text, most);
    let mut shown: String = start.chars().map(plain).collect();
    if start.len() < text.len() {
        shown.push_str(&format!("… ({} more bytes are cut)", text.len() - start.len()));
    }
    shown
}

/// The start and the end of a long text, of `most` characters in total.
pub(super) fn ends_of(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.chars().map(plain).collect();
    }
    // The end of a log says more than its start.
    let (head, tail) = (most / 4, most - most / 4);
    let start: String = text.chars().take(head).map(plain).collect();
    let end: String = text.chars().skip(count - tail).map(plain).collect();
    format!("{start}\n… ({} characters are cut)\n{end}", count - most)
}

fn plain(c: char) -> char {
    if matches!(c, '\n' | '\t') { c } else { printable(c) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_until_the_end() {
        let list: Vec<String> = (0..173).map(|n| format!("{n} {}", "x".repeat(n * 30))).collect();
        let (mut seen, mut cursor, mut answers) = (Vec::new(), None, 0);
        loop {
            let mut page = Page::new(cursor.as_deref()).unwrap();
            list.iter().for_each(|entry| page.push(|| json!(entry)));
            let answer = page.finish("list", json!({}));
            assert_eq!(answer["total"], 173);
            assert!(answer.to_string().len() < MAX_BYTES + 10_000);
            seen.extend(answer["list"].as_array().unwrap().iter().map(|entry| entry.as_str().unwrap().to_owned()));
            answers += 1;
            match answer["cursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        let shown: Vec<String> = list.iter().map(|entry| text_of(entry, MAX_CHARS)).collect();
        assert_eq!(seen, shown);
        assert!(answers > 3, "{answers}");
        assert!(Page::new(Some("-1")).is_err());
    }

    #[test]
    fn an_entry_has_a_limit_for_all_its_texts() {
        let text = "é\"\n".repeat(300);
        let mut wide = json!(text);
        for _ in 0..3 {
            wide = Value::Object((0..20).map(|n| (format!("{n} {text}"), wide.clone())).collect());
        }
        let lists = json!(vec![vec![vec!["\"".repeat(3_000); 90]; 90]; 2]);
        let numbers = json!(vec![vec![vec![0.123_456_789; 100]; 100]; 10]);
        let empty = json!(vec![vec![vec![Vec::<u8>::new(); 100]; 100]; 100]);
        for value in [wide, lists, numbers, empty] {
            let shown = clean(value).to_string();
            assert!((MAX_ENTRY_BYTES / 2..MAX_ENTRY_BYTES + 1_000).contains(&shown.len()), "{}", shown.len());
            assert!(shown.contains(" more are cut)") || shown.contains(" more members\""), "{shown}");
        }
        // Texts and numbers of an object have room before its lists.
        let shown = clean(json!({"a": vec!["x".repeat(2_000); 90], "z": "last", "y": 1}));
        assert_eq!((&shown["z"], &shown["y"]), (&json!("last"), &json!(1)));
        assert!(shown["a"].to_string().contains("more are cut)"));
    }

    #[test]
    fn nothing_from_outside_is_longer_or_deeper_than_the_limits() {
        let mut deep = json!("end");
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert!(clean(deep).to_string().len() < 100);
        let long = json!({"a\u{1b}[2J\u{202e}": "é".repeat(10_000), "list": vec![1; 1_000], "none": null});
        let shown = clean(long);
        let text = shown.to_string();
        assert!(text.len() < 6_000 && !text.contains(['\u{1b}', '\u{202e}']), "{}", text.len());
        assert_eq!(shown["list"].as_array().unwrap().len(), MAX_MEMBERS + 1);
        assert!(text.contains("(16000 more bytes are cut)"), "{text}");
        assert_eq!(ends_of(&"ab".repeat(50), 8), "ab\n… (92 characters are cut)\nababab");
    }
}
