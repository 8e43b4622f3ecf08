//! Items and texts for tests.

use std::io;

use plumbline_core::Item;

/// A leaf.
pub(crate) fn leaf(name: &str, status: &str) -> Item {
    Item { name: name.into(), status: status.into(), ..Item::default() }
}

/// The results of a node.
pub(crate) fn node(name: &str, items: Vec<Item>) -> Item {
    Item { name: name.into(), meta: [("type".to_owned(), "node".to_owned())].into(), items, ..Item::default() }
}

/// What `write` writes.
pub(crate) fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}
