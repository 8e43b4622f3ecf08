//! Texts and values from strangers, held to a size.

use plumbline_sdk::Item;
use serde_json::Value;

/// Values of one fact at most. The host counts some ten bytes for each, and ends a call at an item of 16 MiB.
const MAX_VALUES: usize = 20_000;
/// Levels of a fact's nesting at most; the host takes 100.
const MAX_LEVELS: usize = 32;
/// Bytes of a name.
const MAX_NAME: usize = 1000;
/// Bytes of a group's details. Half of what the host takes of an item, which also counts each value.
const MAX_ITEM: usize = 6 << 20;

/// `text` as a name: not empty, and short.
pub(crate) fn name(text: &str) -> String {
    if text.is_empty() { "(no name)".to_owned() } else { cut(text, MAX_NAME) }
}

/// At most `max` bytes of `text`, with a mark where something is missing.
pub(crate) fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(max)).unwrap_or_default())
}

/// An item's details, as far as they are of a bearable size.
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

    /// Adds a value: text as text, the rest as structure.
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

    fn leave_out(&mut self, key: &str) {
        // As many as a person reads.
        if self.cut.len() < 20 {
            self.cut.push(cut(key, MAX_NAME));
        }
    }

    /// `None`: there was no value.
    pub(crate) fn finish(self) -> Option<Item> {
        if self.empty { None } else { Some(self.item()) }
    }

    /// The item, with details or without.
    pub(crate) fn item(self) -> Item {
        let Self { item, cut, .. } = self;
        match cut.is_empty() {
            true => item,
            false => item.text("cut", format!("too large, and left out: {}", cut.join(", "))),
        }
    }
}

/// Whether `value` has at most `levels` levels; takes one from `left` for every value in it, and gives up at none.
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
    fn what_is_too_large_is_left_out_and_named() {
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

    #[test]
    fn names_are_never_empty_and_never_long() {
        assert_eq!(name(""), "(no name)");
        assert_eq!(name(&"ü".repeat(2000)).len(), MAX_NAME + '…'.len_utf8());
    }
}
