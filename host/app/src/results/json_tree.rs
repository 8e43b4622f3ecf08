//! A result tree as JSON that is written item by item, so that it is never in memory as a whole.

use std::io::{self, Write};

use serde::Serialize;

use crate::report::text::JsonText;

/// Writes a tree as `serde_json` pretty-prints an item with its children.
pub(super) struct JsonTree<W> {
    out: W,
    /// The column of the root.
    column: usize,
    /// The open items, the root first: whether each has children so far.
    open: Vec<bool>,
}

impl<W: Write> JsonTree<W> {
    /// Starts a tree at `column` of the current line.
    pub(super) fn new(out: W, column: usize) -> Self {
        Self { out, column, open: Vec::new() }
    }

    /// Writes an item without its children, parents before children. The root has depth 0. `item`
    /// must serialize to an object with keys.
    pub(super) fn item(&mut self, depth: usize, item: &impl Serialize) -> io::Result<()> {
        self.close(depth)?;
        let column = self.column_of(self.open.len());
        if let Some(has_children) = self.open.last_mut() {
            if std::mem::replace(has_children, true) {
                self.out.write_all(b",")?;
            } else {
                // The key belongs to the parent, whose keys are two columns to the left.
                write!(self.out, ",\n{:1$}\"items\": [", "", column.saturating_sub(2))?;
            }
            self.line(column)?;
        }
        let text = pretty(item)?;
        self.indented(column, text.strip_suffix(b"\n}").unwrap_or(&text))?;
        self.open.push(false);
        Ok(())
    }

    /// Closes all items, and adds the keys of `rest` to the root after its items.
    pub(super) fn finish(mut self, rest: &impl Serialize) -> io::Result<()> {
        self.close(1)?;
        if self.open.pop() == Some(true) {
            self.line(self.column + 2)?;
            self.out.write_all(b"]")?;
        }
        add_keys(rest, self.column, &mut self.out)?;
        self.line(self.column)?;
        self.out.write_all(b"}")
    }

    /// Closes the items at `depth` and below.
    fn close(&mut self, depth: usize) -> io::Result<()> {
        while self.open.len() > depth
            && let Some(has_children) = self.open.pop()
        {
            let column = self.column_of(self.open.len());
            if has_children {
                self.line(column + 2)?;
                self.out.write_all(b"]")?;
            }
            self.line(column)?;
            self.out.write_all(b"}")?;
        }
        Ok(())
    }

    /// Returns the column of an item. Each level adds an array and an object.
    fn column_of(&self, depth: usize) -> usize {
        self.column + 4 * depth
    }

    fn line(&mut self, column: usize) -> io::Result<()> {
        write!(self.out, "\n{:column$}", "")
    }

    fn indented(&mut self, column: usize, text: &[u8]) -> io::Result<()> {
        Indented { out: &mut self.out, column }.write_all(text)
    }
}

/// Writes the keys of `value` after the last key of an object at `column`.
pub(super) fn add_keys(value: &impl Serialize, column: usize, out: &mut impl Write) -> io::Result<()> {
    let text = pretty(value)?;
    let keys = text.strip_prefix(b"{").and_then(|text| text.strip_suffix(b"\n}")).unwrap_or_default();
    if keys.is_empty() {
        return Ok(());
    }
    out.write_all(b",")?;
    Indented { out, column }.write_all(keys)
}

fn pretty(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    serde_json::to_writer_pretty(JsonText(&mut text), value)?;
    Ok(text)
}

/// Indents every line after the first. Texts in JSON have no line breaks.
struct Indented<W> {
    out: W,
    column: usize,
}

impl<W: Write> Write for Indented<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.out.write_all(piece)?;
            if piece.ends_with(b"\n") {
                write!(self.out, "{:1$}", "", self.column)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn items_become_what_a_whole_tree_would_be() {
        let mut out = Vec::new();
        let mut tree = JsonTree::new(&mut out, 0);
        let items = [(0, "root"), (1, "a"), (2, "a1"), (3, "a11"), (2, "a2"), (1, "b"), (1, "c"), (2, "c1")];
        for (depth, name) in items {
            tree.item(depth, &json!({"name": name, "meta": {"text": "one\ntwo\u{9b}"}})).unwrap();
        }
        tree.finish(&json!({"run": {"verdict": "passed"}})).unwrap();
        let leaf = |name: &str| json!({"name": name, "meta": {"text": "one\ntwo\u{9b}"}});
        let item = |name: &str, items: Value| {
            let mut item = leaf(name);
            item["items"] = items;
            item
        };
        let a = item("a", json!([item("a1", json!([leaf("a11")])), leaf("a2")]));
        let mut root = item("root", json!([a, leaf("b"), item("c", json!([leaf("c1")]))]));
        root["run"] = json!({"verdict": "passed"});
        let text = String::from_utf8(out).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), root, "{text}");
    }

    #[test]
    fn a_root_without_items_has_no_list() {
        let mut out = Vec::new();
        let mut tree = JsonTree::new(&mut out, 2);
        tree.item(0, &json!({"name": "root"})).unwrap();
        tree.finish(&json!({"run": 1})).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "{\n    \"name\": \"root\",\n    \"run\": 1\n  }");
    }
}
