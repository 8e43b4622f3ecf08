//! Objects of the API server as compact JSON text.
//!
//! As a tree, an object takes an allocation for each of its fields and five times as much memory, and
//! a watch of 10,000 pods sees 60,000 of them. Text is copied while it is parsed, and each reader takes
//! from it what it needs.

use std::borrow::Cow;
use std::fmt;

use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope, ObjectMeta};
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// An object without what nobody reads: the managed fields, which may be half of it, and the images of
/// a node, which are most of it.
#[derive(Debug, Clone)]
pub(crate) struct ObjectText {
    /// Only the name and what a watch needs.
    metadata: ObjectMeta,
    text: String,
}

impl ObjectText {
    pub(crate) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_text(self) -> Box<str> {
        self.text.into_boxed_str()
    }

    /// Returns the object as a tree.
    pub(crate) fn value(&self) -> Value {
        // It was valid when it was copied.
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for ObjectText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Vec::new();
        Copier { to: &mut text, place: Place::Object }.deserialize(deserializer)?;
        if text.first() != Some(&b'{') {
            return Err(D::Error::invalid_type(Unexpected::Other("other JSON"), &"an object"));
        }
        let text = String::from_utf8(text).map_err(D::Error::custom)?;
        let Head { metadata } = serde_json::from_str(&text).unwrap_or_default();
        let named = |text: Option<String>| text.filter(|text| !text.is_empty());
        let metadata = ObjectMeta {
            name: named(metadata.name),
            resource_version: named(metadata.resource_version),
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, text })
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    metadata: HeadMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HeadMetadata {
    name: Option<String>,
    resource_version: Option<String>,
}

impl Resource for ObjectText {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.kind)
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.group)
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.version)
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.plural)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Where a value is in an object.
#[derive(Clone, Copy)]
enum Place {
    Object,
    Metadata,
    Status,
    Below,
}

/// Copies a value as JSON.
struct Copier<'a> {
    to: &'a mut Vec<u8>,
    place: Place,
}

impl Copier<'_> {
    fn write<E: Error>(self, value: &(impl Serialize + ?Sized)) -> Result<(), E> {
        serde_json::to_writer(self.to, value).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Copier<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Copier<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.write(&value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.write(&value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.write(&value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.write(&value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.write(value)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.write(&())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        self.to.push(b'[');
        let begin = self.to.len();
        loop {
            let end = self.to.len();
            if end > begin {
                self.to.push(b',');
            }
            if values.next_element_seed(Copier { to: &mut *self.to, place: Place::Below })?.is_none() {
                self.to.truncate(end);
                break;
            }
        }
        self.to.push(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        self.to.push(b'{');
        let begin = self.to.len();
        while let Some(field) = fields.next_key_seed(Key { to: &mut *self.to, place: self.place, begin })? {
            match field {
                Some(place) => fields.next_value_seed(Copier { to: &mut *self.to, place })?,
                None => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        self.to.push(b'}');
        Ok(())
    }
}

/// Copies the key of a field, unless nobody reads the field. Returns where its value is.
struct Key<'a> {
    to: &'a mut Vec<u8>,
    place: Place,
    /// Where the first field of the map begins.
    begin: usize,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<Place>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<Place>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        let place = match (self.place, key) {
            (Place::Metadata, "managedFields") | (Place::Status, "images") => return Ok(None),
            (Place::Object, "metadata") => Place::Metadata,
            (Place::Object, "status") => Place::Status,
            _ => Place::Below,
        };
        if self.to.len() > self.begin {
            self.to.push(b',');
        }
        serde_json::to_writer(&mut *self.to, key).map_err(E::custom)?;
        self.to.push(b':');
        Ok(Some(place))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_whole_but_for_its_managed_fields() {
        let text =
            r#"{"kind":"Pod","metadata":{"managedFields":[{"manager":"m"}],"name":"p","resourceVersion":"7"},"x":1}"#;
        let object: ObjectText = serde_json::from_str(text).unwrap();
        assert_eq!((object.name(), object.meta().resource_version.as_deref()), ("p", Some("7")));
        let want = r#"{"kind":"Pod","metadata":{"name":"p","resourceVersion":"7"},"x":1}"#;
        assert_eq!(object.as_str(), want);
        // Other JSON is an error.
        for other in ["[]", "7", "null", "\"text\""] {
            assert!(serde_json::from_str::<ObjectText>(other).is_err(), "{other}");
        }
    }

    #[test]
    fn every_value_stays_as_it_is() {
        let object = json!({
            "metadata": {"name": "n", "labels": {}, "managedFields": null},
            "spec": {"managedFields": [1], "images": [[], [null, true, false], {"": -1}], "text": "\"\\\n\u{1}ä😀"},
            "status": {"images": ["left out"], "numbers": [0, -7, u64::MAX, i64::MIN, 1.5, 1e300], "deep": {"images": {}}},
        });
        let mut want = object.clone();
        want["metadata"].as_object_mut().unwrap().remove("managedFields");
        want["status"].as_object_mut().unwrap().remove("images");
        let from_text: ObjectText = serde_json::from_str(&object.to_string()).unwrap();
        assert_eq!(from_text.value(), want);
        // A watch whose line has the object before the type is buffered first.
        let from_tree: ObjectText = serde_json::from_value(object).unwrap();
        assert_eq!(from_tree.as_str(), from_text.as_str());
    }

    #[test]
    fn an_object_without_valid_metadata_has_no_name() {
        for text in ["{}", r#"{"metadata":[]}"#, r#"{"metadata":{"name":7}}"#, r#"{"metadata":{"name":""}}"#] {
            let object: ObjectText = serde_json::from_str(text).unwrap();
            assert_eq!((object.name(), &object.metadata.name, object.as_str()), ("", &None, text));
        }
    }
}
