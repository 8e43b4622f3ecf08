//! A value of any type, which is converted to JSON text while it is read. A tree of values would
//! take many times the memory.

use std::fmt::{self, Write};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::pairs::next_key;

/// The host's overhead per value in bytes, without its text.
pub(crate) const VALUE_BYTES: usize = 32;

/// A value of details.
#[derive(Debug, PartialEq)]
pub(crate) enum Json {
    /// Text.
    Text(Box<str>),
    /// Any other value.
    Document {
        /// A JSON document.
        json: Box<str>,
        /// The number of values in it.
        values: u32,
    },
}

impl Json {
    /// Returns an upper bound of the size that the host counts, in bytes.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Document { json, values } => json.len() + VALUE_BYTES * *values as usize,
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut json, mut values) = (String::new(), 0);
        let text = Into { json: &mut json, values: &mut values, outermost: true }.deserialize(deserializer)?;
        Ok(text.unwrap_or_else(|| Self::Document { json: json.into_boxed_str(), values }))
    }
}

/// Appends the value that is read. A string at the top level is returned instead.
struct Into<'a> {
    json: &'a mut String,
    values: &'a mut u32,
    outermost: bool,
}

impl<'de> DeserializeSeed<'de> for Into<'_> {
    type Value = Option<Json>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Into<'_> {
    fn inside(&mut self) -> Into<'_> {
        Into { json: self.json, values: self.values, outermost: false }
    }

    fn count(&mut self) {
        *self.values = self.values.saturating_add(1);
    }

    fn plain<E>(mut self, value: impl fmt::Display) -> Result<Option<Json>, E> {
        self.count();
        // Writing to a `String` cannot fail.
        let _ = write!(self.json, "{value}");
        Ok(None)
    }
}

impl<'de> Visitor<'de> for Into<'_> {
    type Value = Option<Json>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        self.plain(value)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        self.plain(value)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        self.plain(value)
    }

    /// The number is too large for JSON readers, so it is kept as a string of digits.
    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Self::Value, E> {
        match serde_json::Number::from_f64(value) {
            Some(number) => self.plain(number),
            None => self.visit_str(&value.to_string()),
        }
    }

    fn visit_str<E: serde::de::Error>(mut self, value: &str) -> Result<Self::Value, E> {
        if self.outermost {
            return Ok(Some(Json::Text(value.into())));
        }
        self.count();
        self.json.push_str(&serde_json::to_string(value).map_err(E::custom)?);
        Ok(None)
    }

    fn visit_bytes<E: serde::de::Error>(self, value: &[u8]) -> Result<Self::Value, E> {
        self.visit_str(&String::from_utf8_lossy(value))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        self.plain("null")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        self.plain("null")
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<S: SeqAccess<'de>>(mut self, mut list: S) -> Result<Self::Value, S::Error> {
        self.count();
        self.json.push('[');
        let mut first = true;
        loop {
            let before = self.json.len();
            if !first {
                self.json.push(',');
            }
            if list.next_element_seed(self.inside())?.is_none() {
                self.json.truncate(before);
                break;
            }
            first = false;
        }
        self.json.push(']');
        Ok(None)
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<Self::Value, M::Error> {
        self.count();
        self.json.push('{');
        let mut first = true;
        while let Some(key) = next_key(&mut map)? {
            if !first {
                self.json.push(',');
            }
            first = false;
            self.json.push_str(&serde_json::to_string(&key).map_err(serde::de::Error::custom)?);
            self.json.push(':');
            map.next_value_seed(self.inside())?;
        }
        self.json.push('}');
        Ok(None)
    }
}
