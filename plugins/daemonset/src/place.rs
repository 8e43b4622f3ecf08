//! A JSON value that knows where it stands, for errors that say so.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::SpecError;

/// Characters of foreign text in a message.
const MAX_WORD: usize = 100;

/// A value and its place.
pub(crate) struct Place<'a> {
    name: String,
    value: &'a Value,
}

/// An object and its place.
pub(crate) struct Object<'a> {
    name: String,
    fields: &'a Map<String, Value>,
}

impl<'a> Place<'a> {
    pub(crate) fn root(name: &str, value: &'a Value) -> Self {
        Self { name: name.to_owned(), value }
    }

    pub(crate) fn object(&self) -> Result<Object<'a>, SpecError> {
        self.optional_object()?.ok_or_else(|| self.other_than("an object"))
    }

    /// `None` for null.
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

/// A field that is null is a field that is not there, as everywhere in Kubernetes.
impl<'a> Object<'a> {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn field(&self, field: &str) -> Option<Place<'a>> {
        let value = self.fields.get(field).filter(|value| !value.is_null())?;
        Some(Place { name: format!("{}.{field}", self.name), value })
    }

    pub(crate) fn object(&self, field: &str) -> Result<Option<Object<'a>>, SpecError> {
        self.field(field).map(|place| place.object()).transpose()
    }

    /// Empty where it is absent.
    pub(crate) fn text(&self, field: &str) -> Result<&'a str, SpecError> {
        self.field(field).map_or(Ok(""), |place| place.text())
    }

    /// An error where it is absent.
    pub(crate) fn required(&self, field: &'static str) -> Result<Place<'a>, SpecError> {
        self.field(field).ok_or_else(|| SpecError::Missing { place: self.name.clone(), field })
    }

    /// False where it is absent.
    pub(crate) fn flag(&self, field: &str) -> Result<bool, SpecError> {
        let Some(place) = self.field(field) else { return Ok(false) };
        place.value.as_bool().ok_or_else(|| place.other_than("true or false"))
    }

    /// `None` where it is absent.
    pub(crate) fn optional_list(&self, field: &str) -> Result<Option<Vec<Place<'a>>>, SpecError> {
        let Some(place) = self.field(field) else { return Ok(None) };
        let Value::Array(values) = place.value else { return Err(place.other_than("a list")) };
        let entry = |(index, value)| Place { name: format!("{}[{index}]", place.name), value };
        Ok(Some(values.iter().enumerate().map(entry).collect()))
    }

    /// Empty where it is absent.
    pub(crate) fn list(&self, field: &str) -> Result<Vec<Place<'a>>, SpecError> {
        Ok(self.optional_list(field)?.unwrap_or_default())
    }

    /// All fields, which must be text.
    pub(crate) fn texts(&self) -> Result<BTreeMap<String, String>, SpecError> {
        let text = |(field, value): (&String, &'a Value)| {
            let place = Place { name: format!("{}.{field}", self.name), value };
            Ok((field.clone(), place.text()?.to_owned()))
        };
        self.fields.iter().map(text).collect()
    }
}
