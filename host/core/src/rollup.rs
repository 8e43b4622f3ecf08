//! Rolls up the status of an item from those of its children (docs/architecture.md, "Result tree").
//!
//! In the standard mode, the status of an item with children is the first match of this list:
//!
//! 1. `failed`, if a child is `failed` or `timeout`
//! 2. `unknown`, if a child is
//! 3. `passed`, if a child is
//! 4. `skipped`, if a child is
//! 5. `not-read`, if all children are
//!
//! An item in which nothing ran is therefore not `passed`.
//!
//! If one leaf of a plugin's tree has a custom status, the whole tree is in custom mode. The status
//! of every item with children is then a list of counts, such as `failed: 1, warning: 3`.
//!
//! A name in such a list may contain a comma and a space, such as `blocked, see log: 1, failed: 2`.
//! What a list means for a verdict is in [`meanings`].
//!
//! The status of an item with children is always overwritten, whatever the post-processor or a
//! hand-written file says. A leaf keeps its status. A test suite without test cases is a leaf.

use std::collections::BTreeMap;

use crate::item::Item;
use crate::status::Status;

/// The maximum number of custom statuses that one item counts by name. The lexically greatest ones
/// beyond it are counted as [`OTHER_STATUSES`], or as timeout, failed or unknown if that is their
/// [`worst`] meaning.
///
/// Real plugins have a handful. The limit stops a module that invents a status per item, which
/// would otherwise be repeated on every level.
pub const MAX_CUSTOM_STATUSES: usize = 100;

/// The status under which statuses beyond [`MAX_CUSTOM_STATUSES`] are counted.
pub const OTHER_STATUSES: &str = "other";

/// The text between two counts of a list.
pub(crate) const LIST_SEPARATOR: &str = ", ";

/// The metadata key of an empty root under which [`NO_RESULTS_REASON`] is stored.
pub const REASON: &str = "reason";

/// The reason why an empty root is `unknown`.
pub const NO_RESULTS_REASON: &str = "the plugin has no results";

/// Parses text of the form `failed: 1, warning: 3`. Returns `None` for any other text.
///
/// A part without a count is the start of a name that contains a comma and a space.
pub fn counts_in(text: &str) -> Option<Vec<(&str, u64)>> {
    let mut counts = Vec::new();
    // The start of the name, and that of the part.
    let (mut start, mut at) = (0, 0);
    for part in text.split(LIST_SEPARATOR) {
        let end = at + part.len();
        at = end + LIST_SEPARATOR.len();
        let Some((_, digits)) = part.rsplit_once(": ").filter(|(_, digits)| is_number(digits)) else { continue };
        let name = text.get(start..end)?.strip_suffix(digits)?.strip_suffix(": ")?;
        if name.is_empty() {
            return None;
        }
        counts.push((name, digits.parse().ok()?));
        start = at;
    }
    (start == at).then_some(counts)
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Returns what a verdict counts `status` as: each status of a list of counts, or else the status
/// itself ([`Status::meaning`]).
pub fn meanings(status: &Status) -> Vec<Status> {
    let Status::Custom(text) = status else { return vec![status.clone()] };
    match counts_in(text) {
        Some(counts) => {
            let named = counts.into_iter().filter(|&(_, n)| n > 0);
            named.map(|(name, _)| Status::from(name).meaning()).collect()
        }
        None => vec![status.meaning()],
    }
}

/// Returns the worst of the [`meanings`] of `status`: timeout, failed or unknown. Returns `None` if
/// `status` has no such meaning.
pub fn worst(status: &Status) -> Option<Status> {
    const BAD: [Status; 3] = [Status::Timeout, Status::Failed, Status::Unknown];
    match status {
        Status::Custom(_) => {
            let meanings = meanings(status);
            BAD.into_iter().find(|bad| meanings.contains(bad))
        }
        standard => BAD.into_iter().find(|bad| bad == standard),
    }
}

/// Returns the one status that a verdict counts `status` as: the [`worst`] of its meanings, or else
/// the standard status that all of a list have in common, or else [`Status::meaning`].
pub fn meaning(status: &Status) -> Status {
    worst(status).unwrap_or_else(|| match meanings(status).as_slice() {
        [first, rest @ ..] if !first.is_custom() && rest.iter().all(|other| other == first) => first.clone(),
        _ => status.meaning(),
    })
}

/// Returns whether a verdict counts `status` as failed or timed out.
pub fn is_failure(status: &Status) -> bool {
    matches!(worst(status), Some(Status::Failed | Status::Timeout))
}

/// Counts of statuses, from which the status of the parent item follows. It needs no tree, so a
/// tree on disk in pre-order can be rolled up from back to front:
///
/// ```
/// use plumbline_core::{Status, rollup::Tally};
///
/// // root > (suite > (passed, failed), passed), in pre-order: depth, and the status of leaves.
/// let tree = [(0, None), (1, None), (2, Some(Status::Passed)), (2, Some(Status::Failed)), (1, Some(Status::Passed))];
/// let custom = tree.iter().flat_map(|(_, status)| status).any(Status::is_custom);
/// let mut open: Vec<Tally> = Vec::new(); // open[d]: the items of depth d seen since their parent
/// let mut rolled = Vec::new();
/// for (depth, status) in tree.iter().rev() {
///     let depth: usize = *depth;
///     let below = open.get_mut(depth + 1).map(std::mem::take).unwrap_or_default();
///     let status = status.clone().unwrap_or_else(|| below.result(custom));
///     open.resize_with(open.len().max(depth + 1), Tally::default);
///     open[depth].add(&status);
///     rolled.push(status);
/// }
/// assert_eq!(rolled.pop(), Some(Status::Failed)); // the root
/// assert_eq!(rolled.pop(), Some(Status::Failed)); // the suite
/// ```
///
/// Its size is limited by [`MAX_CUSTOM_STATUSES`]. The order of additions makes no difference.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    standard: BTreeMap<Status, u64>,
    custom: BTreeMap<String, u64>,
    /// The number of custom statuses that are not counted by name.
    beyond: u64,
}

impl Tally {
    /// Counts the status of one child. If it is a list of counts, each count is added separately.
    pub fn add(&mut self, status: &Status) {
        self.add_many(status, 1);
    }

    /// Counts the status of `n` children, like `n` calls of [`Tally::add`].
    pub fn add_many(&mut self, status: &Status, n: u64) {
        match status {
            // Do not even keep the name: an unused status must not displace a used one.
            _ if n == 0 => {}
            Status::Custom(text) => match counts_in(text) {
                Some(parts) => {
                    parts.into_iter().for_each(|(name, of)| self.add_named(&Status::from(name), of.saturating_mul(n)));
                }
                None => self.add_named(status, n),
            },
            standard => self.add_named(standard, n),
        }
    }

    /// Counts the status of one leaf unchanged, for a summary of leaves by status
    /// ([`Tally::counts`]).
    pub fn add_leaf(&mut self, status: &Status) {
        self.add_named(status, 1);
    }

    fn add_named(&mut self, status: &Status, n: u64) {
        let standard = match status {
            Status::Custom(name) if name.is_empty() => &Status::Unknown,
            Status::Custom(name) => return self.add_custom(name, n),
            standard => standard,
        };
        match self.standard.get_mut(standard) {
            Some(count) => *count = count.saturating_add(n),
            None if n > 0 => _ = self.standard.insert(standard.clone(), n),
            None => {}
        }
    }

    /// Counts a custom status and keeps the lexically smallest names.
    ///
    /// A dropped name is greater than all names that are kept, then and later, so it never returns
    /// with a partial count. The order of additions therefore makes no difference.
    fn add_custom(&mut self, name: &str, n: u64) {
        if let Some(count) = self.custom.get_mut(name) {
            *count = count.saturating_add(n);
            return;
        }
        if self.custom.len() >= MAX_CUSTOM_STATUSES {
            if self.custom.last_key_value().is_none_or(|(last, _)| name >= last.as_str()) {
                return self.add_beyond(name, n);
            }
            if let Some((last, count)) = self.custom.pop_last() {
                self.add_beyond(&last, count);
            }
        }
        self.custom.insert(name.to_owned(), n);
    }

    /// Counts a custom status without its name. A failure must not disappear among other statuses.
    fn add_beyond(&mut self, name: &str, n: u64) {
        match worst(&Status::from(name)) {
            Some(bad) => self.add_named(&bad, n),
            None => self.beyond = self.beyond.saturating_add(n),
        }
    }

    /// Returns whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the status of the parent item. It is `unknown` if nothing was counted, so that an
    /// empty run never passes.
    ///
    /// `custom_mode` says whether any leaf of the plugin's whole tree has a custom status.
    pub fn result(&self, custom_mode: bool) -> Status {
        let has = |status| self.standard.contains_key(&status);
        if self.is_empty() {
            Status::Unknown
        } else if custom_mode {
            let counts: Vec<String> = self.counts().iter().map(|(name, n)| format!("{name}: {n}")).collect();
            Status::from(counts.join(LIST_SEPARATOR))
        } else if has(Status::Failed) || has(Status::Timeout) || self.has_custom_failure() {
            Status::Failed
        } else if has(Status::Unknown) || !self.custom.is_empty() {
            Status::Unknown
        } else if has(Status::Passed) {
            Status::Passed
        } else if has(Status::Skipped) {
            Status::Skipped
        } else {
            Status::NotRead
        }
    }

    fn has_custom_failure(&self) -> bool {
        self.custom.keys().any(|name| is_failure(&Status::from(name.as_str())))
    }

    /// Returns the counts by status.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = self.custom.clone();
        counts.extend(self.standard.iter().map(|(status, n)| (status.as_str().to_owned(), *n)));
        if self.beyond > 0 {
            let other = counts.entry(OTHER_STATUSES.to_owned()).or_default();
            *other = other.saturating_add(self.beyond);
        }
        counts
    }
}

/// Rolls up the tree of one plugin by setting the status of every item with children.
///
/// A root without children becomes `unknown`, with a [`REASON`] in its metadata unless it already
/// has one. A run rolls up trees on disk with [`Tally`]. This function is for trees in memory, and
/// recursive.
pub fn roll_up(root: &mut Item) {
    if root.items.is_empty() {
        root.status = Status::Unknown;
        root.meta.entry(REASON.to_owned()).or_insert_with(|| NO_RESULTS_REASON.to_owned());
        return;
    }
    let is_custom = |status: &Status| matches!(status, Status::Custom(text) if !text.is_empty());
    let custom_mode = root.leaves().any(|leaf| is_custom(&leaf.status));
    roll_up_below(root, custom_mode);
}

fn roll_up_below(item: &mut Item, custom_mode: bool) {
    let mut tally = Tally::default();
    for child in &mut item.items {
        roll_up_below(child, custom_mode);
        tally.add(&child.status);
    }
    if !item.items.is_empty() {
        item.status = tally.result(custom_mode);
    } else if item.status == Status::Custom(String::new()) {
        item.status = Status::Unknown;
    }
}

/// Counts the leaves of a tree by status. An item without children is its own leaf. Not recursive,
/// and limited by [`MAX_CUSTOM_STATUSES`].
pub fn counts(item: &Item) -> BTreeMap<String, u64> {
    let mut tally = Tally::default();
    item.leaves().for_each(|leaf| tally.add_leaf(&leaf.status));
    tally.counts()
}

#[cfg(test)]
#[path = "rollup_tests.rs"]
mod tests;
