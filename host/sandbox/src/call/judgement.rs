//! Checks the input and output of a judge against the rules of `types.wit` and the limits of the
//! call.

use std::collections::HashSet;

use plumbline_core::{Check, ModuleLimits, Ruling};

use crate::call::emit::ENTRY_BYTES;
use crate::call::input::{Size, item_size};
use crate::call::io::TreeItem;
use crate::failure::{Stop, Unit, quoted};

/// The maximum length of a class in bytes, as in the WIT.
const MAX_CLASS: usize = 64;
/// The maximum length in bytes of every other string of a ruling or check, except for a check's ID,
/// as in the WIT.
const MAX_TEXT: usize = 4 << 10;
/// The maximum length of a check's ID in characters, as in the WIT.
const MAX_ID: usize = 64;
/// The maximum number of checks in one call, as in the WIT. Users read them one by one, and the
/// host remembers every ID.
const MAX_CHECKS: usize = 10_000;
const MAX_QUOTED: usize = 100;

/// The type behind the WIT resource `tree`. Each call has one.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "the generated bindings name it in a `pub use`; their module keeps it inside")]
pub struct TreeHandle;

impl Size for TreeItem {
    fn size(&self) -> u64 {
        let texts = |Ruling { class, reason, source, .. }: &Ruling| class.len() + reason.len() + source.len();
        let ruling = self.ruling.as_ref().map_or(0, |ruling| ENTRY_BYTES.saturating_add(texts(ruling) as u64));
        (self.set.len() as u64).saturating_add(item_size(&self.item)).saturating_add(ruling)
    }
}

/// Counts the items that a judge reads, and checks its output. An error ends the call.
#[derive(Debug)]
pub(crate) struct Ruler {
    limits: ModuleLimits,
    given: ReadItems,
    pub(crate) items: u64,
    pub(crate) bytes: u64,
    ids: HashSet<String>,
}

impl Ruler {
    pub(crate) fn new(limits: &ModuleLimits) -> Self {
        Self { limits: limits.clone(), given: ReadItems::default(), items: 0, bytes: 0, ids: HashSet::new() }
    }

    pub(crate) fn give(&mut self, leaf: bool) -> u64 {
        self.given.push(leaf)
    }

    pub(crate) fn ruling(&mut self, index: u64, ruling: Ruling) -> Result<(u64, Ruling), Stop> {
        match self.given.leaf(index) {
            Some(true) => {}
            Some(false) => {
                return Err(Stop::rubbish("only leaves can be ruled on", format!("item {index} has children")));
            }
            None => {
                let found = format!("item {index}, where {} were given", self.given.count);
                return Err(Stop::rubbish("only items that were given can be ruled on", found));
            }
        }
        let Ruling { class, reason, source, .. } = &ruling;
        if !is_class(class) {
            let found = format!("item {index} has the class {}", quoted(class, MAX_QUOTED));
            return Err(Stop::rubbish("a class has 1 to 64 of the characters `a-z`, `0-9` and `-`", found));
        }
        for (what, text) in [("reason", reason), ("source", source)] {
            short(text, || format!("the {what} of the ruling on item {index}"))?;
        }
        self.pay(&[class, reason, source])?;
        Ok((index, ruling))
    }

    pub(crate) fn check(&mut self, check: Check) -> Result<Check, Stop> {
        if self.ids.len() >= MAX_CHECKS {
            let found = format!("there are more than {MAX_CHECKS} checks: {}", quoted(&check.id, MAX_QUOTED));
            return Err(Stop::rubbish("a judge must not report too many checks", found));
        }
        let Check { id, name, want, got, reason, .. } = &check;
        if !(1..=MAX_ID).contains(&id.chars().count()) {
            let number = self.ids.len() + 1;
            let found = format!("check {number} has an id of {} characters (1 to {MAX_ID})", id.chars().count());
            return Err(Stop::rubbish("a check's id must be short and not empty", found));
        }
        for (what, text) in [("name", name), ("want", want), ("got", got), ("reason", reason)] {
            short(text, || format!("`{what}` of check {}", quoted(id, MAX_QUOTED)))?;
        }
        if !self.ids.insert(id.clone()) {
            return Err(Stop::rubbish("a check is reported once", quoted(id, MAX_QUOTED)));
        }
        self.pay(&[id, name, want, got, reason])?;
        Ok(check)
    }

    /// Counts a ruling or check like an emitted item.
    fn pay(&mut self, texts: &[&String]) -> Result<(), Stop> {
        let limits = &self.limits;
        if self.items >= limits.items {
            return Err(Stop::limit("items", limits.items, Unit::Items));
        }
        let size = texts.iter().fold(ENTRY_BYTES, |sum, text| sum.saturating_add(text.len() as u64));
        let bytes = self.bytes.saturating_add(size);
        if bytes > limits.output_bytes {
            return Err(Stop::limit("output-bytes", limits.output_bytes, Unit::Bytes));
        }
        self.items += 1;
        self.bytes = bytes;
        Ok(())
    }
}

fn is_class(class: &str) -> bool {
    (1..=MAX_CLASS).contains(&class.len())
        && class.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn short(text: &str, what: impl FnOnce() -> String) -> Result<(), Stop> {
    if text.len() <= MAX_TEXT {
        return Ok(());
    }
    Err(Stop::rubbish(
        "a judge's strings must be short",
        format!("{} has {} bytes (at most {MAX_TEXT})", what(), text.len()),
    ))
}

/// Remembers which of the items are leaves, with one bit each, because a judge may rule on the
/// first item after it has read the last.
#[derive(Debug, Default)]
struct ReadItems {
    leaves: Vec<u64>,
    count: u64,
}

impl ReadItems {
    fn push(&mut self, leaf: bool) -> u64 {
        let index = self.count;
        if index.is_multiple_of(u64::from(u64::BITS)) {
            self.leaves.push(0);
        }
        if let Some(word) = self.leaves.last_mut() {
            *word |= u64::from(leaf) << (index % u64::from(u64::BITS));
        }
        self.count += 1;
        index
    }

    /// Returns whether the item is a leaf, or `None` if it does not exist.
    fn leaf(&self, index: u64) -> Option<bool> {
        if index >= self.count {
            return None;
        }
        let word = self.leaves.get(usize::try_from(index / u64::from(u64::BITS)).ok()?)?;
        Some(word >> (index % u64::from(u64::BITS)) & 1 == 1)
    }
}

#[cfg(test)]
#[path = "judgement_tests.rs"]
mod tests;
