//! JSON without duplicate keys. Of several values with one key, some programs read the first and
//! others the last, so a signed document with duplicate keys has no definite meaning.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use plumbline_core::text::first_chars;

/// The number of characters of a key in an error.
const MAX_SHOWN: usize = 100;

/// Any JSON value in which no object has a key twice. It keeps nothing of the value.
#[derive(Debug)]
pub(super) struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = object.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{}`", first_chars(&key, MAX_SHOWN))));
            }
            keys.insert(key);
            object.next_value::<Self>()?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_occurs_twice_in_one_object_is_an_error() {
        let read = |text: &str| serde_json::from_str::<UniqueKeys>(text).map(drop).map_err(|error| error.to_string());
        let values = r#"{"a": [null, true, -1, 2, 0.5, "a", {"a": {"a": 1}}, {"a": 2}], "b": {"a": {}}}"#;
        assert_eq!(read(values), Ok(()));
        for text in [r#"{"a": 1, "a": 1}"#, r#"[[{"b": {"a": 1, "b": 2, "a": []}}]]"#, r#"{"a": 1, "\u0061": 2}"#] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with("duplicate key `a` at line 1"), "{text}: {error}");
        }
        assert!(read(&"[".repeat(100_000)).unwrap_err().contains("recursion limit"));
    }
}
