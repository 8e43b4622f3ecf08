//! Reader for the leaves of a result tree on disk, line by line, so that no tree is held in memory.
//!
//! It reads only trees that this program has written ([`super::yaml`]). In them, every item starts
//! with a line `- name:`, and every key is on its own line. Indentation determines what a line
//! means. Texts of plugins are in quotes, so they cannot be mistaken for something else.

use std::io::{self, BufRead};

use plumbline_core::Status;

/// Maximum number of bytes of a line to read. Names and statuses are shorter. Details can be
/// longer, and are ignored.
const MAX_LINE: usize = 64 << 10;

/// An item without children.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Leaf {
    /// Name, or `None` if it is too long.
    pub(crate) name: Option<String>,
    /// Its status.
    pub(crate) status: Status,
    /// Whether its metadata has a file or an error. The item is then not a test, but a file that
    /// was read as a whole, or an item of the host.
    pub(crate) is_no_test: bool,
}

/// The current item, which is a leaf unless an item below it follows.
struct Open {
    level: usize,
    in_meta: bool,
    leaf: Leaf,
}

/// Calls `visit` with every leaf of the tree in `from`, in order, until it returns `false`.
///
/// # Errors
/// When the tree is not readable, or was not written by this program.
pub(crate) fn leaves(mut from: impl BufRead, mut visit: impl FnMut(Leaf) -> bool) -> io::Result<()> {
    let mut line = Vec::new();
    let mut open: Option<Open> = None;
    let mut first = true;
    while let Some(whole) = next_line(&mut from, &mut line, MAX_LINE)? {
        if first && !line.starts_with(b"name: ") {
            return Err(foreign());
        }
        first = false;
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let body = line.get(indent..).unwrap_or_default();
        if let Some(name) = body.strip_prefix(b"- name: ") {
            let level = indent / 2;
            let before = open.take().filter(|before| before.level >= level);
            if before.is_some_and(|before| !visit(before.leaf)) {
                return Ok(());
            }
            let name = if whole { Some(scalar(name)?) } else { None };
            open = Some(Open { level, in_meta: false, leaf: Leaf { name, ..Leaf::default() } });
            continue;
        }
        let Some(Open { level, in_meta, leaf }) = &mut open else { continue };
        // Keys of the item are one level deeper, and entries of its metadata are two levels deeper.
        if indent == (*level + 1) * 2 {
            *in_meta = body == b"meta:";
            if let Some(status) = body.strip_prefix(b"status: ") {
                leaf.status = Status::from(scalar(status)?);
            }
        } else if *in_meta && indent == (*level + 2) * 2 {
            leaf.is_no_test |= body.starts_with(b"error: ") || body.starts_with(b"file: ");
        }
    }
    if let Some(Open { leaf, .. }) = open {
        visit(leaf);
    }
    Ok(())
}

/// Reads the next line without its end, but at most `most` bytes. Returns whether that is the whole
/// line, or `None` at the end of the input.
pub(super) fn next_line(from: &mut impl BufRead, line: &mut Vec<u8>, most: usize) -> io::Result<Option<bool>> {
    line.clear();
    let (mut any, mut whole) = (false, true);
    loop {
        let bytes = from.fill_buf()?;
        if bytes.is_empty() {
            return Ok(any.then_some(whole));
        }
        any = true;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        let room = most.saturating_sub(line.len());
        whole &= piece.len() <= room;
        line.extend(piece.iter().take(room));
        let read = end.map_or(bytes.len(), |end| end + 1);
        from.consume(read);
        if end.is_some() {
            return Ok(Some(whole));
        }
    }
}

/// Parses a scalar as this program writes it: plain, or in double quotes with the escapes that YAML
/// and JSON share.
pub(super) fn scalar(text: &[u8]) -> io::Result<String> {
    let text = std::str::from_utf8(text).map_err(|_| foreign())?;
    if text.starts_with('"') {
        return serde_json::from_str(text).map_err(|_| foreign());
    }
    Ok(text.to_owned())
}

pub(super) fn foreign() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not as this program writes result trees")
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::BufReader;

    use plumbline_core::FlatItem;
    use serde_json::json;

    use super::*;
    use crate::postprocess::yaml;

    /// Returns the written tree of `items`. An item has children if the next one is deeper.
    pub(in super::super) fn written(items: &[FlatItem]) -> String {
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

    pub(in super::super) fn item(depth: u32, name: &str, status: Status) -> FlatItem {
        FlatItem { depth, name: name.to_owned(), status: Some(status), ..FlatItem::default() }
    }

    fn read(text: &str) -> io::Result<Vec<Leaf>> {
        let mut found = Vec::new();
        // With a buffer of a few bytes, no line fits completely.
        leaves(BufReader::with_capacity(7, text.as_bytes()), |leaf| {
            found.push(leaf);
            true
        })?;
        Ok(found)
    }

    #[test]
    fn leaves_are_found_whatever_their_texts_say() {
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
        let told: Vec<_> =
            found.iter().map(|leaf| (leaf.name.as_deref(), leaf.status.as_str(), leaf.is_no_test)).collect();
        assert_eq!(
            told,
            [
                (Some(odd), "failed", false),
                (Some("good"), "passed", false),
                (None, "timeout", false),
                (Some("pod gone"), "timeout", true),
            ]
        );
    }

    #[test]
    fn a_tree_without_items_has_no_leaves_and_rubbish_is_an_error() {
        let mut text = String::new();
        yaml::root(&mut text, "p", "unknown", &plumbline_core::Meta::new(), false);
        assert_eq!(read(&text).unwrap(), []);
        for foreign in ["- a\n", "{}", "name: x\n- name: \"open\n"] {
            assert!(read(foreign).is_err(), "{foreign:?}");
        }
    }
}
