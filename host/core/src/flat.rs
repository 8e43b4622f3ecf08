//! Between the tree and its pre-order list, the form that modules emit and that lies on disk.

use crate::item::{FlatItem, Item};

/// Levels of a tree: 1,000. Far above what a module may emit ([`crate::ModuleLimits::depth`]) with the levels that the host adds, and
/// low enough that a tree can be dropped, compared and cloned, all of which call themselves for each level.
pub const MAX_DEPTH: u32 = 1_000;

/// Why a list is not the pre-order of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// An item is more than one level below the item before it.
    #[error("item {index} has depth {depth}, but the item before it allows at most {allowed}")]
    DepthJump {
        /// Which item, counted from 0.
        index: u64,
        /// Its depth.
        depth: u32,
        /// The greatest depth that would have been right.
        allowed: u32,
    },
    /// An item is on a level that there must not be.
    #[error("item {index} has depth {depth}: a tree has at most {MAX_DEPTH} levels")]
    TooDeep {
        /// Which item, counted from 0.
        index: u64,
        /// Its depth.
        depth: u32,
    },
}

/// The items of a tree in pre-order, the root with depth 0.
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

/// The trees whose pre-order is `items`. An item without a status is `unknown` until it is rolled up.
///
/// # Errors
/// [`TreeError`], at the first item that does not fit.
pub fn build(items: impl IntoIterator<Item = FlatItem>) -> Result<Vec<Item>, TreeError> {
    let mut roots = Vec::new();
    // The way from a root to the item before this one.
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

/// Hands each item from level `depth` on to the one above it.
fn close(way: &mut Vec<Item>, depth: usize, roots: &mut Vec<Item>) {
    while way.len() > depth {
        let Some(done) = way.pop() else { return };
        way.last_mut().map_or(&mut *roots, |above| &mut above.items).push(done);
    }
}

#[cfg(test)]
#[path = "flat_tests.rs"]
mod tests;
