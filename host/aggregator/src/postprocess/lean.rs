//! Reader for result trees that are too large to hold completely. It keeps the names, statuses and
//! metadata of all items, and the details of those that did not pass.
//!
//! Like [`super::leaves`], it reads only trees that this program has written.

use std::io::{self, BufRead};

use plumbline_core::{Item, Status};
use serde_json::Value;

use super::leaves::{foreign, next_line, scalar};

/// Memory limits for a tree.
#[derive(Debug, Clone, Copy)]
pub struct LeanLimits {
    /// Maximum size of one text in bytes, 1 MiB by default. A longer text is left out.
    pub text_bytes: usize,
    /// Maximum size of all details in bytes, 256 MiB by default. Further details are left out.
    pub details_bytes: usize,
    /// Maximum size of names, statuses and metadata in bytes, 1 GiB by default. More is an error.
    pub other_bytes: usize,
    /// Maximum number of items, 5,000,000 by default, as many as a module may emit by default. More
    /// is an error.
    pub items: usize,
}

impl Default for LeanLimits {
    fn default() -> Self {
        Self { text_bytes: 1 << 20, details_bytes: 256 << 20, other_bytes: 1 << 30, items: 5_000_000 }
    }
}

/// A tree without the details that exceed the limits.
#[derive(Debug, Clone, PartialEq)]
pub struct LeanTree {
    /// Root of the tree.
    pub root: Item,
    /// Number of details and texts that were left out.
    pub left_out: u64,
}

/// Replacement for a name that is too long.
const LONG_NAME: &str = "(a very long name)";

/// Reads the tree in `from`.
///
/// # Errors
/// When it is not readable, was not written by this program, or exceeds `limits` for items, or for
/// names and metadata.
pub fn read_lean(mut from: impl BufRead, limits: &LeanLimits) -> io::Result<LeanTree> {
    let mut reader =
        Reader { limits, open: Vec::new(), section: Section::Item, details: 0, other: 0, items: 0, left_out: 0 };
    let mut line = Vec::new();
    while let Some(whole) = next_line(&mut from, &mut line, limits.text_bytes)? {
        reader.line(&line, whole)?;
    }
    while reader.open.len() > 1 {
        reader.close();
    }
    let root = reader.open.pop().ok_or_else(foreign)?;
    Ok(LeanTree { root, left_out: reader.left_out })
}

/// Section of an item that the following lines belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Item,
    Meta,
    Details,
}

struct Reader<'a> {
    limits: &'a LeanLimits,
    /// The root, and the incomplete items below it, each a child of the previous one.
    open: Vec<Item>,
    section: Section,
    details: usize,
    other: usize,
    items: usize,
    left_out: u64,
}

impl Reader<'_> {
    fn line(&mut self, line: &[u8], whole: bool) -> io::Result<()> {
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let body = line.get(indent..).unwrap_or_default();
        if let Some(name) = body.strip_prefix(b"- name: ") {
            let depth = indent / 2 + 1;
            if self.open.len() < depth {
                return Err(foreign());
            }
            while self.open.len() > depth {
                self.close();
            }
            return self.begin(name, whole);
        }
        if let (Some(name), true) = (body.strip_prefix(b"name: "), self.open.is_empty()) {
            return self.begin(name, whole);
        }
        let level = self.open.len().checked_sub(1).ok_or_else(foreign)?;
        // Keys of the root are in the first column, and those of each lower level are indented by
        // two more spaces.
        match indent.checked_sub(level * 2) {
            Some(0) => self.key(body),
            Some(2) if self.section != Section::Item => self.entry(body, whole),
            _ => Err(foreign()),
        }
    }

    fn begin(&mut self, name: &[u8], whole: bool) -> io::Result<()> {
        self.items += 1;
        if self.items > self.limits.items {
            return Err(too_large(format!("more than {} items", self.limits.items)));
        }
        let name = if whole {
            scalar(name)?
        } else {
            self.left_out += 1;
            LONG_NAME.to_owned()
        };
        self.hold(name.len())?;
        self.open.push(Item { name, ..Item::default() });
        self.section = Section::Item;
        Ok(())
    }

    fn key(&mut self, body: &[u8]) -> io::Result<()> {
        self.section = match body {
            b"meta:" => Section::Meta,
            b"details:" => Section::Details,
            b"items:" => Section::Item,
            _ => {
                let status = Status::from(scalar(body.strip_prefix(b"status: ").ok_or_else(foreign)?)?);
                self.hold(if status.is_custom() { status.as_str().len() } else { 0 })?;
                self.open.last_mut().ok_or_else(foreign)?.status = status;
                Section::Item
            }
        };
        Ok(())
    }

    fn entry(&mut self, body: &[u8], whole: bool) -> io::Result<()> {
        if !whole {
            self.left_out += 1;
            return Ok(());
        }
        if self.section == Section::Meta {
            let (key, value) = key_and_value(body)?;
            let value = scalar(value)?;
            self.hold(key.len() + value.len())?;
            self.open.last_mut().ok_or_else(foreign)?.meta.insert(key, value);
            return Ok(());
        }
        let item = self.open.last_mut().ok_or_else(foreign)?;
        let fits = self.details.saturating_add(body.len()) <= self.limits.details_bytes;
        if matches!(item.status, Status::Passed | Status::Skipped) || !fits {
            self.left_out += 1;
            return Ok(());
        }
        let (key, value) = key_and_value(body)?;
        let value = match value.first() {
            Some(b'"' | b'[' | b'{' | b'-' | b'0'..=b'9') => serde_json::from_slice(value).map_err(|_| foreign())?,
            _ if matches!(value, b"true" | b"false" | b"null") => {
                serde_json::from_slice(value).map_err(|_| foreign())?
            }
            _ => Value::String(scalar(value)?),
        };
        self.details += body.len();
        item.details.insert(key, value);
        Ok(())
    }

    /// Counts bytes that are always kept.
    fn hold(&mut self, bytes: usize) -> io::Result<()> {
        self.other = self.other.saturating_add(bytes);
        if self.other > self.limits.other_bytes {
            return Err(too_large(format!("more than {} bytes of names and meta", self.limits.other_bytes)));
        }
        Ok(())
    }

    /// Adds the last item to its parent.
    fn close(&mut self) {
        if let Some(item) = self.open.pop()
            && let Some(parent) = self.open.last_mut()
        {
            parent.items.push(item);
        }
    }
}

/// Splits `KEY: VALUE`.
fn key_and_value(body: &[u8]) -> io::Result<(String, &[u8])> {
    let at = match body.first() {
        Some(b'"') => {
            let mut keys = serde_json::Deserializer::from_slice(body).into_iter::<String>();
            keys.next().and_then(Result::ok).ok_or_else(foreign)?;
            keys.byte_offset()
        }
        _ => body.iter().position(|byte| *byte == b':').ok_or_else(foreign)?,
    };
    let (key, rest) = body.split_at(at);
    Ok((scalar(key)?, rest.strip_prefix(b": ").ok_or_else(foreign)?))
}

fn too_large(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the result tree is too large: it has {what}"))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use plumbline_core::FlatItem;
    use serde_json::json;

    use super::*;
    use crate::postprocess::leaves::tests::{item, written};

    fn lean(text: &str, limits: &LeanLimits) -> io::Result<LeanTree> {
        read_lean(BufReader::with_capacity(7, text.as_bytes()), limits)
    }

    fn items() -> Vec<FlatItem> {
        let odd = "a \"b\": - name: x\n  status: passed";
        let details = json!({"failure": odd, "plain": "text", "n": -1.5, "list": [1, {"a: b": null}], "yes": true, "odd: \"key\"": "x"});
        let mut failed = item(2, odd, Status::Failed);
        failed.details = details.as_object().cloned().unwrap();
        failed.meta = [("odd: key".to_owned(), odd.to_owned()), ("file".to_owned(), "results/a".to_owned())].into();
        let mut passed = item(2, "good", Status::Passed);
        passed.details = json!({"system-out": "long"}).as_object().cloned().unwrap();
        vec![
            item(0, "junit_01.xml", Status::Failed),
            item(1, "suite", Status::Failed),
            failed,
            passed,
            item(1, "other", Status::Passed),
            item(0, "last", Status::from("foo")),
        ]
    }

    #[test]
    fn a_lean_tree_is_the_tree_without_details_of_what_passed() {
        let text = written(&items());
        let mut whole = Item::parse(&text).unwrap();
        let tree = lean(&text, &LeanLimits::default()).unwrap();
        whole.items[0].items[0].items[1].details.clear();
        assert_eq!(tree, LeanTree { root: whole, left_out: 1 });
    }

    #[test]
    fn limits_hold() {
        let text = written(&items());
        let none = lean(&text, &LeanLimits { details_bytes: 0, ..LeanLimits::default() }).unwrap();
        assert_eq!(none.left_out, 7);
        assert!(none.root.items[0].items[0].items[0].details.is_empty());
        let short = lean(&text, &LeanLimits { text_bytes: 20, ..LeanLimits::default() });
        assert_eq!(short.unwrap().root.items[0].items[0].items[0].name, LONG_NAME);
        for limits in
            [LeanLimits { items: 6, ..LeanLimits::default() }, LeanLimits { other_bytes: 50, ..LeanLimits::default() }]
        {
            assert!(lean(&text, &limits).unwrap_err().to_string().contains("too large"));
        }
    }

    #[test]
    fn what_was_not_written_here_is_an_error() {
        for text in ["", "- a\n", "{}", "name: x\n    - name: y\n", "name: x\nitems: []\n", "name: \"x\n"] {
            assert!(lean(text, &LeanLimits::default()).is_err(), "{text:?}");
        }
    }
}
