//! Limits for untrusted values.

use plumbline_sdk::Item;
use plumbline_sdk::text::shortened;
use serde_json::Value;

/// Maximum number of values in one fact. The host counts about ten bytes for each, and ends a call
/// at an item of 16 MiB.
const MAX_VALUES: usize = 20_000;
/// Maximum nesting depth of a fact; the host accepts 100 levels.
const MAX_LEVELS: usize = 32;
/// Maximum size in bytes of a key in the list of facts that were left out.
const MAX_KEY: usize = 1000;
/// Maximum size of a group's details in bytes. This is half of what the host accepts for an item,
/// because the host also counts each value.
const MAX_ITEM: usize = 6 << 20;

/// The details of an item, within limits.
pub(crate) struct Details {
    item: Item,
    bytes: usize,
    values: usize,
    cut: Vec<String>,
    empty: bool,
}

impl Details {
    pub(crate) fn new(item: Item) -> Self {
        Self { item, bytes: 0, values: 0, cut: Vec::new(), empty: true }
    }

    /// Adds a value: a string as text, anything else as JSON.
    pub(crate) fn add(&mut self, key: &str, value: &Value) {
        self.empty = false;
        let mut left = MAX_VALUES.saturating_sub(self.values);
        let text = match value {
            Value::String(text) => text.clone(),
            other if count(other, MAX_LEVELS, &mut left) => other.to_string(),
            _ => return self.leave_out(key),
        };
        if self.bytes.saturating_add(key.len()).saturating_add(text.len()) > MAX_ITEM || left == 0 {
            return self.leave_out(key);
        }
        self.bytes += key.len() + text.len();
        self.values = MAX_VALUES - left + 1;
        let item = std::mem::replace(&mut self.item, Item::new(0, ""));
        self.item = if value.is_string() { item.text(key, text) } else { item.raw_json(key, text) };
    }

    /// Adds the entries of a mapping, or any other value as `value`.
    pub(crate) fn add_all(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(key, value)| self.add(key, value)),
            other => self.add("value", other),
        }
    }

    fn leave_out(&mut self, key: &str) {
        // As many as people read.
        if self.cut.len() < 20 {
            self.cut.push(shortened(key, MAX_KEY));
        }
    }

    /// Returns the item; `None` if there was no value.
    pub(crate) fn finish(self) -> Option<Item> {
        if self.empty { None } else { Some(self.item()) }
    }

    /// Returns the item, with details or without.
    pub(crate) fn item(self) -> Item {
        let Self { item, cut, .. } = self;
        match cut.is_empty() {
            true => item,
            false => item.text("cut", format!("too large, and left out: {}", cut.join(", "))),
        }
    }
}

/// Returns whether `value` has at most `levels` levels and at most `left` values. `left` is reduced
/// by the number of values.
fn count(value: &Value, levels: usize, left: &mut usize) -> bool {
    if *left == 0 || levels == 0 {
        return false;
    }
    *left -= 1;
    match value {
        Value::Array(values) => values.iter().all(|value| count(value, levels - 1, left)),
        Value::Object(fields) => fields.values().all(|value| count(value, levels - 1, left)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn details_that_are_too_large_are_left_out_and_listed() {
        let mut details = Details::new(Item::new(0, "x"));
        details.add("good", &json!({"a": [1]}));
        details.add("wide", &json!(vec![0; MAX_VALUES + 1]));
        details.add("deep", &(0..40).fold(json!(1), |inner, _| json!([inner])));
        details.add("long", &json!("x".repeat(MAX_ITEM)));
        details.add("text", &json!("t"));
        let item = details.finish().unwrap();
        let keys: Vec<&str> = item.details.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["good", "text", "cut"]);
        assert!(format!("{item:?}").contains("left out: wide, deep, long"), "{item:?}");
        assert!(Details::new(Item::new(0, "x")).finish().is_none());
    }
}
