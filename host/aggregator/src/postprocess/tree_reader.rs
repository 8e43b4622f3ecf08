//! Readers for result trees on disk, line by line: the leaves, every item, or a tree without most
//! of its details.
//!
//! They read only trees that this program has written ([`super::yaml`]): every key is on its own
//! line, its indentation says what it means, and texts of plugins are in quotes.

use std::io::{self, BufRead};
use std::rc::Rc;

use plumbline_core::{FlatItem, Item, Status};
use serde_json::Value;

/// Maximum size of an item's texts for [`read_items`], in bytes: 64 MiB of a module, and 1 MiB of
/// the host.
const ITEM_BYTES: usize = 65 << 20;
/// Maximum number of bytes that a line has for one byte of a text.
const ESCAPED: usize = 6;
/// Name of an item whose own name is too long to be read.
pub(crate) const LONG_NAME: &str = "(a very long name)";

/// An item without children, and where it is in its tree.
pub(crate) struct Leaf {
    pub(crate) item: FlatItem,
    /// Its number in pre-order. The root has number 0.
    pub(crate) number: u64,
    /// Name of the child of the root that it is, or is below.
    pub(crate) top: Rc<str>,
}

impl Leaf {
    /// Returns whether it is a test. Otherwise, its metadata has a file or an error: it is a file
    /// that was read as a whole, or an item of the host.
    pub(crate) fn is_test(&self) -> bool {
        !self.item.meta.contains_key("file") && !self.item.meta.contains_key("error")
    }
}

/// Calls `visit` with every leaf of the tree in `from`, in order. The root is not a leaf. Texts are
/// left out as by [`read_items_with`], and a name that is too long is [`LONG_NAME`].
pub(crate) fn leaves(
    from: impl BufRead,
    text_bytes: usize,
    wants_details: impl Fn(&FlatItem) -> bool,
    mut visit: impl FnMut(Leaf) -> io::Result<()>,
) -> io::Result<()> {
    let mut last: Option<Leaf> = None;
    let mut number = 0;
    let mut top: Rc<str> = Rc::from("");
    read_items_with(from, text_bytes, wants_details, |item| {
        let depth = item.depth;
        if depth == 1 {
            top = Rc::from(item.name.as_str());
        }
        let before = last.replace(Leaf { item, number, top: Rc::clone(&top) });
        number += 1;
        match before {
            Some(leaf) if depth <= leaf.item.depth => visit(leaf),
            _ => Ok(()),
        }
    })?;
    last.filter(|leaf| leaf.item.depth > 0).map_or(Ok(()), visit)
}

/// Calls `visit` with every item of the tree in `from`, parents first. The root has depth 0. Leaves
/// out texts of more than `text_bytes` bytes, or beyond the limit of an item. Returns their number.
///
/// # Errors
/// When it is not readable, not from this program, or `visit` fails.
pub fn read_items(
    from: impl BufRead,
    text_bytes: usize,
    visit: impl FnMut(FlatItem) -> io::Result<()>,
) -> io::Result<u64> {
    read_items_with(from, text_bytes, all_details, visit)
}

/// Calls `visit` as [`read_items`] does, and reads only the details that are wanted. `wants_details`
/// gets an item with its name, status and metadata.
pub(crate) fn read_items_with(
    from: impl BufRead,
    text_bytes: usize,
    wants_details: impl Fn(&FlatItem) -> bool,
    visit: impl FnMut(FlatItem) -> io::Result<()>,
) -> io::Result<u64> {
    read_items_within(from, text_bytes, ITEM_BYTES, wants_details, visit)
}

fn all_details(_: &FlatItem) -> bool {
    true
}

/// For callers of [`read_items_with`] and [`leaves`] that need no details.
pub(crate) fn no_details(_: &FlatItem) -> bool {
    false
}

fn read_items_within(
    from: impl BufRead,
    text_bytes: usize,
    item_bytes: usize,
    wants_details: impl Fn(&FlatItem) -> bool,
    mut visit: impl FnMut(FlatItem) -> io::Result<()>,
) -> io::Result<u64> {
    let mut lines = Lines::new(from, text_bytes);
    let mut open: Option<FlatItem> = None;
    let (mut left_out, mut room) = (0, item_bytes);
    while let Some((kind, text, is_whole)) = lines.next()? {
        if matches!(kind, LineKind::Item(_)) {
            room = item_bytes;
        }
        // A text that cannot fit is not copied first.
        let may_fit = is_whole && text.len() / ESCAPED <= room;
        if let LineKind::Item(depth) = kind {
            let name = if may_fit { scalar(text)? } else { LONG_NAME.to_owned() };
            left_out += u64::from(!may_fit);
            room = room.saturating_sub(name.len());
            let depth = u32::try_from(depth).map_err(|_| foreign())?;
            if let Some(item) = open.replace(FlatItem { depth, name, ..FlatItem::default() }) {
                visit(item)?;
            }
            continue;
        }
        let item = open.as_mut().ok_or_else(foreign)?;
        match kind {
            LineKind::Item(_) => {}
            LineKind::Status => item.status = Some(Status::from(scalar(text)?)),
            LineKind::Detail if !wants_details(item) => {}
            LineKind::Meta | LineKind::Detail if !may_fit => left_out += 1,
            LineKind::Meta => {
                let (key, value) = key_and_value(text)?;
                let value = scalar(value)?;
                if take(&mut room, key.len() + value.len()) {
                    item.meta.insert(key, value);
                } else {
                    left_out += 1;
                }
            }
            LineKind::Detail => {
                let (key, value) = key_and_value(text)?;
                let value = detail_value(value)?;
                let bytes = value.as_str().map_or(text.len(), |value| key.len() + value.len());
                if take(&mut room, bytes) {
                    item.details.insert(key, value);
                } else {
                    left_out += 1;
                }
            }
        }
    }
    visit(open.ok_or_else(foreign)?)?;
    Ok(left_out)
}

/// Takes `bytes` from `room`, if there are so many.
fn take(room: &mut usize, bytes: usize) -> bool {
    let rest = room.checked_sub(bytes);
    *room = rest.unwrap_or(*room);
    rest.is_some()
}

/// Memory limits for a tree.
#[derive(Debug, Clone, Copy)]
pub struct LeanLimits {
    /// Maximum size of one text in bytes, 1 MiB by default. A longer text is left out.
    pub text_bytes: usize,
    /// Maximum size of all details in bytes, 256 MiB by default. Further details are left out.
    pub details_bytes: usize,
    /// Maximum size of names, statuses and metadata in bytes, 1 GiB by default. More is an error.
    pub other_bytes: usize,
    /// Maximum number of items, 5,000,000 by default as for a module. More is an error.
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

/// Reads the tree in `from`: the names, statuses and metadata of all items, and the details of those
/// that did not pass.
///
/// # Errors
/// When it is not readable, not from this program, or exceeds `limits` for other than details.
pub fn read_lean(from: impl BufRead, limits: &LeanLimits) -> io::Result<LeanTree> {
    let mut reader = LeanReader { limits, open: Vec::new(), details: 0, other: 0, items: 0, left_out: 0 };
    let mut lines = Lines::new(from, limits.text_bytes);
    while let Some((kind, text, is_whole)) = lines.next()? {
        match kind {
            LineKind::Item(depth) => reader.item(depth, text, is_whole)?,
            LineKind::Status => reader.status(Status::from(scalar(text)?))?,
            LineKind::Meta | LineKind::Detail if !is_whole => reader.left_out += 1,
            LineKind::Meta => reader.meta(text)?,
            LineKind::Detail => reader.detail(text)?,
        }
    }
    reader.close(1);
    let root = reader.open.pop().ok_or_else(foreign)?;
    Ok(LeanTree { root, left_out: reader.left_out })
}

struct LeanReader<'a> {
    limits: &'a LeanLimits,
    /// The root, and the incomplete items below it, each in the previous one.
    open: Vec<Item>,
    details: usize,
    other: usize,
    items: usize,
    left_out: u64,
}

impl LeanReader<'_> {
    fn item(&mut self, depth: usize, name: &[u8], is_whole: bool) -> io::Result<()> {
        self.items += 1;
        if self.items > self.limits.items {
            return Err(too_large(format!("more than {} items", self.limits.items)));
        }
        let name = if is_whole {
            scalar(name)?
        } else {
            self.left_out += 1;
            LONG_NAME.to_owned()
        };
        self.hold(name.len())?;
        self.close(depth);
        self.open.push(Item { name, ..Item::default() });
        Ok(())
    }

    fn status(&mut self, status: Status) -> io::Result<()> {
        self.hold(if status.is_custom() { status.as_str().len() } else { 0 })?;
        self.open.last_mut().ok_or_else(foreign)?.status = status;
        Ok(())
    }

    fn meta(&mut self, entry: &[u8]) -> io::Result<()> {
        let (key, value) = key_and_value(entry)?;
        let value = scalar(value)?;
        self.hold(key.len() + value.len())?;
        self.open.last_mut().ok_or_else(foreign)?.meta.insert(key, value);
        Ok(())
    }

    fn detail(&mut self, entry: &[u8]) -> io::Result<()> {
        let item = self.open.last_mut().ok_or_else(foreign)?;
        let fits = self.details.saturating_add(entry.len()) <= self.limits.details_bytes;
        if matches!(item.status, Status::Passed | Status::Skipped) || !fits {
            self.left_out += 1;
            return Ok(());
        }
        let (key, value) = key_and_value(entry)?;
        self.details += entry.len();
        item.details.insert(key, detail_value(value)?);
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

    /// Adds the items at `depth` and below to their parents.
    fn close(&mut self, depth: usize) {
        while self.open.len() > depth
            && let Some(item) = self.open.pop()
            && let Some(parent) = self.open.last_mut()
        {
            parent.items.push(item);
        }
    }
}

/// Kind of a line. Lines that only start a section are left out.
#[derive(Clone, Copy)]
enum LineKind {
    /// The name of an item, which is its first line, and its depth. The root has depth 0.
    Item(usize),
    /// The status of the last item.
    Status,
    /// Key and value of its metadata.
    Meta,
    /// Key and value of its details.
    Detail,
}

struct Lines<R> {
    from: R,
    line: Vec<u8>,
    max_bytes: usize,
    /// Depth of the last item, or `None` before the root.
    depth: Option<usize>,
    /// Kind of the entries in the current section.
    section: Option<LineKind>,
}

impl<R: BufRead> Lines<R> {
    /// Reads at most `max_bytes` of each line.
    fn new(from: R, max_bytes: usize) -> Self {
        Self { from, line: Vec::new(), max_bytes, depth: None, section: None }
    }

    /// Returns the kind of the next line, its text, and whether that is the whole line.
    fn next(&mut self) -> io::Result<Option<(LineKind, &[u8], bool)>> {
        while let Some(is_whole) = self.read()? {
            let indent = self.line.iter().take_while(|byte| **byte == b' ').count();
            if let Some((kind, key)) = self.classify(indent)? {
                return Ok(Some((kind, self.line.get(indent + key.len()..).unwrap_or_default(), is_whole)));
            }
        }
        Ok(None)
    }

    /// Returns the kind of the line and the key before its text, or `None` if it starts a section.
    fn classify(&mut self, indent: usize) -> io::Result<Option<(LineKind, &'static str)>> {
        let body = self.line.get(indent..).unwrap_or_default();
        let (depth, key) = match self.depth {
            None => (0, "name: "),
            Some(_) => (indent / 2 + 1, "- name: "),
        };
        if body.starts_with(key.as_bytes()) {
            if self.depth.is_some_and(|last| depth > last + 1) {
                return Err(foreign());
            }
            (self.depth, self.section) = (Some(depth), None);
            return Ok(Some((LineKind::Item(depth), key)));
        }
        let last = self.depth.ok_or_else(foreign)?;
        // Each level below the root is indented by two more spaces.
        match (indent.checked_sub(last * 2), self.section) {
            (Some(0), _) => {
                let is_status = body.starts_with(b"status: ");
                self.section = match body {
                    b"meta:" => Some(LineKind::Meta),
                    b"details:" => Some(LineKind::Detail),
                    _ if is_status || body == b"items:" => None,
                    _ => return Err(foreign()),
                };
                Ok(is_status.then_some((LineKind::Status, "status: ")))
            }
            (Some(2), Some(entry)) => Ok(Some((entry, ""))),
            _ => Err(foreign()),
        }
    }

    /// Reads the next line. Returns whether it has the whole, or `None` at the end.
    fn read(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let (mut any, mut is_whole) = (false, true);
        loop {
            let bytes = self.from.fill_buf()?;
            if bytes.is_empty() {
                return Ok(any.then_some(is_whole));
            }
            any = true;
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            let room = self.max_bytes.saturating_sub(self.line.len());
            is_whole &= piece.len() <= room;
            self.line.extend(piece.iter().take(room));
            let read = end.map_or(bytes.len(), |end| end + 1);
            self.from.consume(read);
            if end.is_some() {
                return Ok(Some(is_whole));
            }
        }
    }
}

fn key_and_value(entry: &[u8]) -> io::Result<(String, &[u8])> {
    let at = match entry.first() {
        Some(b'"') => {
            let mut keys = serde_json::Deserializer::from_slice(entry).into_iter::<String>();
            keys.next().and_then(Result::ok).ok_or_else(foreign)?;
            keys.byte_offset()
        }
        _ => entry.iter().position(|byte| *byte == b':').ok_or_else(foreign)?,
    };
    let (key, rest) = entry.split_at(at);
    Ok((scalar(key)?, rest.strip_prefix(b": ").ok_or_else(foreign)?))
}

/// Parses the value of a detail: JSON, or a plain scalar.
fn detail_value(value: &[u8]) -> io::Result<Value> {
    let is_json = matches!(value.first(), Some(b'"' | b'[' | b'{' | b'-' | b'0'..=b'9'))
        || matches!(value, b"true" | b"false" | b"null");
    match is_json {
        true => serde_json::from_slice(value).map_err(|_| foreign()),
        false => scalar(value).map(Value::String),
    }
}

/// Parses a scalar: plain, or in double quotes with the escapes that YAML and JSON share.
fn scalar(text: &[u8]) -> io::Result<String> {
    let text = std::str::from_utf8(text).map_err(|_| foreign())?;
    if text.starts_with('"') {
        return serde_json::from_str(text).map_err(|_| foreign());
    }
    Ok(text.to_owned())
}

fn foreign() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it does not have the format of a result tree")
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
    use crate::postprocess::yaml;

    /// Returns the written tree of `items`. An item has children if the next one is deeper.
    fn written(items: &[FlatItem]) -> String {
        let mut text = String::new();
        yaml::root(&mut text, "e2e", "failed", &[("type".to_owned(), "summary".to_owned())].into(), true);
        for (at, item) in items.iter().enumerate() {
            yaml::item_head(&mut text, item.depth, &item.name);
            yaml::item_status(&mut text, item.depth, item.status.as_ref().unwrap().as_str());
            yaml::item_tail(&mut text, item.depth, item);
            if items.get(at + 1).is_some_and(|next| next.depth > item.depth) {
                yaml::item_items(&mut text, item.depth);
            }
        }
        text
    }

    fn item(depth: u32, name: &str, status: Status) -> FlatItem {
        FlatItem { depth, name: name.to_owned(), status: Some(status), ..FlatItem::default() }
    }

    fn read(text: &str) -> io::Result<Vec<Leaf>> {
        let mut found = Vec::new();
        // With a buffer of a few bytes, no line fits completely.
        leaves(BufReader::with_capacity(7, text.as_bytes()), 64 << 10, all_details, |leaf| {
            found.push(leaf);
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn leaves_are_found_regardless_of_their_text() {
        let odd = "[It] a \"b\" \\ é •: - name: x\n  status: passed";
        let mut test = item(2, odd, Status::Failed);
        test.details = json!({"failure": "- name: fake\nmeta:\n  error: no", "error": "x", "n": {"status": "passed"}})
            .as_object()
            .cloned()
            .unwrap();
        let mut file = item(0, "junit_01.xml", Status::Failed);
        file.meta = [("file".to_owned(), "results/global/junit_01.xml".to_owned())].into();
        let mut error = item(0, "pod gone", Status::Timeout);
        error.meta = [("file".to_owned(), "errors/global/error.json".to_owned())].into();
        let long = "x".repeat(100_000);
        let items = [
            file,
            item(1, "suite", Status::Failed),
            test,
            item(2, "good", Status::Passed),
            item(2, &long, Status::Timeout),
            error,
        ];
        let found = read(&written(&items)).unwrap();
        let leaf = |leaf: &Leaf| {
            let FlatItem { name, status, .. } = leaf.item.clone();
            (name, status.unwrap(), leaf.is_test(), leaf.number, leaf.top.to_string())
        };
        let file = "junit_01.xml".to_owned();
        assert_eq!(
            found.iter().map(leaf).collect::<Vec<_>>(),
            [
                (odd.to_owned(), Status::Failed, true, 3, file.clone()),
                ("good".to_owned(), Status::Passed, true, 4, file.clone()),
                (LONG_NAME.to_owned(), Status::Timeout, true, 5, file),
                ("pod gone".to_owned(), Status::Timeout, false, 6, "pod gone".to_owned()),
            ]
        );
    }

    #[test]
    fn a_tree_without_items_has_no_leaves_and_rubbish_is_an_error() {
        let mut text = String::new();
        yaml::root(&mut text, "p", "unknown", &plumbline_core::Meta::new(), false);
        assert!(read(&text).unwrap().is_empty());
        for foreign in ["- a\n", "{}", "name: x\n- name: \"open\n"] {
            assert!(read(foreign).is_err(), "{foreign:?}");
        }
    }

    #[test]
    fn items_come_one_after_the_other_as_they_were_written() {
        let mut test = item(1, "- name: x", Status::Failed);
        test.meta = [("duration".to_owned(), "1.5".to_owned())].into();
        test.details = json!({"failure": "a\nb".repeat(20), "n": {"x": [1]}}).as_object().cloned().unwrap();
        let items = [item(0, "f.xml", Status::Failed), test.clone(), item(0, "last", Status::Passed)];
        let text = written(&items);
        let mut found = Vec::new();
        let left_out = read_items(BufReader::with_capacity(7, text.as_bytes()), 1 << 20, |item| {
            found.push(item);
            Ok(())
        });
        assert_eq!(left_out.unwrap(), 0);
        let below = |item: &FlatItem| FlatItem { depth: item.depth + 1, ..item.clone() };
        assert_eq!((found[0].name.as_str(), found[0].depth), ("e2e", 0));
        assert_eq!(found[1..], items.iter().map(below).collect::<Vec<_>>());
        let cut = read_items(text.as_bytes(), 40, |_| Ok(()));
        assert_eq!(cut.unwrap(), 1, "the text of the failure");
        assert!(read_items("- a\n".as_bytes(), 1 << 20, |_| Ok(())).is_err());
        assert!(read_items("".as_bytes(), 1 << 20, |_| Ok(())).is_err());
    }

    #[test]
    fn an_item_that_is_too_large_loses_details_and_others_do_not() {
        let with = |name: &str, details: Value| {
            let mut item = item(0, name, Status::Passed);
            item.details = details.as_object().cloned().unwrap();
            item
        };
        let line_breaks = "\n".repeat(60);
        let many = with("many", json!({"a": "x".repeat(60), "b": "y".repeat(60), "c": [1, 2], "d": "z"}));
        let escaped = with("escaped", json!({"a": line_breaks}));
        let text = written(&[many, escaped.clone(), with(&"n".repeat(200), json!({}))]);
        let mut found = Vec::new();
        let left_out = read_items_within(text.as_bytes(), 1 << 20, 100, all_details, |item| {
            found.push(item);
            Ok(())
        });
        assert_eq!(left_out.unwrap(), 1);
        let keys: Vec<&str> = found[1].details.keys().map(String::as_str).collect();
        assert_eq!(keys, ["a", "c", "d"], "the second text is left out");
        assert_eq!(found[2].details, escaped.details, "a line break counts once");
        let left_out = read_items_within(text.as_bytes(), 1 << 20, 16, all_details, |_| Ok(()));
        assert_eq!(left_out.unwrap(), 4, "both texts, the line breaks and the long name");
    }

    #[test]
    fn only_the_details_that_are_wanted_are_read() {
        let with = |name: &str, status: Status| {
            let mut item = item(0, name, status);
            item.meta = [("duration".to_owned(), "1.5".to_owned())].into();
            item.details = json!({"failure": "x".repeat(60)}).as_object().cloned().unwrap();
            item
        };
        let text = written(&[with("good", Status::Passed), with("bad", Status::Failed)]);
        let mut found = Vec::new();
        // Details that are not wanted take no memory, and their sizes do not count.
        let is_wanted = |item: &FlatItem| item.status == Some(Status::Failed) && item.meta.contains_key("duration");
        let left_out = read_items_within(text.as_bytes(), 1 << 20, 100, is_wanted, |item| {
            found.push((item.name, item.meta.len(), item.details.len()));
            Ok(())
        });
        assert_eq!(left_out.unwrap(), 0);
        assert_eq!(found[1..], [("good".to_owned(), 1, 0), ("bad".to_owned(), 1, 1)]);
        let mut details = 0;
        leaves(text.as_bytes(), 64 << 10, no_details, |leaf| {
            details += leaf.item.details.len();
            Ok(())
        })
        .unwrap();
        assert_eq!(details, 0);
    }

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
    fn trees_of_other_writers_are_an_error() {
        for text in ["", "- a\n", "{}", "name: x\n    - name: y\n", "name: x\nitems: []\n", "name: \"x\n"] {
            assert!(lean(text, &LeanLimits::default()).is_err(), "{text:?}");
        }
    }
}
