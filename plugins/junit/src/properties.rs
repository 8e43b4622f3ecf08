//! The element `properties`, which is kept on request.

use serde_json::{Map, Value};

use crate::tag::{Tag, local, same, same_in_any_case};
use crate::text::{Text, value};

/// Maximum size in bytes of all properties of one element: 1 MiB. Surefire writes the Java system
/// properties, about 10 KiB.
const MAX_PROPERTIES: usize = 1 << 20;

/// Returns whether a tag is the property with which Ginkgo says that its suite was a dry run.
pub(crate) fn is_dry_run(tag: &Tag<'_>) -> bool {
    let has = |key: &[u8], wanted: &[u8]| tag.attribute(key).is_some_and(|value| same(&value, wanted));
    same_in_any_case(local(tag.name()), b"property") && has(b"name", b"DryRun") && has(b"value", b"true")
}

/// Properties that are being collected.
#[derive(Debug, Default)]
pub(crate) struct Properties {
    values: Map<String, Value>,
    bytes: usize,
    open: Option<(String, Text)>,
}

impl Properties {
    /// Handles the start of a property. Its value is the attribute of that name, or else its text.
    pub(crate) fn open(&mut self, tag: &Tag<'_>) {
        let name = tag.attribute(b"name").map(|raw| value(&raw, MAX_PROPERTIES).into_owned()).unwrap_or_default();
        let mut text = Text::new(MAX_PROPERTIES);
        if let Some(raw) = tag.attribute(b"value") {
            text.push_value(&raw);
        }
        self.open = Some((name, text));
    }

    /// Returns the text of the open property.
    pub(crate) fn text(&mut self) -> Option<&mut Text> {
        self.open.as_mut().map(|(_, text)| text)
    }

    /// Handles the end of a property. One without a name, or beyond the limit, is dropped.
    pub(crate) fn close(&mut self) {
        let Some((name, text)) = self.open.take() else { return };
        let value = Value::String(text.into_string());
        // Count the size in JSON, where a control character takes six bytes, and what the host adds
        // per value.
        let bytes = name.len() + value.to_string().len() + 32;
        if !name.is_empty() && self.bytes + bytes <= MAX_PROPERTIES {
            self.bytes += bytes;
            self.values.insert(name, value);
        }
    }

    /// Returns all properties as an object, if there are any.
    pub(crate) fn into_value(self) -> Option<Value> {
        (!self.values.is_empty()).then_some(Value::Object(self.values))
    }
}
