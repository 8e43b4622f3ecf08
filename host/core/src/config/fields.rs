//! The keys of a configuration as JSON, and errors in them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::config::values::UnknownChoice;
use crate::size::Bytes;
use crate::text::{described, first_chars};

/// The size limit of a configuration: 1 MiB, the limit of a ConfigMap.
pub const MAX_CONFIG_BYTES: usize = 1 << 20;

/// Error while reading a configuration. Messages name the key by its path, such as
/// `Limits.PodLogs.SinceTime`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The configuration is larger than [`MAX_CONFIG_BYTES`].
    #[error("configuration has {}, more than the limit of {}", Bytes(*.bytes), Bytes(MAX_CONFIG_BYTES as u64))]
    TooLarge {
        /// The size in bytes.
        bytes: u64,
    },
    /// The configuration is not valid JSON.
    #[error("configuration is not valid JSON: {0}")]
    Json(String),
    /// A value has the wrong type.
    #[error("`{path}` must be {expected}: found {found}")]
    WrongType {
        /// The path of the key.
        path: String,
        /// The expected type.
        expected: &'static str,
        /// The value found.
        found: String,
    },
    /// A key is given twice, in different spellings.
    #[error("`{first}` and `{second}` are the same key: keep one")]
    Twice {
        /// One spelling of the key.
        first: String,
        /// The other spelling of the key.
        second: String,
    },
    /// The key does not accept the text.
    #[error("`{path}`: {cause}")]
    Value {
        /// The path of the key.
        path: String,
        /// The reason.
        cause: String,
    },
    /// Two mutually exclusive keys are both set.
    #[error("`Limits.PodLogs.SinceTime` and `Limits.PodLogs.SinceSeconds` cannot be combined: keep one")]
    ConflictingSince,
}

/// An object with case-insensitive keys, whose values are read *over* existing ones.
///
/// An absent key changes nothing. `null` changes nothing either, except where "none" is a value:
/// lists, maps, optional numbers. Sonobuoy reads configurations in the same way.
#[derive(Debug)]
pub(super) struct Fields {
    path: String,
    values: Map<String, Value>,
}

impl Fields {
    pub(super) fn new(path: String, value: Value) -> Result<Self, ConfigError> {
        match value {
            Value::Object(values) => Ok(Self { path, values }),
            other => Err(wrong_type(&path, "an object", &other)),
        }
    }

    pub(super) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn take(&mut self, key: &str) -> Result<Option<Value>, ConfigError> {
        let spellings: Vec<String> = self.values.keys().filter(|k| k.eq_ignore_ascii_case(key)).cloned().collect();
        match spellings.as_slice() {
            [] => Ok(None),
            [one] => Ok(self.values.remove(one)),
            [first, second, ..] => Err(ConfigError::Twice { first: self.at(first), second: self.at(second) }),
        }
    }

    /// Takes the value of `key` as `convert` reads it. Returns `None` if it is absent, and
    /// `Some(None)` if it is `null`. `expected` describes the type in messages.
    pub(super) fn nullable<T>(
        &mut self,
        key: &str,
        expected: &'static str,
        convert: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<Option<T>>, ConfigError> {
        match self.take(key)? {
            None => Ok(None),
            Some(Value::Null) => Ok(Some(None)),
            Some(value) => match convert(&value) {
                Some(read) => Ok(Some(Some(read))),
                None => Err(wrong_type(&self.at(key), expected, &value)),
            },
        }
    }

    /// Sets `into` to the value of `key`, unless it is absent or `null`.
    fn set<T>(
        &mut self,
        key: &str,
        into: &mut T,
        expected: &'static str,
        convert: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<(), ConfigError> {
        if let Some(Some(value)) = self.nullable(key, expected, convert)? {
            *into = value;
        }
        Ok(())
    }

    pub(super) fn section(&mut self, key: &str) -> Result<Option<Self>, ConfigError> {
        let value = self.take(key)?.filter(|value| !value.is_null());
        value.map(|value| Self::new(self.at(key), value)).transpose()
    }

    pub(super) fn text(&mut self, key: &str, into: &mut String) -> Result<(), ConfigError> {
        self.set(key, into, "text", text)
    }

    pub(super) fn required_text(
        &mut self,
        key: &str,
        into: &mut String,
        expected: &'static str,
    ) -> Result<(), ConfigError> {
        self.text(key, into)?;
        if into.is_empty() { Err(wrong_type(&self.at(key), expected, &Value::Null)) } else { Ok(()) }
    }

    pub(super) fn truth(&mut self, key: &str, into: &mut bool) -> Result<(), ConfigError> {
        self.set(key, into, "`true` or `false`", Value::as_bool)
    }

    pub(super) fn whole<T: TryFrom<u64>>(
        &mut self,
        key: &str,
        into: &mut T,
        expected: &'static str,
    ) -> Result<(), ConfigError> {
        self.set(key, into, expected, number)
    }

    /// Reads an optional whole number. `null` clears it.
    pub(super) fn optional_whole(&mut self, key: &str, into: &mut Option<u64>) -> Result<(), ConfigError> {
        if let Some(value) = self.nullable(key, "a whole number", number)? {
            *into = value;
        }
        Ok(())
    }

    pub(super) fn rate(&mut self, key: &str, into: &mut f64) -> Result<(), ConfigError> {
        let rate = |value: &Value| value.as_f64().filter(|rate| rate.is_finite() && *rate >= 0.0);
        self.set(key, into, "a number that is not negative", rate)
    }

    pub(super) fn list(&mut self, key: &str) -> Result<Option<Option<Vec<Value>>>, ConfigError> {
        self.nullable(key, "a list", |value| value.as_array().cloned())
    }

    pub(super) fn nullable_texts(&mut self, key: &str) -> Result<Option<Option<Vec<String>>>, ConfigError> {
        let Some(list) = self.list(key)? else { return Ok(None) };
        let item = |(i, item): (usize, &Value)| {
            text(item).ok_or_else(|| wrong_type(&format!("{}[{i}]", self.at(key)), "text", item))
        };
        list.map(|list| list.iter().enumerate().map(item).collect()).transpose().map(Some)
    }

    /// Reads a list of strings. `null` clears it.
    pub(super) fn texts(&mut self, key: &str, into: &mut Vec<String>) -> Result<(), ConfigError> {
        if let Some(texts) = self.nullable_texts(key)? {
            *into = texts.unwrap_or_default();
        }
        Ok(())
    }

    /// Reads a map of strings. Its keys are data and keep their case. `null` clears it.
    pub(super) fn map(&mut self, key: &str, into: &mut BTreeMap<String, String>) -> Result<(), ConfigError> {
        if let Some(value) = self.take(key)? {
            *into = if value.is_null() { BTreeMap::new() } else { text_map(&self.at(key), &value)? };
        }
        Ok(())
    }

    /// Reads one of a fixed set of values. An empty string sets the default.
    pub(super) fn choice<T: FromStr<Err = UnknownChoice> + Default>(
        &mut self,
        key: &str,
        into: &mut T,
    ) -> Result<(), ConfigError> {
        match self.nullable(key, "text", text)?.flatten().as_deref() {
            None => {}
            Some("") => *into = T::default(),
            Some(text) => *into = self.parse(key, text)?,
        }
        Ok(())
    }

    /// Takes a text and parses it. Returns `None` if it is absent or `null`.
    pub(super) fn parsed<T: FromStr<Err: Display>>(&mut self, key: &str) -> Result<Option<T>, ConfigError> {
        let text = self.nullable(key, "text", text)?.flatten();
        text.map(|text| self.parse(key, &text)).transpose()
    }

    pub(super) fn parse<T: FromStr<Err: Display>>(&self, key: &str, text: &str) -> Result<T, ConfigError> {
        text.parse().map_err(|cause: T::Err| ConfigError::Value { path: self.at(key), cause: cause.to_string() })
    }
}

pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Converts a JSON number to a whole number. Some YAML tools write `30` as `30.0`, so both are
/// accepted.
fn number<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    let whole = value.as_u64().or_else(|| {
        let float = value.as_f64().filter(|float| float.fract() == 0.0 && (0.0..9e15).contains(float))?;
        format!("{float:.0}").parse().ok()
    })?;
    T::try_from(whole).ok()
}

pub(super) fn text_map(path: &str, value: &Value) -> Result<BTreeMap<String, String>, ConfigError> {
    let Value::Object(fields) = value else { return Err(wrong_type(path, "an object", value)) };
    let entry = |(key, value): (&String, &Value)| match text(value) {
        Some(text) => Ok((key.clone(), text)),
        None => Err(wrong_type(&format!("{path}.{key}"), "text", value)),
    };
    fields.iter().map(entry).collect()
}

pub(super) fn wrong_type(path: &str, expected: &'static str, found: &Value) -> ConfigError {
    let path = if path.is_empty() { "the configuration" } else { path };
    ConfigError::WrongType { path: first_chars(path, 200).to_owned(), expected, found: described(found, "an object") }
}
