//! One mapping of a definition, with case-insensitive keys and type-checked values.

use serde_json::{Map, Value};

use crate::definition::error::DefinitionError;
use crate::definition::schema::Field;
use crate::definition::warning::{WarningKind, Warnings, cut};

/// A mapping with known keys. `null` means absent, as in Sonobuoy.
#[derive(Debug)]
pub(super) struct Section {
    path: String,
    values: Map<String, Value>,
}

impl Section {
    /// Takes `value` as the mapping at `path`. `no_effect` lists keys that occur in real
    /// definitions but mean nothing, each with its replacement.
    pub(super) fn new(
        path: impl Into<String>,
        value: Value,
        known: &'static [Field],
        no_effect: &[(&str, &'static str)],
        warnings: &mut Warnings,
    ) -> Result<Self, DefinitionError> {
        let path = path.into();
        let Value::Object(fields) = value else { return Err(wrong_type(&path, "a mapping", &value)) };
        let mut section = Self { path, values: Map::new() };
        let mut spellings: Vec<(&str, String)> = Vec::new();
        for (key, value) in fields {
            let Some(name) = known.iter().map(|field| field.name).find(|name| name.eq_ignore_ascii_case(&key)) else {
                match no_effect.iter().find(|(name, _)| name.eq_ignore_ascii_case(&key)) {
                    Some((_, instead)) => warnings.add(section.at(&key), WarningKind::NoEffect { instead }),
                    None => warnings.unknown_key(section.at(&key), &key, known.iter().map(|field| field.name)),
                }
                continue;
            };
            if let Some((_, first)) = spellings.iter().find(|(known, _)| *known == name) {
                return Err(DefinitionError::Twice { first: section.at(first), second: section.at(&key) });
            }
            spellings.push((name, key));
            if !value.is_null() {
                section.values.insert(name.to_owned(), value);
            }
        }
        Ok(section)
    }

    /// Returns the path of `key` in this section.
    pub(super) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { cut(key) } else { format!("{}.{}", self.path, cut(key)) }
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.values.remove(key)
    }

    pub(super) fn required(&mut self, key: &str) -> Result<Value, DefinitionError> {
        self.take(key).ok_or_else(|| DefinitionError::Missing(self.at(key)))
    }

    /// Takes a string. Numbers and booleans are converted to the text as written, as far as it can
    /// be recovered.
    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, DefinitionError> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => match scalar(&value) {
                Some(text) if text.is_empty() => Ok(None),
                Some(text) => Ok(Some(text)),
                None => Err(wrong_type(&self.at(key), "text", &value)),
            },
        }
    }

    pub(super) fn list(&mut self, key: &str) -> Result<Vec<Value>, DefinitionError> {
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(wrong_type(&self.at(key), "a list", &other)),
        }
    }

    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<String>, DefinitionError> {
        let path = self.at(key);
        let text = |(i, value): (usize, Value)| {
            scalar(&value).ok_or_else(|| wrong_type(&format!("{path}[{i}]"), "text", &value))
        };
        self.list(key)?.into_iter().enumerate().map(text).collect()
    }

    pub(super) fn mapping(&mut self, key: &str) -> Result<Map<String, Value>, DefinitionError> {
        match self.take(key) {
            None => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields),
            Some(other) => Err(wrong_type(&self.at(key), "a mapping", &other)),
        }
    }

    pub(super) fn truth(&mut self, key: &str) -> Result<bool, DefinitionError> {
        match self.take(key) {
            None => Ok(false),
            Some(Value::Bool(truth)) => Ok(truth),
            Some(other) => Err(wrong_type(&self.at(key), "`true` or `false`", &other)),
        }
    }

    pub(super) fn whole_number(&mut self, key: &str) -> Result<i32, DefinitionError> {
        match self.take(key) {
            None => Ok(0),
            Some(value) => value
                .as_i64()
                .and_then(|n| i32::try_from(n).ok())
                .ok_or_else(|| wrong_type(&self.at(key), "a whole number of 32 bits", &value)),
        }
    }
}

/// Returns the text of a scalar, or `None` for a mapping or list. `null` is the empty string.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

pub(super) fn wrong_type(path: &str, expected: &'static str, found: &Value) -> DefinitionError {
    let found = match found {
        Value::Null => "nothing".to_owned(),
        Value::Bool(truth) => format!("`{truth}`"),
        Value::Number(number) => format!("the number `{number}`"),
        Value::String(text) => format!("the text `{}`", text.chars().take(60).collect::<String>()),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    };
    let path = if path.is_empty() { "the definition" } else { path };
    DefinitionError::WrongType { path: path.to_owned(), expected, found }
}
