//! A whole document, which is read once from start to end.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;

use plumbline_sdk::{Item, Output, Status};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::components::{Components, Inventory};
use crate::names::cut;
use crate::severity::Severity;
use crate::vulnerability::Vulnerability;

/// Reads the document and emits its items at depth 1.
///
/// # Errors
/// A sentence, if the document is not JSON or not CycloneDX. The items before the error have been
/// emitted.
pub(crate) fn read(from: impl Read, fail_on: &BTreeSet<Severity>, out: &mut Output) -> Result<(), String> {
    let mut document = Document { fail_on, out, inventory: Inventory::default(), head: Head::default() };
    let mut json = serde_json::Deserializer::from_reader(from);
    let end = (&mut document).deserialize(&mut json).and_then(|()| json.end());
    end.map_err(|error| error.to_string())?;
    document.finish()
}

/// The properties of the document itself.
#[derive(Debug, Default)]
struct Head {
    format: Option<String>,
    version: Option<String>,
    subject: Option<Subject>,
    vulnerabilities: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    component: Option<Subject>,
    timestamp: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Subject {
    #[serde(rename = "bom-ref")]
    reference: Option<String>,
    name: Option<String>,
    version: Option<String>,
    #[serde(skip)]
    timestamp: Option<String>,
}

struct Document<'a> {
    fail_on: &'a BTreeSet<Severity>,
    out: &'a mut Output,
    inventory: Inventory,
    head: Head,
}

impl Document<'_> {
    fn metadata(&mut self, metadata: Metadata) {
        let subject = metadata.component.unwrap_or_default();
        if let (Some(reference), Some(name)) = (&subject.reference, &subject.name) {
            self.inventory.names.insert(reference, name, subject.version.as_deref().unwrap_or_default());
        }
        self.head.subject = Some(Subject { timestamp: metadata.timestamp, ..subject });
    }

    /// Emits what is only known at the end, because keys may come in any order.
    fn finish(self) -> Result<(), String> {
        match self.head.format.as_deref() {
            Some("CycloneDX") => {}
            Some(other) => {
                return Err(format!("not a CycloneDX document: its `bomFormat` is `{}`", cut(other, 60)));
            }
            None => return Err("not a CycloneDX document: it has no `bomFormat`".to_owned()),
        }
        let summary = match self.head.vulnerabilities {
            Some(0) => Some(Item::new(1, "vulnerabilities").status(Status::Passed).meta("vulnerabilities", "0")),
            // A bill of materials alone says nothing about vulnerabilities.
            None => Some(
                Item::new(1, "vulnerabilities")
                    .status(Status::Skipped)
                    .meta("reason", "the document does not speak of vulnerabilities"),
            ),
            Some(_) => None,
        };
        if let Some(item) = summary {
            self.out.emit(item);
        }
        let mut item = self.inventory.item();
        let subject = self.head.subject.unwrap_or_default();
        let facts = [
            ("spec", self.head.version),
            ("of", subject.name),
            ("version", subject.version),
            ("timestamp", subject.timestamp),
        ];
        for (key, value) in facts {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                item = item.meta(key, cut(&value, 200));
            }
        }
        self.out.emit(item);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &mut Document<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a CycloneDX document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(key) = fields.next_key::<String>()? {
            match key.as_str() {
                "bomFormat" => self.head.format = fields.next_value()?,
                "specVersion" => self.head.version = fields.next_value()?,
                "metadata" => {
                    let metadata = fields.next_value::<Option<Metadata>>()?.unwrap_or_default();
                    self.metadata(metadata);
                }
                "components" => fields.next_value_seed(Components(&mut self.inventory))?,
                "vulnerabilities" => fields.next_value_seed(Vulnerabilities(self))?,
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The list of vulnerabilities, each of which is emitted as it is read.
struct Vulnerabilities<'a, 'b>(&'a mut Document<'b>);

impl<'de> DeserializeSeed<'de> for Vulnerabilities<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Vulnerabilities<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of vulnerabilities")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let document = self.0;
        let mut count = 0;
        while let Some(vulnerability) = list.next_element::<Vulnerability>()? {
            document.out.emit(vulnerability.item(document.fail_on, &document.inventory.names));
            count += 1;
        }
        document.head.vulnerabilities = Some(count);
        Ok(())
    }
}
