//! The items of a tree one after the other, and the facts of trees that are too large to be held.

use std::collections::BTreeMap;
use std::io::{self, BufReader};

use plumbline_aggregator::read_items;
use plumbline_core::rollup::REASON;
use plumbline_core::{Item, NOT_READ, Status};

use super::Trees;
use super::facts::{Severity, TreeFacts, bare};
use crate::error::{AppError, Explain as _};
use crate::report::text::one_line;

/// The most bytes of a text of a tree that is read item by item. The archive has longer ones.
pub(crate) const MAX_TEXT: usize = 1 << 20;

/// The same for views with every text that a module can emit: an item has at most 64 MiB, whose
/// characters can take six bytes each when they are escaped.
pub(crate) const WHOLE_TEXT: usize = 512 << 20;

/// The items of a tree: in memory, or read one by one from the tree of this plugin.
#[derive(Clone, Copy)]
pub(crate) enum Items<'a> {
    Whole(&'a Item),
    Streamed(&'a str),
}

impl Items<'_> {
    /// Calls `visit` with the items, parents before children: the depth (0 for the root), the item
    /// without its children if it was read by itself, and whether it has none. Texts of more than
    /// `text_bytes` bytes of such items are left out. Returns their number.
    pub(crate) fn each(
        self,
        trees: &mut Trees,
        text_bytes: usize,
        visit: &mut dyn FnMut(usize, &Item, bool) -> Result<(), AppError>,
    ) -> Result<u64, AppError> {
        let plugin = match self {
            Self::Streamed(plugin) => plugin,
            Self::Whole(root) => {
                let mut walk = root.walk();
                while let Some(item) = walk.next() {
                    visit(walk.depth(), item, item.is_leaf())?;
                }
                return Ok(0);
            }
        };
        // Errors of `visit` are not errors of the archive.
        let mut visited = Ok(());
        let read = trees.each_item(plugin, text_bytes, &mut |depth, item, is_leaf| {
            visited = visit(depth, &item, is_leaf);
            if visited.is_ok() { Ok(()) } else { Err(io::Error::other("the items are not needed")) }
        });
        visited?;
        read.map_err(AppError::into_system)
    }
}

/// The place of the current item in a tree whose items come one by one, parents before children.
#[derive(Default)]
pub(crate) struct Position {
    /// The items above it, the root first, without details.
    pub(crate) above: Vec<Item>,
    leaves: usize,
}

impl Position {
    /// Moves to an item. Returns the number of a leaf among [`Item::leaves`], from 0.
    pub(crate) fn advance(&mut self, depth: usize, item: &Item, is_leaf: bool) -> Option<usize> {
        self.above.truncate(depth);
        if !is_leaf {
            let (name, status, meta) = (item.name.clone(), item.status.clone(), item.meta.clone());
            self.above.push(Item { name, status, meta, ..Item::default() });
            return None;
        }
        self.leaves += 1;
        Some(self.leaves - 1)
    }
}

impl Trees {
    fn each_item(
        &mut self,
        plugin: &str,
        text_bytes: usize,
        visit: &mut dyn FnMut(usize, Item, bool) -> io::Result<()>,
    ) -> Result<u64, AppError> {
        let path = self.name.clone();
        self.with_tree(plugin, |from, _| {
            let mut last: Option<(usize, Item)> = None;
            read_items(BufReader::new(from), text_bytes, |flat| {
                let depth = usize::try_from(flat.depth).unwrap_or(usize::MAX);
                let (status, meta, details) = (flat.status.unwrap_or_default(), flat.meta, flat.details);
                let item = Item { name: flat.name, status, meta, details, items: Vec::new() };
                match last.replace((depth, item)) {
                    Some((above, item)) => visit(above, item, depth <= above),
                    None => Ok(()),
                }
            })
            .and_then(|left_out| {
                last.map_or(Ok(()), |(depth, item)| visit(depth, item, true))?;
                Ok(left_out)
            })
            .system_error(format_args!("failed to read the result tree of plugin `{plugin}` in `{path}`"))
        })
    }

    /// The facts of the tree of `plugin`, if it can be read item by item: Plumbline wrote it, and
    /// its root is not better than its items. `None` means that the tree must be read as a whole,
    /// which also reports what is wrong with it.
    pub fn facts_of_items(&mut self, plugin: &str) -> Option<TreeFacts> {
        if !self.is_own() {
            return None;
        }
        let mut facts: Option<TreeFacts> = None;
        let read = self.each_item(plugin, MAX_TEXT, &mut |depth, item, is_leaf| {
            let is_first = facts.is_none();
            let facts = facts.get_or_insert_with(|| TreeFacts::new(bare(&item), is_leaf));
            if depth > 0 && !is_first {
                facts.below = facts.below.max(Severity::of(&item.status));
            }
            if is_leaf && (depth > 0 || is_first) {
                facts.add(&item);
            }
            Ok(())
        });
        read.ok().and(facts).filter(|facts| !facts.is_contradictory())
    }

    /// The leaves of the tree of `plugin` by status, as a verdict counts them.
    ///
    /// Sonobuoy gives files that it does not read the status `passed`, and plugins without results
    /// too. For the verdict, such files are `not-read`, and a plugin without results has no leaf. A
    /// note reports such files.
    pub fn verdict_counts(&self, plugin: &str, facts: &TreeFacts) -> BTreeMap<String, u64> {
        if facts.is_empty {
            return BTreeMap::new();
        }
        let mut counts = facts.tally.counts();
        let unread = if self.is_sonobuoys(plugin) { facts.unread } else { 0 };
        if unread > 0 {
            let files = if unread == 1 { "1 file was".to_owned() } else { format!("{unread} files were") };
            self.reporter.note(&format!(
                "plugin `{plugin}`: {files} collected and not read; the archive marks them as passed, but the verdict does not count them"
            ));
            if let Some(passed) = counts.get_mut(Status::Passed.as_str()) {
                *passed = passed.saturating_sub(unread);
            }
            counts.retain(|_, n| *n > 0);
            *counts.entry(NOT_READ.to_owned()).or_default() += unread;
        }
        if let Some(reason) = facts.root.meta.get(REASON) {
            self.reporter.note(&format!("plugin `{plugin}`: {}", one_line(reason)));
        }
        counts
    }
}
