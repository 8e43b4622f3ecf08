//! `PRODUCT.yaml`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use thiserror::Error;

use super::syntax::{is_email, is_url};

/// The fields that must be there.
pub const FIELDS: [&str; 8] =
    ["vendor", "name", "version", "type", "description", "website_url", "documentation_url", "contact_email_address"];

/// What a product may be.
pub const TYPES: [&str; 3] = ["distribution", "hosted platform", "installer"];

/// Fields with an address.
const URLS: [&str; 4] = ["website_url", "repo_url", "documentation_url", "product_logo_url"];

/// The field with the address that mail goes to.
const EMAIL: &str = "contact_email_address";

/// Bytes of the file: 1 MiB. Real ones have one KiB.
const MAX_BYTES: usize = 1 << 20;

/// What is submitted about the product. Read leniently: whatever is a map has a product, and what is wrong with it is told piece by piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    fields: BTreeMap<String, String>,
    /// Fields whose value is a list or a map.
    odd: Vec<String>,
}

/// Why a text is no `PRODUCT.yaml`.
#[derive(Debug, Error)]
pub enum ProductError {
    /// Larger than 1 MiB.
    #[error("it has {0} bytes: at most {MAX_BYTES} are read")]
    TooLarge(usize),
    /// No YAML.
    #[error("it is no YAML: {0}")]
    Yaml(String),
    /// YAML, but no map.
    #[error("it is no map of fields")]
    Form,
}

impl Product {
    /// Reads the file.
    ///
    /// # Errors
    /// [`ProductError`]
    pub fn parse(text: &str) -> Result<Self, ProductError> {
        if text.len() > MAX_BYTES {
            return Err(ProductError::TooLarge(text.len()));
        }
        let document: Value = serde_saphyr::from_str(text).map_err(|error| ProductError::Yaml(error.to_string()))?;
        let Value::Object(map) = document else { return Err(ProductError::Form) };
        let (mut fields, mut odd) = (BTreeMap::new(), Vec::new());
        for (key, value) in map {
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text,
                // As it is written: a version 1.30 stays what it is.
                Value::Number(_) | Value::Bool(_) => written(text, &key).unwrap_or_else(|| value.to_string()),
                Value::Array(_) | Value::Object(_) => {
                    odd.push(key);
                    continue;
                }
            };
            fields.insert(key, text);
        }
        Ok(Self { fields, odd })
    }

    /// The value of a field; empty where it is not there.
    #[must_use]
    pub fn get(&self, field: &str) -> &str {
        self.fields.get(field).map(String::as_str).unwrap_or_default()
    }

    /// The required fields that are not there, or empty.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        FIELDS.into_iter().filter(|field| self.get(field).trim().is_empty()).collect()
    }

    /// What is wrong with the form of fields, each as a sentence: addresses, and values that are no text.
    #[must_use]
    pub fn malformed(&self) -> Vec<String> {
        let odd = self.odd.iter().map(|field| format!("`{field}` is no text"));
        let urls = URLS.into_iter().filter(|field| !self.get(field).is_empty() && !is_url(self.get(field)));
        let urls =
            urls.map(|field| format!("`{field}` is no address that begins with `https://`: `{}`", self.get(field)));
        let email = Some(self.get(EMAIL)).filter(|text| !text.is_empty() && !is_email(text));
        let email = email.map(|text| format!("`{EMAIL}` is no address for mail: `{text}`"));
        odd.chain(urls).chain(email).collect()
    }

    /// Whether its type is one of [`TYPES`].
    #[must_use]
    pub fn has_known_type(&self) -> bool {
        TYPES.contains(&self.get("type"))
    }

    /// Everything that is wrong with it, each as a sentence.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let missing = self.missing();
        let mut problems: Vec<String> = missing.iter().map(|field| format!("`{field}` is missing or empty")).collect();
        problems.extend(self.malformed());
        if !missing.contains(&"type") && !self.has_known_type() {
            problems.push(format!("`type` is `{}`: it must be one of {}", self.get("type"), TYPES.join(", ")));
        }
        problems
    }
}

/// The value of a field as the characters that stand there.
fn written(text: &str, field: &str) -> Option<String> {
    serde_saphyr::with_deserializer_from_str(text, |document| Written(field).deserialize(document)).ok().flatten()
}

/// Looks for one field of a map, and passes over all others, whatever they are.
struct Written<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Written<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<Self::Value, D::Error> {
        document.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Written<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) const GOOD: &str = "vendor: Example\nname: Engine\nversion: 1.30\ntype: distribution\ndescription: >-\n  an engine\n\
        website_url: https://example.org\ndocumentation_url: https://example.org/docs\ncontact_email_address: k8s@example.org\n";

    #[test]
    fn a_good_one_has_no_problems_and_keeps_its_version_as_written() {
        let product = Product::parse(GOOD).unwrap();
        assert_eq!(product.problems(), Vec::<String>::new());
        assert_eq!(product.get("version"), "1.30");
        // Whatever else is in there.
        for more in ["repo_url:\n", "tags: [a]\n", "more: {a: 1}\n"] {
            let product = Product::parse(&format!("{more}{GOOD}")).unwrap();
            assert_eq!(product.get("version"), "1.30", "{more}");
        }
    }

    #[test]
    fn every_problem_is_named() {
        let product = Product::parse(
            "vendor: ''\nname: Engine\nversion: [1]\ntype: Distribution\nwebsite_url: example.org\nproduct_logo_url: 'https://x.org/a b'\n\
             documentation_url: ftp://example.org\ncontact_email_address: nobody\nrepo_url:\n",
        )
        .unwrap();
        assert_eq!(product.missing(), ["vendor", "version", "description"]);
        let problems = product.problems();
        assert_eq!(problems.len(), 9, "{problems:#?}");
        for part in [
            "`vendor` is missing",
            "`version` is no text",
            "`type` is `Distribution`",
            "`website_url`",
            "`product_logo_url`",
            "mail: `nobody`",
        ] {
            assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:#?}");
        }
    }

    #[test]
    fn what_is_no_map_is_refused() {
        for text in ["", "- a", "a: [", "just words"] {
            assert!(Product::parse(text).is_err(), "{text}");
        }
        assert!(matches!(Product::parse(&" ".repeat(MAX_BYTES + 1)), Err(ProductError::TooLarge(_))));
    }
}
