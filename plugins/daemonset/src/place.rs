//! A JSON value with its place in the document, and the errors that name the place.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Maximum number of characters of untrusted text in a message.
const MAX_WORD: usize = 100;

/// Error in the `podSpec` or the options. Every message starts with the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A value has another type than in Kubernetes.
    #[error("{place}: expected {expected}, found {found}")]
    Type {
        /// The place, such as `podSpec.nodeSelector.disk`.
        place: String,
        /// The expected type.
        expected: &'static str,
        /// The actual type.
        found: &'static str,
    },
    /// A required field is missing.
    #[error("{place}: `{field}` is missing")]
    Missing {
        /// The place of the object.
        place: String,
        /// The name of the field.
        field: &'static str,
    },
    /// A word is not one of those that Kubernetes accepts in this place.
    #[error("{place}: `{word}` is not known: use {known}")]
    Unknown {
        /// The place.
        place: String,
        /// The word, cut to 100 characters.
        word: String,
        /// The accepted words.
        known: &'static str,
    },
    /// The values do not fit the operator.
    #[error("{place}: operator `{operator}` {rule}")]
    Values {
        /// The place.
        place: String,
        /// The operator.
        operator: &'static str,
        /// The requirement of the operator.
        rule: &'static str,
    },
}

/// A value and its place.
pub(crate) struct FieldPath<'a> {
    name: String,
    value: &'a Value,
}

/// An object and its place.
pub(crate) struct Object<'a> {
    pub(crate) name: String,
    fields: &'a Map<String, Value>,
}

impl<'a> FieldPath<'a> {
    pub(crate) fn root(name: &str, value: &'a Value) -> Self {
        Self { name: name.to_owned(), value }
    }

    pub(crate) fn object(&self) -> Result<Object<'a>, SpecError> {
        self.optional_object()?.ok_or_else(|| self.other_than("an object"))
    }

    /// Returns the value as an object; `None` for null.
    pub(crate) fn optional_object(&self) -> Result<Option<Object<'a>>, SpecError> {
        match self.value {
            Value::Null => Ok(None),
            Value::Object(fields) => Ok(Some(Object { name: self.name.clone(), fields })),
            _ => Err(self.other_than("an object")),
        }
    }

    pub(crate) fn text(&self) -> Result<&'a str, SpecError> {
        self.value.as_str().ok_or_else(|| self.other_than("text (in YAML, put it in quotes)"))
    }

    pub(crate) fn unknown(&self, word: &str, known: &'static str) -> SpecError {
        SpecError::Unknown { place: self.name.clone(), word: word.chars().take(MAX_WORD).collect(), known }
    }

    fn other_than(&self, expected: &'static str) -> SpecError {
        let found = match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        SpecError::Type { place: self.name.clone(), expected, found }
    }
}

/// Accessors of fields. A null field counts as absent, as everywhere in Kubernetes.
impl<'a> Object<'a> {
    pub(crate) fn field(&self, field: &str) -> Option<FieldPath<'a>> {
        let value = self.fields.get(field).filter(|value| !value.is_null())?;
        Some(FieldPath { name: format!("{}.{field}", self.name), value })
    }

    pub(crate) fn object(&self, field: &str) -> Result<Option<Object<'a>>, SpecError> {
        self.field(field).map(|place| place.object()).transpose()
    }

    /// Returns a string field; empty if it is absent.
    pub(crate) fn text(&self, field: &str) -> Result<&'a str, SpecError> {
        self.field(field).map_or(Ok(""), |place| place.text())
    }

    /// Returns a field; an error if it is absent.
    pub(crate) fn required(&self, field: &'static str) -> Result<FieldPath<'a>, SpecError> {
        self.field(field).ok_or_else(|| SpecError::Missing { place: self.name.clone(), field })
    }

    /// Returns a boolean field; false if it is absent.
    pub(crate) fn flag(&self, field: &str) -> Result<bool, SpecError> {
        let Some(place) = self.field(field) else { return Ok(false) };
        place.value.as_bool().ok_or_else(|| place.other_than("true or false"))
    }

    /// Returns a list; `None` if it is absent.
    pub(crate) fn optional_list(&self, field: &str) -> Result<Option<Vec<FieldPath<'a>>>, SpecError> {
        let Some(place) = self.field(field) else { return Ok(None) };
        let Value::Array(values) = place.value else { return Err(place.other_than("a list")) };
        let entry = |(index, value)| FieldPath { name: format!("{}[{index}]", place.name), value };
        Ok(Some(values.iter().enumerate().map(entry).collect()))
    }

    /// Returns a list; empty if it is absent.
    pub(crate) fn list(&self, field: &str) -> Result<Vec<FieldPath<'a>>, SpecError> {
        Ok(self.optional_list(field)?.unwrap_or_default())
    }

    /// Returns all fields, which must be strings.
    pub(crate) fn texts(&self) -> Result<BTreeMap<String, String>, SpecError> {
        let text = |(field, value): (&String, &'a Value)| {
            let place = FieldPath { name: format!("{}.{field}", self.name), value };
            Ok((field.clone(), place.text()?.to_owned()))
        };
        self.fields.iter().map(text).collect()
    }
}
