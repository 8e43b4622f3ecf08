//! Components, which are counted and dropped.

use std::collections::BTreeMap;
use std::fmt;

use plumbline_sdk::{Item, Status};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::json;

use crate::names::{Names, cut};

/// Maximum number of licenses, and of component types, that are counted by name. The others are
/// counted together.
const MAX_KINDS: usize = 200;

/// The counts of a document's components.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    pub(crate) names: Names,
    components: u64,
    unlicensed: u64,
    types: Counts,
    licences: Counts,
}

/// Counts by word, up to a maximum number of words.
#[derive(Debug, Default)]
struct Counts {
    by_word: BTreeMap<String, u64>,
    others: u64,
}

/// An entry of a component's `licenses`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice {
    license: Option<License>,
    expression: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct License {
    id: Option<String>,
    name: Option<String>,
}

impl Counts {
    fn add(&mut self, word: &str) {
        let word = cut(word, 80);
        if let Some(count) = self.by_word.get_mut(&word) {
            *count += 1;
        } else if self.by_word.len() < MAX_KINDS {
            self.by_word.insert(word, 1);
        } else {
            self.others += 1;
        }
    }

    /// Returns the number of different words.
    fn kinds(&self) -> String {
        if self.others > 0 { format!("more than {MAX_KINDS}") } else { self.by_word.len().to_string() }
    }

    fn to_json(&self) -> serde_json::Value {
        let mut counts = self.by_word.clone();
        if self.others > 0 {
            counts.insert("(others)".to_owned(), self.others);
        }
        json!(counts)
    }
}

impl Inventory {
    /// Returns an item with the numbers of components and licenses.
    pub(crate) fn item(&self) -> Item {
        let mut item =
            Item::new(1, "components").status(Status::Passed).meta("components", self.components.to_string());
        if self.components > 0 {
            item = item
                .meta("licences", self.licences.kinds())
                .meta("without a licence", self.unlicensed.to_string())
                .json("types", &self.types.to_json())
                .json("licences", &self.licences.to_json());
        }
        item
    }

    fn add(&mut self, component: &Component) {
        self.components += 1;
        self.types.add(component.kind.as_deref().unwrap_or("unknown"));
        if let (Some(reference), Some(name)) = (&component.reference, &component.name) {
            self.names.insert(reference, name, component.version.as_deref().unwrap_or_default());
        }
        let mut licensed = false;
        for choice in &component.licences {
            let license = choice.license.as_ref();
            let word = license
                .and_then(|license| license.id.as_ref().or(license.name.as_ref()))
                .or(choice.expression.as_ref());
            if let Some(word) = word {
                self.licences.add(word);
                licensed = true;
            }
        }
        self.unlicensed += u64::from(!licensed);
    }
}

/// The parts of a component that are read.
#[derive(Debug, Default)]
struct Component {
    reference: Option<String>,
    kind: Option<String>,
    name: Option<String>,
    version: Option<String>,
    licences: Vec<Choice>,
}

/// A list of components, each of which is counted and dropped.
pub(crate) struct Components<'a>(pub(crate) &'a mut Inventory);

impl<'de> DeserializeSeed<'de> for Components<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Components<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of components")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(One(self.0))?.is_some() {}
        Ok(())
    }
}

/// One component, with those in it.
struct One<'a>(&'a mut Inventory);

impl<'de> DeserializeSeed<'de> for One<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for One<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a component")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut component = Component::default();
        while let Some(key) = fields.next_key::<String>()? {
            match key.as_str() {
                "bom-ref" => component.reference = fields.next_value()?,
                "type" => component.kind = fields.next_value()?,
                "name" => component.name = fields.next_value()?,
                "version" => component.version = fields.next_value()?,
                "licenses" => component.licences = fields.next_value::<Option<_>>()?.unwrap_or_default(),
                // serde_json stops at 128 levels, long before the stack overflows.
                "components" => fields.next_value_seed(Components(self.0))?,
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        self.0.add(&component);
        Ok(())
    }
}
