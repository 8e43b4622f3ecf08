//! Traversal of the result tree. No iterator is recursive, so a deep tree takes memory and no
//! stack.

use std::slice;

use crate::item::Item;

/// An iterator over all items of a tree, parents before children, which knows the path to the
/// current item:
///
/// ```
/// # let root: plumbline_core::Item = serde_json::from_str(
/// #     r#"{"name":"e2e","status":"passed","items":[{"name":"junit.xml","status":"passed","items":[{"name":"a","status":"passed"}]}]}"#,
/// # ).unwrap();
/// let mut walk = root.walk();
/// let mut paths = Vec::new();
/// while let Some(item) = walk.next() {
///     paths.push(walk.path().join("|"));
/// }
/// assert_eq!(paths, ["e2e", "e2e|junit.xml", "e2e|junit.xml|a"]);
/// ```
#[derive(Debug, Clone)]
pub struct Walk<'a> {
    root: Option<&'a Item>,
    /// The path to the current item, including it. Each entry has the children that are still to
    /// visit.
    way: Vec<(&'a Item, slice::Iter<'a, Item>)>,
}

impl<'a> Walk<'a> {
    /// Returns the ancestors of the current item, root first.
    pub fn ancestors(&self) -> impl Iterator<Item = &'a Item> {
        let above = self.way.len().saturating_sub(1);
        self.way.iter().take(above).map(|(item, _)| *item)
    }

    /// Returns the names from the root to the current item, both included.
    #[must_use]
    pub fn path(&self) -> Vec<&'a str> {
        self.way.iter().map(|(item, _)| item.name.as_str()).collect()
    }

    /// Returns the number of ancestors of the current item.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.way.len().saturating_sub(1)
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = &'a Item;
    fn next(&mut self) -> Option<&'a Item> {
        if let Some(root) = self.root.take() {
            self.way.push((root, root.items.iter()));
            return Some(root);
        }
        loop {
            let (_, children) = self.way.last_mut()?;
            match children.next() {
                Some(child) => {
                    self.way.push((child, child.items.iter()));
                    return Some(child);
                }
                None => {
                    self.way.pop();
                }
            }
        }
    }
}

/// An iterator over the leaves of a tree in order: a [`Walk`] that yields only items without
/// children.
#[derive(Debug, Clone)]
pub struct Leaves<'a>(Walk<'a>);

impl<'a> Leaves<'a> {
    /// Returns the underlying walk, which knows the path to the current leaf.
    #[must_use]
    pub fn walk(&self) -> &Walk<'a> {
        &self.0
    }
}

impl<'a> Iterator for Leaves<'a> {
    type Item = &'a Item;
    fn next(&mut self) -> Option<&'a Item> {
        self.0.by_ref().find(|item| item.is_leaf())
    }
}

impl Item {
    /// Returns whether this item has no children.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns an iterator over this item and its descendants, parents before children.
    #[must_use]
    pub fn walk(&self) -> Walk<'_> {
        Walk { root: Some(self), way: Vec::new() }
    }

    /// Returns an iterator over the leaves below this item, in order. An item without children is
    /// its own leaf.
    #[must_use]
    pub fn leaves(&self) -> Leaves<'_> {
        Leaves(self.walk())
    }

    /// Returns the first item with this name, depth first, including this item.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Item> {
        self.walk().find(|item| item.name == name)
    }

    /// Drops the tree without recursion.
    ///
    /// The regular drop of an [`Item`] recurses once per level. Trees from outside are never deep
    /// enough for that to matter: [`crate::flat::build`] stops at [`crate::flat::MAX_DEPTH`], and
    /// JSON and YAML parsers have their own limits. Code that builds deeper trees by hand should
    /// drop them with this function. There is no `Drop` implementation, because it would prevent
    /// moving fields out of an item.
    pub fn dismantle(mut self) {
        let mut open = std::mem::take(&mut self.items);
        while let Some(mut item) = open.pop() {
            open.append(&mut item.items);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, items: Vec<Item>) -> Item {
        Item { name: name.to_owned(), items, ..Item::default() }
    }

    fn tree() -> Item {
        item("root", vec![item("a", vec![item("x", vec![]), item("y", vec![])]), item("b", vec![]), item("x", vec![])])
    }

    #[test]
    fn a_walk_gives_parents_before_children_and_knows_the_way() {
        let tree = tree();
        let mut walk = tree.walk();
        let mut seen = Vec::new();
        while walk.next().is_some() {
            assert_eq!(walk.depth(), walk.ancestors().count());
            seen.push(walk.path().join("/"));
        }
        assert_eq!(seen, ["root", "root/a", "root/a/x", "root/a/y", "root/b", "root/x"]);
    }

    #[test]
    fn leaves_are_the_items_without_children() {
        let names: Vec<&str> = tree().leaves().map(|leaf| leaf.name.clone()).map(|name| &*name.leak()).collect();
        assert_eq!(names, ["x", "y", "b", "x"]);
        let tree = tree();
        let mut leaves = tree.leaves();
        leaves.next();
        assert_eq!(leaves.walk().path(), ["root", "a", "x"]);
        assert_eq!(item("alone", vec![]).leaves().count(), 1);
    }

    #[test]
    fn find_takes_the_first_depth_first_and_sees_the_root() {
        let tree = tree();
        assert!(std::ptr::eq(tree.find("x").unwrap(), &tree.items[0].items[0]));
        assert!(std::ptr::eq(tree.find("root").unwrap(), &tree));
        assert!(tree.find("nobody").is_none());
    }

    #[test]
    fn a_tree_of_any_depth_is_walked_and_dropped() {
        let mut deep = item("leaf", vec![]);
        for _ in 0..200_000 {
            deep = item("level", vec![deep]);
        }
        // Recursive versions of both would overflow this stack.
        let thread = std::thread::Builder::new().stack_size(128 << 10);
        let counted = thread.spawn(move || {
            let counted = deep.walk().count();
            assert_eq!(deep.find("leaf").unwrap().items.len(), 0);
            deep.dismantle();
            counted
        });
        assert_eq!(counted.unwrap().join().unwrap(), 200_001);
    }
}
