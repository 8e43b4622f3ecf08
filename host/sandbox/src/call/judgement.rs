//! Checks the input and output of a judge against the rules of `types.wit` and the limits of the
//! call.

use std::collections::HashSet;

use plumbline_core::{Check, ModuleLimits, Ruling};

use crate::call::emit::ENTRY_BYTES;
use crate::call::io::{TreeItem, TreeSource};
use crate::call::reading::{Next, Size, item_size};
use crate::failure::Stop;
use crate::failure::{Unit, cut};

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
/// The maximum length in bytes of a string that a message quotes.
const MAX_QUOTED: usize = 100;

/// The type behind the WIT resource `tree`. Each call has one.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "the generated bindings name it in a `pub use`; their module keeps it inside")]
pub struct TreeHandle;

/// Wraps the source of a judge, which lives until reading ends.
pub(crate) fn tree(mut source: Box<dyn TreeSource>) -> Next<TreeItem> {
    Box::new(move || source.next())
}

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
    said: u64,
    bytes: u64,
    ids: HashSet<String>,
}

impl Ruler {
    pub(crate) fn new(limits: &ModuleLimits) -> Self {
        Self { limits: limits.clone(), given: ReadItems::default(), said: 0, bytes: 0, ids: HashSet::new() }
    }

    /// Returns the number of rulings and checks.
    pub(crate) fn said(&self) -> u64 {
        self.said
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Registers the next item and returns its number.
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
            let found = format!("item {index} has the class {}", quoted(class));
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
            let found = format!("after {MAX_CHECKS} there is one more, {}", quoted(&check.id));
            return Err(Stop::rubbish("a judge reports few checks", found));
        }
        let Check { id, name, want, got, reason, .. } = &check;
        if !(1..=MAX_ID).contains(&id.chars().count()) {
            let number = self.ids.len() + 1;
            let found = format!("check {number} has an id of {} characters (1 to {MAX_ID})", id.chars().count());
            return Err(Stop::rubbish("a check's id must be short and not empty", found));
        }
        for (what, text) in [("name", name), ("want", want), ("got", got), ("reason", reason)] {
            short(text, || format!("`{what}` of check {}", quoted(id)))?;
        }
        if !self.ids.insert(id.clone()) {
            return Err(Stop::rubbish("a check is reported once", quoted(id)));
        }
        self.pay(&[id, name, want, got, reason])?;
        Ok(check)
    }

    /// Counts a ruling or check like an emitted item.
    fn pay(&mut self, texts: &[&String]) -> Result<(), Stop> {
        let limits = &self.limits;
        if self.said >= limits.items {
            return Err(Stop::limit("items", limits.items, Unit::Items));
        }
        let size = texts.iter().fold(ENTRY_BYTES, |sum, text| sum.saturating_add(text.len() as u64));
        let bytes = self.bytes.saturating_add(size);
        if bytes > limits.output_bytes {
            return Err(Stop::limit("output-bytes", limits.output_bytes, Unit::Bytes));
        }
        self.said += 1;
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
        "a judge's texts must be short",
        format!("{} has {} bytes (at most {MAX_TEXT})", what(), text.len()),
    ))
}

fn quoted(text: &str) -> String {
    format!("`{}`", cut(text, MAX_QUOTED).escape_debug())
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
mod tests {
    use plumbline_core::CheckOutcome;
    use proptest::prelude::*;

    use super::*;

    fn ruling(class: &str) -> Ruling {
        Ruling { class: class.into(), ..Ruling::default() }
    }

    fn check(id: &str) -> Check {
        let text = String::new;
        Check { id: id.into(), name: text(), outcome: CheckOutcome::Passed, want: text(), got: text(), reason: text() }
    }

    fn ruler(leaves: &[bool]) -> Ruler {
        let mut ruler = Ruler::new(&ModuleLimits::default());
        leaves.iter().for_each(|leaf| _ = ruler.give(*leaf));
        ruler
    }

    #[test]
    fn leaves_that_were_given_can_be_ruled_on_and_nothing_else() {
        let mut ruler = ruler(&[false, true]);
        let told = |stop: Result<(u64, Ruling), Stop>| stop.unwrap_err().to_string();
        assert_eq!(ruler.ruling(1, ruling("flaky")), Ok((1, ruling("flaky"))));
        assert_eq!(ruler.ruling(1, ruling("late")), Ok((1, ruling("late"))), "again, and the last counts");
        assert_eq!(told(ruler.ruling(0, ruling("x"))), "only leaves can be ruled on: item 0 has children");
        let stranger = told(ruler.ruling(2, ruling("x")));
        assert_eq!(stranger, "only items that were given can be ruled on: item 2, where 2 were given");
        assert!(told(ruler.ruling(u64::MAX, ruling("x"))).contains("item 18446744073709551615"));
        assert_eq!(ruler.said(), 2);
    }

    #[test]
    fn classes_are_words() {
        let mut ruler = ruler(&[true]);
        for (class, good) in [
            ("a", true),
            ("known-failure", true),
            ("2nd-try", true),
            (&*"c".repeat(64), true),
            (&*"c".repeat(65), false),
            ("", false),
            ("Flaky", false),
            ("not known", false),
            ("flaky\n", false),
            ("ü", false),
        ] {
            assert_eq!(ruler.ruling(0, ruling(class)).is_ok(), good, "{class:?}");
        }
    }

    #[test]
    fn texts_are_short() {
        let mut ruler = ruler(&[true]);
        let fits = |ruler: &mut Ruler, length: usize| {
            let long = Ruling { reason: "r".repeat(length), ..ruling("x") };
            let check = Check { got: "g".repeat(length), ..check(&length.to_string()) };
            (ruler.ruling(0, long).is_ok(), ruler.check(check).is_ok())
        };
        assert_eq!((fits(&mut ruler, MAX_TEXT), fits(&mut ruler, MAX_TEXT + 1)), ((true, true), (false, false)));
        let source = Ruling { source: "s".repeat(5000), ..ruling("x") };
        let told = ruler.ruling(0, source).unwrap_err().to_string();
        assert_eq!(
            told,
            "a judge's texts must be short: the source of the ruling on item 0 has 5000 bytes (at most 4096)"
        );
    }

    #[test]
    fn a_check_has_an_id_of_its_own() {
        let mut ruler = ruler(&[]);
        ruler.check(check("PODS-001")).unwrap();
        let told = |stop: Result<Check, Stop>| stop.unwrap_err().to_string();
        assert_eq!(told(ruler.check(check("PODS-001"))), "a check is reported once: `PODS-001`");
        assert!(told(ruler.check(check(""))).ends_with("check 2 has an id of 0 characters (1 to 64)"));
        ruler.check(check(&"ü".repeat(64))).unwrap();
        assert!(ruler.check(check(&"ü".repeat(65))).is_err());
        (2..MAX_CHECKS).for_each(|n| _ = ruler.check(check(&n.to_string())).unwrap());
        let told = told(ruler.check(check("one-more")));
        assert_eq!(told, "a judge reports few checks: after 10000 there is one more, `one-more`");
    }

    #[test]
    fn what_is_said_counts_against_the_limits() {
        let limits = ModuleLimits { items: 2, output_bytes: 100, ..ModuleLimits::default() };
        let mut ruler = Ruler { limits, ..ruler(&[true]) };
        ruler.ruling(0, ruling("x")).unwrap();
        let large = Check { got: "g".repeat(100), ..check("a") };
        assert_eq!(ruler.check(large), Err(Stop::limit("output-bytes", 100, Unit::Bytes)));
        ruler.check(check("b")).unwrap();
        assert_eq!((ruler.said(), ruler.bytes()), (2, 2 * (ENTRY_BYTES + 1)));
        assert_eq!(ruler.ruling(0, ruling("x")), Err(Stop::limit("items", 2, Unit::Items)));
    }

    proptest! {
        /// Every item is remembered correctly, however many there are, and no item exists after the
        /// last.
        #[test]
        fn what_was_given_is_remembered(leaves in prop::collection::vec(any::<bool>(), 0..300)) {
            let mut given = ReadItems::default();
            for (index, leaf) in (0u64..).zip(&leaves) {
                prop_assert_eq!(given.push(*leaf), index);
            }
            for (index, leaf) in (0u64..).zip(&leaves) {
                prop_assert_eq!(given.leaf(index), Some(*leaf));
            }
            prop_assert_eq!(given.leaf(leaves.len() as u64), None);
        }
    }
}
