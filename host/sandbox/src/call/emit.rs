//! Checks items from modules against the rules of `types.wit` and the limits of the call.

use std::collections::BTreeSet;

use plumbline_core::item::{FlatItem, Meta};
use plumbline_core::limits::CALL_STATUSES;
use plumbline_core::{ModuleLimits, Status};
use serde_json::{Map, Value};

use crate::call::json::{self, JsonError};
use crate::failure::{STATUSES, Stop};
use crate::failure::{Unit, cut};

/// The maximum length of an item's name in bytes. Some test frameworks put whole parameters into
/// names, but longer text is not a name any more.
pub(crate) const MAX_NAME: usize = 64 << 10;
/// The maximum length of a custom status in bytes, as in the WIT.
const MAX_STATUS: usize = 256;
/// The maximum length in bytes of a string that a message quotes.
const MAX_QUOTED: usize = 100;
/// The approximate memory in bytes of an item, or of a key with its value, without the strings.
pub(crate) const ENTRY_BYTES: u64 = 32;

/// An unchecked item, in the form common to all generations.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RawItem {
    pub(crate) depth: u32,
    pub(crate) name: String,
    pub(crate) status: Option<Status>,
    pub(crate) meta: Vec<(String, String)>,
    pub(crate) details: Vec<(String, RawDetail)>,
}

/// The unchecked value of a detail.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RawDetail {
    Text(String),
    Json(String),
}

/// Checks the items of one call.
#[derive(Debug)]
pub(crate) struct Emitter {
    limits: ModuleLimits,
    items: u64,
    bytes: u64,
    last_depth: Option<u32>,
    /// The custom statuses so far.
    statuses: BTreeSet<String>,
}

impl Emitter {
    pub(crate) fn new(limits: &ModuleLimits) -> Self {
        Self { limits: limits.clone(), items: 0, bytes: 0, last_depth: None, statuses: BTreeSet::new() }
    }

    pub(crate) fn items(&self) -> u64 {
        self.items
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Checks the next item. An error ends the call.
    pub(crate) fn check(&mut self, raw: RawItem) -> Result<FlatItem, Stop> {
        let limits = &self.limits;
        if self.items >= limits.items {
            return Err(Stop::limit("items", limits.items, Unit::Items));
        }
        let number = self.items + 1;
        let at = || label(number, &raw.name);
        let RawItem { depth, name, status, .. } = &raw;
        self.check_depth(*depth, at)?;
        if name.is_empty() {
            return Err(Stop::rubbish("an item's name must not be empty", format!("item {number}")));
        }
        if name.len() > MAX_NAME {
            let found = format!("{} has {} bytes (at most {MAX_NAME})", at(), name.len());
            return Err(Stop::rubbish("an item's name must be short", found));
        }
        if let Some(Status::Custom(text)) = status
            && !(1..=MAX_STATUS).contains(&text.len())
        {
            let found = format!("{} has a status of {} bytes (1 to {MAX_STATUS})", at(), text.len());
            return Err(Stop::rubbish("a status of a module's own must be short and not empty", found));
        }

        let mut budget = Budget { left: limits.item_bytes, limit: limits.item_bytes };
        budget.pay(ENTRY_BYTES)?;
        budget.pay(name.len() as u64)?;
        let RawItem { depth, name, status, meta: raw_meta, details: raw_details } = raw;
        // A custom status with the text of a standard one is that standard one.
        let status = status.map(|status| match status {
            Status::Custom(text) => Status::from(text),
            standard => standard,
        });
        if let Some(Status::Custom(text)) = &status {
            budget.pay(text.len() as u64)?;
            if !self.statuses.contains(text) {
                if self.statuses.len() as u64 >= CALL_STATUSES {
                    return Err(Stop::limit(STATUSES, CALL_STATUSES, Unit::Statuses));
                }
                self.statuses.insert(text.clone());
            }
        }
        let mut meta = Meta::new();
        for (key, value) in raw_meta {
            budget.entry(&key)?;
            budget.pay(value.len() as u64)?;
            meta.insert(key, value);
        }
        let mut details = Map::new();
        for (key, value) in raw_details {
            budget.entry(&key)?;
            let at = || format!("{}, detail `{}`", label(number, &name), cut(&key, MAX_QUOTED).escape_debug());
            let value = budget.detail(value, at)?;
            details.insert(key, value);
        }

        let bytes = self.bytes.saturating_add(budget.spent());
        if bytes > limits.output_bytes {
            return Err(Stop::limit("output-bytes", limits.output_bytes, Unit::Bytes));
        }
        self.items += 1;
        self.bytes = bytes;
        self.last_depth = Some(depth);
        Ok(FlatItem { depth, name, status, meta, details })
    }

    fn check_depth(&self, depth: u32, at: impl Fn() -> String) -> Result<(), Stop> {
        let rule = "a tree is a list in pre-order, and depth grows by one at most";
        match self.last_depth {
            None if depth > 0 => {
                return Err(Stop::rubbish(rule, format!("{} is the first and has depth {depth}", at())));
            }
            Some(last) if depth > last.saturating_add(1) => {
                return Err(Stop::rubbish(rule, format!("{} has depth {depth} after depth {last}", at())));
            }
            _ => {}
        }
        if depth >= self.limits.depth {
            return Err(Stop::limit("depth", u64::from(self.limits.depth), Unit::Levels));
        }
        Ok(())
    }
}

/// Formats an item for a message.
fn label(number: u64, name: &str) -> String {
    format!("item {number} (`{}`)", cut(name, MAX_QUOTED).escape_debug())
}

/// The remaining size limit of one item.
struct Budget {
    left: u64,
    limit: u64,
}

impl Budget {
    fn pay(&mut self, bytes: u64) -> Result<(), Stop> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| self.exceeded())?;
        Ok(())
    }

    fn entry(&mut self, key: &str) -> Result<(), Stop> {
        self.pay(ENTRY_BYTES)?;
        self.pay(key.len() as u64)
    }

    fn detail(&mut self, detail: RawDetail, at: impl FnOnce() -> String) -> Result<Value, Stop> {
        match detail {
            RawDetail::Text(text) => {
                self.pay(text.len() as u64)?;
                Ok(Value::String(text))
            }
            RawDetail::Json(text) => json::parse(&text, &mut self.left).map_err(|error| match error {
                JsonError::TooLarge => self.exceeded(),
                JsonError::Invalid(reason) => {
                    Stop::rubbish("a detail sent as JSON must be JSON", format!("{}: {reason}", at()))
                }
            }),
        }
    }

    fn exceeded(&self) -> Stop {
        Stop::limit("item-bytes", self.limit, Unit::Bytes)
    }

    fn spent(&self) -> u64 {
        self.limit - self.left
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn raw(depth: u32, name: &str) -> RawItem {
        RawItem { depth, name: name.into(), status: None, meta: Vec::new(), details: Vec::new() }
    }

    fn rule(stop: Result<FlatItem, Stop>) -> String {
        stop.unwrap_err().to_string()
    }

    fn limits() -> ModuleLimits {
        ModuleLimits { item_bytes: 200, output_bytes: 300, items: 4, depth: 3, ..ModuleLimits::default() }
    }

    #[test]
    fn depth_starts_at_zero_and_grows_by_one() {
        let mut emitter = Emitter::new(&limits());
        assert!(rule(emitter.check(raw(1, "a"))).ends_with("item 1 (`a`) is the first and has depth 1"));
        emitter.check(raw(0, "a")).unwrap();
        assert!(rule(emitter.check(raw(2, "b\u{1b}"))).ends_with(r"item 2 (`b\u{1b}`) has depth 2 after depth 0"));
        emitter.check(raw(1, "b")).unwrap();
        emitter.check(raw(2, "c")).unwrap();
        assert_eq!(emitter.check(raw(3, "d")), Err(Stop::limit("depth", 3, Unit::Levels)));
        emitter.check(raw(0, "e")).unwrap();
        assert_eq!(emitter.check(raw(0, "f")), Err(Stop::limit("items", 4, Unit::Items)));
    }

    #[test]
    fn names_and_statuses_have_their_size() {
        let mut emitter = Emitter::new(&ModuleLimits::default());
        assert!(rule(emitter.check(raw(0, ""))).starts_with("an item's name must not be empty: item 1"));
        assert!(rule(emitter.check(raw(0, &"n".repeat(MAX_NAME + 1)))).contains("has 65537 bytes (at most 65536)"));
        emitter.check(raw(0, &"n".repeat(MAX_NAME))).unwrap();
        for (text, good) in [("", false), ("x", true), (&*"s".repeat(256), true), (&*"s".repeat(257), false)] {
            let status = Some(Status::Custom(text.into()));
            assert_eq!(emitter.check(RawItem { status, ..raw(0, "a") }).is_ok(), good, "{text}");
        }
        let status = Some(Status::Custom("failed".into()));
        assert_eq!(emitter.check(RawItem { status, ..raw(0, "a") }).unwrap().status, Some(Status::Failed));
    }

    #[test]
    fn texts_may_hold_any_character_and_the_last_value_of_a_key_counts() {
        let mut emitter = Emitter::new(&ModuleLimits::default());
        let item = RawItem {
            meta: vec![("k".into(), "1".into()), ("k".into(), "2".into())],
            details: vec![
                ("a".into(), RawDetail::Text("\0\x1b\u{fffe}".into())),
                ("b".into(), RawDetail::Json("[1]".into())),
                ("b".into(), RawDetail::Json(r#"{"x":null}"#.into())),
            ],
            ..raw(0, "\0")
        };
        let item = emitter.check(item).unwrap();
        assert_eq!(item.name, "\0");
        assert_eq!(item.meta["k"], "2");
        assert_eq!(Value::Object(item.details), serde_json::json!({"a": "\0\x1b\u{fffe}", "b": {"x": null}}));
    }

    #[test]
    fn sizes_are_bounded_per_item_and_in_all() {
        let mut emitter = Emitter::new(&limits());
        let text = |n: usize| vec![("k".to_owned(), RawDetail::Text("x".repeat(n)))];
        let error = emitter.check(RawItem { details: text(200), ..raw(0, "a") });
        assert_eq!(error, Err(Stop::limit("item-bytes", 200, Unit::Bytes)));
        let json = vec![("k".to_owned(), RawDetail::Json("[0,0,0,0]".into()))];
        let error = emitter.check(RawItem { details: json, ..raw(0, "a") });
        assert_eq!(error, Err(Stop::limit("item-bytes", 200, Unit::Bytes)));
        emitter.check(RawItem { details: text(120), ..raw(0, "a") }).unwrap();
        let error = emitter.check(RawItem { details: text(120), ..raw(0, "a") });
        assert_eq!(error, Err(Stop::limit("output-bytes", 300, Unit::Bytes)));
    }

    #[test]
    fn statuses_are_charged_and_counted() {
        let own = |text: String| RawItem { status: Some(Status::Custom(text)), ..raw(0, "a") };
        let mut emitter = Emitter::new(&ModuleLimits::default());
        for n in 0..CALL_STATUSES {
            emitter.check(own(format!("s{n}"))).unwrap();
            emitter.check(own("s0".into())).unwrap();
        }
        let error = emitter.check(own("another".into()));
        assert_eq!(error, Err(Stop::limit("statuses", CALL_STATUSES, Unit::Statuses)));

        let mut emitter = Emitter::new(&limits());
        emitter.check(own("s".repeat(150))).unwrap();
        let error = emitter.check(own("s".repeat(150)));
        assert_eq!(error, Err(Stop::limit("output-bytes", 300, Unit::Bytes)));
    }

    #[test]
    fn json_that_is_none_is_named() {
        let mut emitter = Emitter::new(&ModuleLimits::default());
        let details = vec![("pod".to_owned(), RawDetail::Json("{]".into()))];
        let message = rule(emitter.check(RawItem { details, ..raw(0, "a") }));
        assert!(message.starts_with("a detail sent as JSON must be JSON: item 1 (`a`), detail `pod`: "), "{message}");
    }

    proptest! {
        /// Any sequence of depths that passes forms a tree.
        #[test]
        fn what_passes_is_a_tree(depths in prop::collection::vec(0u32..6, 0..30)) {
            let mut emitter = Emitter::new(&ModuleLimits { depth: 4, ..ModuleLimits::default() });
            let mut passed = Vec::new();
            for depth in depths {
                match emitter.check(raw(depth, "n")) {
                    Ok(item) => passed.push(item.depth),
                    Err(_) => break,
                }
            }
            prop_assert!(passed.first().is_none_or(|first| *first == 0));
            prop_assert!(passed.windows(2).all(|pair| pair[1] <= pair[0] + 1));
            prop_assert!(passed.iter().all(|depth| *depth < 4));
        }
    }
}
