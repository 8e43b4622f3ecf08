//! What is known of each unit.

use std::collections::BTreeMap;

use crate::priority::Counts;

/// Units that are told apart. Later ones are counted together: whoever names units can name many.
pub const MAX_UNITS_KNOWN: usize = 10_000;

/// Bytes of a unit's name; systemd's have at most 255.
const MAX_NAME: usize = 256;

/// What is known of a unit.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// Its entries.
    pub(crate) counts: Counts,
    /// The first of its messages that are shown.
    pub(crate) messages: Vec<String>,
}

/// Units by name.
#[derive(Debug, Default)]
pub(crate) struct Units {
    known: BTreeMap<String, Unit>,
    others: Counts,
}

impl Units {
    /// Counts an entry; its unit, if that is one of those that are told apart.
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

    /// Those with entries of `priority` or worse, most first; and what is counted together.
    pub(crate) fn into_sorted(self, priority: usize) -> (Vec<(String, Unit)>, Counts) {
        let mut units: Vec<_> = self.known.into_iter().filter(|(_, unit)| unit.counts.at_least(priority) > 0).collect();
        units.sort_by_key(|(_, unit)| std::cmp::Reverse(unit.counts.at_least(priority)));
        (units, self.others)
    }
}
