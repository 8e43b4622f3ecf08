//! The items of a finished tree on disk: one line of JSON per item, in pre-order. Every judge of a
//! chain reads them again, in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use plumbline_core::{FlatItem, GLOBAL, Item};
use serde::{Deserialize, Serialize};

/// Size to which the line buffer is shrunk after a huge item.
const LINE: usize = 1 << 20;

/// Key of an item's metadata with its type.
const TYPE: &str = "type";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredItem {
    /// The result set: a node, or `global`. Empty for items of a summarizer.
    pub(super) set: String,
    /// Whether the item has no children.
    pub(super) leaf: bool,
    /// Whether the item is the node itself, which judges do not see.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) node: bool,
    /// The item with its status. Depth 0 is a root of the result set.
    pub(super) item: FlatItem,
}

/// What an item belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemOwner {
    /// A node. The item at depth 0 is the node itself.
    Node,
    /// The only result set of a plugin.
    Cluster,
    /// The summarizer.
    Summary,
}

/// Writes the items of a tree.
pub(crate) struct ItemWriter {
    out: BufWriter<File>,
    /// The last item with its depth below the root. The next one tells whether it has children.
    last: Option<(u32, StoredItem)>,
    /// The last node.
    node: String,
}

impl ItemWriter {
    /// Creates the file at `path`, and overwrites an existing one.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let out = BufWriter::with_capacity(256 << 10, File::create(path)?);
        Ok(Self { out, last: None, node: String::new() })
    }

    /// Adds an item. Its depth counts from the root. Items after a node and deeper belong to it.
    pub(crate) fn push(&mut self, owner: ItemOwner, mut item: FlatItem) -> io::Result<()> {
        let level = item.depth;
        let node = owner == ItemOwner::Node && level == 0;
        let set = match owner {
            ItemOwner::Node => {
                if node {
                    self.node.clone_from(&item.name);
                }
                item.depth = level.saturating_sub(1);
                self.node.clone()
            }
            ItemOwner::Cluster => GLOBAL.to_owned(),
            ItemOwner::Summary => String::new(),
        };
        if let Some((above, mut last)) = self.last.replace((level, StoredItem { set, leaf: false, node, item })) {
            last.leaf = level <= above;
            self.write(&last)?;
        }
        Ok(())
    }

    fn write(&mut self, kept: &StoredItem) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, kept)?;
        self.out.write_all(b"\n")
    }

    /// Writes the last item and flushes the file.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if let Some((_, mut last)) = self.last.take() {
            last.leaf = true;
            self.write(&last)?;
        }
        self.out.flush()
    }
}

/// Writes the items of `root`, the tree of a plugin, to `path`, as a run does.
pub fn keep_tree(root: &Item, path: &Path) -> io::Result<()> {
    let mut writer = ItemWriter::create(path)?;
    let mut walk = root.walk();
    let mut owner = ItemOwner::Cluster;
    while let Some(item) = walk.next() {
        let Some(depth) = walk.depth().checked_sub(1) else { continue };
        let flat = FlatItem {
            depth: u32::try_from(depth).unwrap_or(u32::MAX),
            name: item.name.clone(),
            status: Some(item.status.clone()),
            meta: item.meta.clone(),
            details: item.details.clone(),
        };
        if depth == 0 {
            owner = match item.meta.get(TYPE).map(String::as_str) {
                Some("node") => ItemOwner::Node,
                Some("summary") => ItemOwner::Summary,
                _ => ItemOwner::Cluster,
            };
        }
        writer.push(owner, flat)?;
    }
    writer.finish()
}

/// Returns the number of result sets in the tree of a plugin: its nodes, or 1 for the cluster.
pub fn result_sets(root: &Item) -> u32 {
    let is_node = |item: &&Item| item.name != GLOBAL && item.meta.get(TYPE).is_some_and(|kind| kind == "node");
    u32::try_from(root.items.iter().filter(is_node).count().max(1)).unwrap_or(u32::MAX)
}

/// Reads the items of a tree.
pub(super) struct StoredItems {
    from: BufReader<File>,
    line: Vec<u8>,
}

impl StoredItems {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { from: BufReader::with_capacity(64 << 10, File::open(path)?), line: Vec::new() })
    }

    /// Returns the next item, or `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<StoredItem>> {
        self.line.clear();
        self.line.shrink_to(LINE);
        match self.from.read_until(b'\n', &mut self.line)? {
            0 => Ok(None),
            _ => Ok(Some(serde_json::from_slice(&self.line)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(root: serde_json::Value) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("items");
        keep_tree(&serde_json::from_value(root).unwrap(), &path).unwrap();
        let mut items = StoredItems::open(&path).unwrap();
        let mut seen = Vec::new();
        while let Some(kept) = items.next().unwrap() {
            let kind = if kept.node {
                "node"
            } else if kept.leaf {
                "leaf"
            } else {
                "inner"
            };
            let status = kept.item.status.unwrap();
            seen.push(format!("[{}] {} {} {kind} {status}", kept.set, kept.item.depth, kept.item.name));
        }
        seen
    }

    #[test]
    fn nodes_become_result_sets_and_other_items_do_not() {
        let leaf = |name: &str| json!({"name": name, "status": "passed"});
        let node = |name: &str, items: serde_json::Value| json!({"name": name, "status": "failed", "meta": {"type": "node"}, "items": items});
        let seen = kept(json!({"name": "p", "status": "failed", "items": [
            node("n1", json!([{"name": "f", "status": "failed", "items": [leaf("a"), leaf("b")]}, leaf("c")])),
            node("n2", json!([])),
            {"name": "totals", "status": "passed", "meta": {"type": "summary"}, "items": [leaf("t")]},
        ]}));
        assert_eq!(
            seen,
            [
                "[n1] 0 n1 node failed",
                "[n1] 0 f inner failed",
                "[n1] 1 a leaf passed",
                "[n1] 1 b leaf passed",
                "[n1] 0 c leaf passed",
                "[n2] 0 n2 node failed",
                "[] 0 totals inner passed",
                "[] 1 t leaf passed",
            ]
        );
    }

    #[test]
    fn the_items_of_a_job_are_global_and_no_items_are_none() {
        let seen =
            kept(json!({"name": "p", "items": [{"name": "junit.xml", "items": [{"name": "a"}]}, {"name": "b"}]}));
        assert_eq!(
            seen,
            ["[global] 0 junit.xml inner unknown", "[global] 1 a leaf unknown", "[global] 0 b leaf unknown"]
        );
        assert_eq!(kept(json!({"name": "p"})), [""; 0]);
    }

    #[test]
    fn a_tree_says_how_many_results_it_was_made_of() {
        let node = |name: &str| json!({"name": name, "meta": {"type": "node"}});
        let sets = |root: serde_json::Value| result_sets(&serde_json::from_value(root).unwrap());
        let summary = json!({"name": "totals", "meta": {"type": "summary"}});
        assert_eq!(sets(json!({"name": "p", "items": [node("n1"), node("n2"), summary]})), 2);
        assert_eq!(sets(json!({"name": "p", "items": [node("global")]})), 1);
        assert_eq!(sets(json!({"name": "p", "items": [{"name": "a.xml"}, {"name": "b.xml"}]})), 1);
        assert_eq!(sets(json!({"name": "p"})), 1);
    }
}
