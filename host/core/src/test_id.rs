//! The identity of a test within a plugin.

use crate::item::{Item, Meta};

/// The key of [`Item::meta`] for the class of a test, which distinguishes tests of the same name
/// and suite.
pub const CLASSNAME: &str = "classname";

/// The identity of a test, which is the same in each run and, apart from `node`, on each node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TestId {
    /// The name of the node, for results per node.
    pub node: Option<String>,
    /// The suites around the test, outermost first. Files are not included, because tools name them
    /// differently from run to run.
    pub suites: Vec<String>,
    /// The class, empty if there is none.
    pub classname: String,
    /// The name of the test.
    pub name: String,
}

impl TestId {
    /// Returns the identity of `leaf`. `ancestors` starts with the plugin's root.
    pub fn of<'a>(ancestors: impl Iterator<Item = &'a Item>, leaf: &Item) -> Self {
        let mut id = Self {
            classname: leaf.meta.get(CLASSNAME).cloned().unwrap_or_default(),
            name: leaf.name.clone(),
            ..Self::default()
        };
        for item in ancestors.skip(1) {
            match Level::of(&item.meta) {
                Level::Node => id.node = Some(item.name.clone()),
                Level::File => {}
                Level::Suite => id.suites.push(item.name.clone()),
            }
        }
        id
    }

    /// Returns the suites as one line.
    #[must_use]
    pub fn place(&self) -> String {
        self.suites.join(" › ")
    }

    /// Returns whether both are the same test, possibly on different nodes.
    #[must_use]
    pub fn same_test(&self, other: &Self) -> bool {
        self.name == other.name && self.classname == other.classname && self.suites == other.suites
    }
}

/// What an item with children represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// A node of the cluster.
    Node,
    /// A result file.
    File,
    /// A test suite, or any other group.
    #[default]
    Suite,
}

impl Level {
    /// Returns what an item with this metadata represents.
    #[must_use]
    pub fn of(meta: &Meta) -> Self {
        match meta.get("type").map(String::as_str) {
            Some("node") => Self::Node,
            Some("file") => Self::File,
            _ => Self::Suite,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_no_part_of_the_identity_and_nodes_are() {
        let item = |name: &str, kind: &str, items| Item {
            name: name.to_owned(),
            meta: if kind.is_empty() { Meta::new() } else { [("type".to_owned(), kind.to_owned())].into() },
            items,
            ..Item::default()
        };
        let meta = [(CLASSNAME.to_owned(), "tests.a".to_owned())].into();
        let leaf = Item { name: "test_x".to_owned(), meta, ..Item::default() };
        let suite = item("outer", "", vec![item("inner", "", vec![leaf])]);
        let root = item("p", "summary", vec![item("n1", "node", vec![item("junit.xml", "file", vec![suite])])]);
        let mut leaves = root.leaves();
        let leaf = leaves.next().unwrap();
        let id = TestId::of(leaves.walk().ancestors(), leaf);
        assert_eq!((id.node.as_deref(), id.place().as_str()), (Some("n1"), "outer › inner"));
        assert_eq!((id.classname.as_str(), id.name.as_str()), ("tests.a", "test_x"));
    }
}
