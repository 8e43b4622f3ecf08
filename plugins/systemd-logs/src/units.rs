//! Collects entries by unit.

use std::collections::BTreeMap;

use crate::priority::Counts;

/// Maximum number of units to distinguish. Later ones are counted together, because untrusted
/// entries can name any number of units.
pub const MAX_UNITS_KNOWN: usize = 10_000;

/// Maximum size in bytes of a unit's name; systemd's have at most 255.
const MAX_NAME: usize = 256;

/// The entries of a unit.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// The counts of its entries.
    pub(crate) counts: Counts,
    /// The first of its messages, which are shown.
    pub(crate) messages: Vec<String>,
}

/// Units by name.
#[derive(Debug, Default)]
pub(crate) struct Units {
    known: BTreeMap<String, Unit>,
    others: Counts,
}

impl Units {
    /// Counts an entry. Returns its unit, unless there are too many units to distinguish it.
    pub(crate) fn count(&mut self, name: &str, priority: Option<usize>) -> Option<&mut Unit> {
        let name = name.get(..name.floor_char_boundary(MAX_NAME)).unwrap_or(name);
        if !self.known.contains_key(name) {
            if self.known.len() == MAX_UNITS_KNOWN {
                self.others.add(priority);
                return None;
            }
            self.known.insert(name.to_owned(), Unit::default());
        }
        let unit = self.known.get_mut(name)?;
        unit.counts.add(priority);
        Some(unit)
    }

    /// Returns the units with entries of `priority` or worse, those with the most first, and the
    /// counts of undistinguished units.
    pub(crate) fn into_sorted(self, priority: usize) -> (Vec<(String, Unit)>, Counts) {
        let mut units: Vec<_> = self.known.into_iter().filter(|(_, unit)| unit.counts.at_least(priority) > 0).collect();
        units.sort_by_key(|(_, unit)| std::cmp::Reverse(unit.counts.at_least(priority)));
        (units, self.others)
    }
}
