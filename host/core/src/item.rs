//! The result tree: its items, its traversal, its pre-order list, its parser, and when its items
//! started and how long they took.

use std::collections::BTreeMap;
use std::slice;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::status::Status;

/// Short facts about an item. Known keys: `type` (`summary` at the root, `node`, `file`), `file`
/// (path below the plugin's directory), `error`.
pub type Meta = BTreeMap<String, String>;

/// One node of the result tree, as written in `sonobuoy_results.yaml`.
///
/// The order of keys is `name`, `status`, `meta`, `details`, `items`. Empty keys are left out,
/// except for `name` and `status`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Item {
    /// The display name.
    #[serde(default)]
    pub name: String,
    /// The status. For an item with children, it is rolled up from them.
    #[serde(default)]
    pub status: Status,
    /// Short facts about the item.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: Meta,
    /// Information for users who look into a failure.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    /// The children, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
}

/// An item in pre-order, before the tree is built. Modules emit this form, and it is spooled to
/// disk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FlatItem {
    /// The depth, 0 for a root of the list. The parent of an item is the nearest earlier item one
    /// level up.
    pub depth: u32,
    /// The display name.
    pub name: String,
    /// The status. `None` means that it is rolled up from the children, or `unknown` if there are
    /// none.
    pub status: Option<Status>,
    /// Short facts about the item.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: Meta,
    /// Information for users who look into a failure.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

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
    pub fn path(&self) -> Vec<&'a str> {
        self.way.iter().map(|(item, _)| item.name.as_str()).collect()
    }

    /// Returns the number of ancestors of the current item.
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
    pub fn is_leaf(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns an iterator over this item and its descendants, parents before children.
    pub fn walk(&self) -> Walk<'_> {
        Walk { root: Some(self), way: Vec::new() }
    }

    /// Returns an iterator over the leaves below this item, in order. An item without children is
    /// its own leaf.
    pub fn leaves(&self) -> Leaves<'_> {
        Leaves(self.walk())
    }

    /// Returns the first item with this name, depth first, including this item.
    pub fn find(&self, name: &str) -> Option<&Item> {
        self.walk().find(|item| item.name == name)
    }

    /// Drops the tree without recursion.
    ///
    /// The regular drop of an [`Item`] recurses once per level. Trees from outside are never deep
    /// enough for that to matter: [`crate::item::build`] stops at [`crate::item::MAX_DEPTH`], and
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

/// The maximum nesting depth of the YAML. Each level of the tree takes two levels of YAML. Modules
/// may emit 64 levels, and the parser's recursion takes stack.
const MAX_YAML_DEPTH: usize = 300;

impl Item {
    /// Parses a result tree from YAML, of which JSON is a subset. The caller limits the length of
    /// `text`.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str_with_options(text, options(text.len())).map_err(|error| error.to_string())
    }
}

/// Allows as much as the text can need without aliases. Aliases multiply content, and no tool
/// writes them into a tree.
fn options(bytes: usize) -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: bytes.saturating_mul(2).saturating_add(64),
            max_nodes: bytes.saturating_add(64),
            max_total_scalar_bytes: bytes.saturating_add(64),
            max_depth: MAX_YAML_DEPTH,
            max_aliases: 0,
            max_anchors: 0,
        },
        emit_comments: false,
        with_snippet: false,
    }
}

/// The meta key for the start of an item: RFC 3339, or seconds since 1970.
const START: &str = "start";

/// The meta key for the duration of an item in seconds.
const DURATION: &str = "duration";

/// The details in which Ginkgo writes when it entered and left a node of a test.
const TIMELINES: [&str; 2] = ["system-err", "failure"];

/// The maximum number of bytes of a timeline that are searched for its first time.
const MAX_SEARCHED: usize = 64 << 10;

/// Returns how many seconds an item took, if its meta says so. The number is finite and not
/// negative.
pub fn seconds(meta: &Meta) -> Option<f64> {
    let seconds: f64 = meta.get(DURATION)?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

/// Returns when an item started, if it says so: in its meta, or in Ginkgo's timeline.
pub fn started(meta: &Meta, details: &Map<String, Value>) -> Option<Timestamp> {
    if let Some(start) = meta.get(START) {
        return match start.parse::<f64>() {
            Ok(seconds) => Timestamp::from_duration(SignedDuration::try_from_secs_f64(seconds).ok()?).ok(),
            Err(_) => start.parse().ok(),
        };
    }
    TIMELINES.iter().find_map(|key| match details.get(*key) {
        Some(Value::String(text)) => first_time(text),
        _ => None,
    })
}

/// Returns the first time in a timeline of Ginkgo, such as ` @ 07/30/26 13:22:20.123`. It has no
/// time zone; the suite's containers run in UTC.
fn first_time(text: &str) -> Option<Timestamp> {
    let end = text.floor_char_boundary(MAX_SEARCHED);
    text.get(..end)?.split(" @ ").skip(1).find_map(|rest| {
        let day = rest.find([' ', '\n', '('])?;
        let time = rest.get(day + 1..)?;
        let length = time.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(time.len());
        let stamp = rest.get(..day + 1 + length)?;
        let time = DateTime::strptime("%m/%d/%y %H:%M:%S%.f", stamp).ok()?;
        Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
    })
}

#[cfg(test)]
#[path = "item_tests.rs"]
mod tests;
