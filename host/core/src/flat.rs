//! Converts between the tree and its pre-order list. Modules emit the list, and it is also the form
//! on disk.

use crate::item::{FlatItem, Item};

/// The maximum number of levels of a tree: 1,000.
///
/// This is far above what a module may emit ([`crate::ModuleLimits::depth`]) plus the levels that
/// the host adds. Dropping, comparing and cloning a tree recurse once per level, which this depth
/// allows.
pub const MAX_DEPTH: u32 = 1_000;

/// Error for a list that is not the pre-order of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// An item is more than one level below the item before it.
    #[error("item {index} has depth {depth}, but the item before it allows at most {allowed}")]
    DepthJump {
        /// The index of the item, counted from 0.
        index: u64,
        /// The depth of the item.
        depth: u32,
        /// The maximum depth at this position.
        allowed: u32,
    },
    /// An item exceeds [`MAX_DEPTH`].
    #[error("item {index} has depth {depth}: a tree has at most {MAX_DEPTH} levels")]
    TooDeep {
        /// The index of the item, counted from 0.
        index: u64,
        /// The depth of the item.
        depth: u32,
    },
}

/// Returns the items of a tree in pre-order, with depth 0 for the root.
#[must_use]
pub fn flatten(root: &Item) -> Vec<FlatItem> {
    let mut walk = root.walk();
    let mut list = Vec::new();
    while let Some(item) = walk.next() {
        list.push(FlatItem {
            depth: u32::try_from(walk.depth()).unwrap_or(u32::MAX),
            name: item.name.clone(),
            status: Some(item.status.clone()),
            meta: item.meta.clone(),
            details: item.details.clone(),
        });
    }
    list
}

/// Builds the trees whose pre-order is `items`. An item without a status is `unknown` until it is
/// rolled up.
///
/// # Errors
///
/// Returns a [`TreeError`] for the first item that does not fit.
pub fn build(items: impl IntoIterator<Item = FlatItem>) -> Result<Vec<Item>, TreeError> {
    let mut roots = Vec::new();
    // The path from a root to the previous item.
    let mut way: Vec<Item> = Vec::new();
    for (index, flat) in (0u64..).zip(items) {
        let allowed = u32::try_from(way.len()).unwrap_or(u32::MAX);
        if flat.depth > allowed {
            return Err(TreeError::DepthJump { index, depth: flat.depth, allowed });
        }
        if flat.depth >= MAX_DEPTH {
            return Err(TreeError::TooDeep { index, depth: flat.depth });
        }
        close(&mut way, flat.depth as usize, &mut roots);
        way.push(Item {
            name: flat.name,
            status: flat.status.unwrap_or_default(),
            meta: flat.meta,
            details: flat.details,
            items: Vec::new(),
        });
    }
    close(&mut way, 0, &mut roots);
    Ok(roots)
}

/// Moves each item from level `depth` on into its parent.
fn close(way: &mut Vec<Item>, depth: usize, roots: &mut Vec<Item>) {
    while way.len() > depth {
        let Some(done) = way.pop() else { return };
        way.last_mut().map_or(&mut *roots, |above| &mut above.items).push(done);
    }
}

#[cfg(test)]
#[path = "flat_tests.rs"]
mod tests;
