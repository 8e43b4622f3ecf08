//! The mappings of a definition: their keys, and the types of their values.

use serde_json::{Map, Value};

use crate::definition::error::{DefinitionError, Warnings, cut};
use crate::definition::schema;
use crate::text::{closest, described};

/// Keys of `sonobuoy-config` that occur in real definitions and never had an effect, with their
/// replacements.
const CONFIG_NO_EFFECT: &[(&str, &str)] = &[
    ("source_url", "write `source-url`"),
    ("result-type", "`plugin-name` sets the directory of the results, and `result-format` their format"),
];

/// The section of Plumbline's own keys. Elsewhere, Sonobuoy ignores misspelled keys, so they are only
/// reported.
const OWN: &str = "plumbline";

/// A mapping of a definition, with case-insensitive keys and type-checked values. `null` means
/// absent, as in Sonobuoy.
#[derive(Debug)]
pub(super) struct Section {
    path: String,
    values: Map<String, Value>,
}

impl Section {
    /// Takes `value` as the mapping at `path`, whose schema is at `pointer`.
    ///
    /// # Errors
    /// Returns a [`DefinitionError`], in particular for a misspelled key of Plumbline: ignoring a key
    /// such as `verdict` would drop requirements.
    pub(super) fn new(
        path: String,
        value: Value,
        pointer: &str,
        warnings: &mut Warnings,
    ) -> Result<Self, DefinitionError> {
        let Value::Object(fields) = value else { return Err(wrong_type(&path, "a mapping", &value)) };
        let no_effect = if pointer == schema::CONFIG { CONFIG_NO_EFFECT } else { &[] };
        let mut section = Self { path, values: Map::new() };
        let mut spellings: Vec<(&str, String)> = Vec::new();
        for (key, value) in fields {
            let Some(name) = schema::keys(pointer).find(|name| name.eq_ignore_ascii_case(&key)) else {
                if let Some(meant) = section.misspelled(&key, pointer) {
                    return Err(DefinitionError::Misspelled { path: section.at(&key), meant });
                }
                match no_effect.iter().find(|(name, _)| name.eq_ignore_ascii_case(&key)) {
                    Some((_, instead)) => warnings.add(&section.at(&key), format_args!(" has no effect: {instead}")),
                    None => warnings.unknown_key(&section.at(&key), &key, schema::keys(pointer)),
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

    /// Returns the key of Plumbline that the unknown `key` most likely stands for.
    fn misspelled(&self, key: &str, pointer: &str) -> Option<&'static str> {
        let is_own = self.path.split('.').next() == Some(OWN);
        closest(key, schema::keys(pointer)).filter(|meant| is_own || (self.path.is_empty() && *meant == OWN))
    }

    /// Returns the path of `key` in this section.
    pub(super) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { cut(key) } else { format!("{}.{}", self.path, cut(key)) }
    }

    pub(super) fn invalid(&self, key: &str, why: impl ToString) -> DefinitionError {
        DefinitionError::Invalid { path: self.at(key), why: why.to_string() }
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.values.remove(key)
    }

    pub(super) fn required(&mut self, key: &str) -> Result<Value, DefinitionError> {
        self.take(key).ok_or_else(|| DefinitionError::Missing(self.at(key)))
    }

    /// Takes the value of `key` as `convert` reads it. `expected` describes the type in messages.
    pub(super) fn get<T>(
        &mut self,
        key: &str,
        expected: &'static str,
        convert: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, DefinitionError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        convert(&value).map(Some).ok_or_else(|| wrong_type(&self.at(key), expected, &value))
    }

    /// Takes the mapping at `key`, whose schema is at `pointer`.
    pub(super) fn section(
        &mut self,
        key: &str,
        pointer: &str,
        warnings: &mut Warnings,
    ) -> Result<Option<Self>, DefinitionError> {
        let value = self.take(key);
        value.map(|value| Self::new(self.at(key), value, pointer, warnings)).transpose()
    }

    /// Takes a string. Numbers and booleans are converted to the text as written, as far as it can
    /// be recovered.
    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, DefinitionError> {
        Ok(self.get(key, "text", scalar)?.filter(|text| !text.is_empty()))
    }

    pub(super) fn required_text(&mut self, key: &str) -> Result<String, DefinitionError> {
        self.text(key)?.ok_or_else(|| DefinitionError::Missing(self.at(key)))
    }

    pub(super) fn list(&mut self, key: &str) -> Result<Vec<Value>, DefinitionError> {
        Ok(self.get(key, "a list", |value| value.as_array().cloned())?.unwrap_or_default())
    }

    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<String>, DefinitionError> {
        let path = self.at(key);
        let text = |(i, value): (usize, Value)| {
            scalar(&value).ok_or_else(|| wrong_type(&format!("{path}[{i}]"), "text", &value))
        };
        self.list(key)?.into_iter().enumerate().map(text).collect()
    }

    pub(super) fn mapping(&mut self, key: &str) -> Result<Map<String, Value>, DefinitionError> {
        Ok(self.get(key, "a mapping", |value| value.as_object().cloned())?.unwrap_or_default())
    }

    pub(super) fn truth(&mut self, key: &str) -> Result<bool, DefinitionError> {
        Ok(self.get(key, "`true` or `false`", Value::as_bool)?.unwrap_or_default())
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
    let path = if path.is_empty() { "the definition" } else { path };
    DefinitionError::WrongType { path: path.to_owned(), expected, found: described(found, "a mapping") }
}
