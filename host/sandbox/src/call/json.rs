//! Parses JSON from modules within a budget, because a few bytes of text can become a large tree.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The maximum nesting depth. Code that walks the value later recurses this deep.
pub(crate) const MAX_DEPTH: u32 = 100;
/// The memory in bytes of a value in the tree, without its text.
const VALUE_BYTES: u64 = 32;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JsonError {
    Invalid(String),
    TooLarge,
}

/// Parses `text` (RFC 8259) and deducts its cost from `budget`: the bytes of its strings, and
/// [`VALUE_BYTES`] for every value. If a key occurs twice, the last value is kept.
pub(crate) fn parse(text: &str, budget: &mut u64) -> Result<Value, JsonError> {
    let left = Cell::new(Some(*budget));
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Seed { left: &left, depth: 0 }.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    let Some(rest) = left.get() else {
        return Err(JsonError::TooLarge);
    };
    *budget = rest;
    value.map_err(|error| JsonError::Invalid(error.to_string()))
}

/// Deserializes a value. `left` is `None` once the budget is exhausted.
#[derive(Clone, Copy)]
struct Seed<'a> {
    left: &'a Cell<Option<u64>>,
    depth: u32,
}

impl Seed<'_> {
    fn pay<E: Error>(self, bytes: usize) -> Result<(), E> {
        let cost = VALUE_BYTES.saturating_add(bytes as u64);
        self.left.set(self.left.get().and_then(|left| left.checked_sub(cost)));
        if self.left.get().is_some() { Ok(()) } else { Err(E::custom("too large")) }
    }

    fn deeper<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth + 1;
        if depth > MAX_DEPTH {
            Err(E::custom(format!("more than {MAX_DEPTH} levels")))
        } else {
            Ok(Self { depth, ..self })
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.pay(0).map(|()| Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.pay(0).map(|()| value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.pay(0).map(|()| value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.pay(0).map(|()| value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.pay(value.len()).map(|()| value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        self.pay(value.len()).map(|()| Value::String(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.pay(0).map(|()| Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        self.pay(0)?;
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(value) = seq.next_element_seed(inner)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.pay(0)?;
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            self.pay(key.len())?;
            map.insert(key, access.next_value_seed(inner)?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
