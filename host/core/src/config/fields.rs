//! One object of a configuration, with case-insensitive keys and type-checked values.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::config::choice::UnknownChoice;
use crate::config::error::ConfigError;

/// The number of characters of a foreign value that a message repeats.
const MAX_SHOWN: usize = 60;

/// An object whose values are read *over* existing ones.
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

    /// Takes the object at `key`.
    pub(super) fn section(&mut self, key: &str) -> Result<Option<Self>, ConfigError> {
        match self.take(key)? {
            None | Some(Value::Null) => Ok(None),
            Some(value) => Self::new(self.at(key), value).map(Some),
        }
    }

    pub(super) fn text(&mut self, key: &str, into: &mut String) -> Result<(), ConfigError> {
        match self.take(key)? {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => *into = text,
            Some(other) => return Err(wrong_type(&self.at(key), "text", &other)),
        }
        Ok(())
    }

    pub(super) fn truth(&mut self, key: &str, into: &mut bool) -> Result<(), ConfigError> {
        match self.take(key)? {
            None | Some(Value::Null) => {}
            Some(Value::Bool(truth)) => *into = truth,
            Some(other) => return Err(wrong_type(&self.at(key), "`true` or `false`", &other)),
        }
        Ok(())
    }

    /// Reads a whole number that fits into `T`. `expected` describes the type in messages.
    pub(super) fn whole<T: TryFrom<u64>>(
        &mut self,
        key: &str,
        into: &mut T,
        expected: &'static str,
    ) -> Result<(), ConfigError> {
        if let Some(value) = self.take(key)?.filter(|value| !value.is_null()) {
            *into = number(&value).ok_or_else(|| wrong_type(&self.at(key), expected, &value))?;
        }
        Ok(())
    }

    /// Reads an optional whole number. `null` clears it.
    pub(super) fn optional_whole(&mut self, key: &str, into: &mut Option<u64>) -> Result<(), ConfigError> {
        match self.take(key)? {
            None => {}
            Some(Value::Null) => *into = None,
            Some(value) => {
                *into = Some(number(&value).ok_or_else(|| wrong_type(&self.at(key), "a whole number", &value))?);
            }
        }
        Ok(())
    }

    pub(super) fn rate(&mut self, key: &str, into: &mut f64) -> Result<(), ConfigError> {
        if let Some(value) = self.take(key)?.filter(|value| !value.is_null()) {
            let rate = value.as_f64().filter(|rate| rate.is_finite() && *rate >= 0.0);
            *into = rate.ok_or_else(|| wrong_type(&self.at(key), "a number that is not negative", &value))?;
        }
        Ok(())
    }

    pub(super) fn list(&mut self, key: &str, into: &mut Option<Vec<Value>>) -> Result<(), ConfigError> {
        match self.take(key)? {
            None => {}
            Some(Value::Null) => *into = None,
            Some(Value::Array(items)) => *into = Some(items),
            Some(other) => return Err(wrong_type(&self.at(key), "a list", &other)),
        }
        Ok(())
    }

    /// Reads a list of strings. `null` clears it.
    pub(super) fn texts(&mut self, key: &str, into: &mut Option<Vec<String>>) -> Result<(), ConfigError> {
        let mut items = into.take().map(|texts| texts.into_iter().map(Value::String).collect());
        self.list(key, &mut items)?;
        let text = |(i, item)| match item {
            Value::String(text) => Ok(text),
            other => Err(wrong_type(&format!("{}[{i}]", self.at(key)), "text", &other)),
        };
        *into = items.map(|items| items.into_iter().enumerate().map(text).collect()).transpose()?;
        Ok(())
    }

    /// Reads a map of strings. Its keys are data and keep their case.
    pub(super) fn map(&mut self, key: &str, into: &mut BTreeMap<String, String>) -> Result<(), ConfigError> {
        let Some(value) = self.take(key)? else { return Ok(()) };
        let path = self.at(key);
        *into = match value {
            Value::Null => BTreeMap::new(),
            value => text_map(&path, value)?,
        };
        Ok(())
    }

    /// Reads one of a fixed set of values. An empty string sets the default.
    pub(super) fn choice<T>(&mut self, key: &str, into: &mut T) -> Result<(), ConfigError>
    where
        T: FromStr<Err = UnknownChoice> + Default,
    {
        let mut text = None;
        self.parsed(key, &mut text)?;
        match text.as_deref() {
            None => {}
            Some("") => *into = T::default(),
            Some(text) => *into = text.parse().map_err(|cause| ConfigError::Choice { path: self.at(key), cause })?,
        }
        Ok(())
    }

    /// Reads a string that the caller parses. An absent key or `null` leaves `into` unchanged.
    pub(super) fn parsed(&mut self, key: &str, into: &mut Option<String>) -> Result<(), ConfigError> {
        match self.take(key)? {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => *into = Some(text),
            Some(other) => return Err(wrong_type(&self.at(key), "text", &other)),
        }
        Ok(())
    }

    /// Reads a string that may be `null`, which clears the value.
    pub(super) fn nullable(&mut self, key: &str) -> Result<Option<Option<String>>, ConfigError> {
        match self.take(key)? {
            None => Ok(None),
            Some(Value::Null) => Ok(Some(None)),
            Some(Value::String(text)) => Ok(Some(Some(text))),
            Some(other) => Err(wrong_type(&self.at(key), "text", &other)),
        }
    }
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

pub(super) fn text_map(path: &str, value: Value) -> Result<BTreeMap<String, String>, ConfigError> {
    let Value::Object(fields) = value else { return Err(wrong_type(path, "an object", &value)) };
    let text = |(key, value): (String, Value)| match value {
        Value::String(text) => Ok((key, text)),
        other => Err(wrong_type(&format!("{path}.{key}"), "text", &other)),
    };
    fields.into_iter().map(text).collect()
}

pub(super) fn wrong_type(path: &str, expected: &'static str, found: &Value) -> ConfigError {
    let found = match found {
        Value::Null => "nothing".to_owned(),
        Value::Bool(truth) => format!("`{truth}`"),
        Value::Number(number) => format!("the number `{number}`"),
        Value::String(text) => format!("the text `{}`", text.chars().take(MAX_SHOWN).collect::<String>()),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    let path = if path.is_empty() { "the configuration" } else { path };
    ConfigError::WrongType { path: path.chars().take(200).collect(), expected, found }
}
