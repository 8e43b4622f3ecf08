//! Parser for `PRODUCT.yaml`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use thiserror::Error;

use super::go::{is_mail_address, is_request_uri};

/// The required fields.
pub const FIELDS: [&str; 8] =
    ["vendor", "name", "version", "type", "description", "website_url", "documentation_url", "contact_email_address"];

/// The types of products.
pub const TYPES: [&str; 3] = ["distribution", "hosted platform", "installer"];

/// Fields with a URL.
const URLS: [&str; 4] = ["website_url", "repo_url", "documentation_url", "product_logo_url"];

/// The field with the mail address.
const EMAIL: &str = "contact_email_address";

/// Maximum size of the file: 1 MiB. Real files have 1 KiB.
const MAX_BYTES: usize = 1 << 20;

/// The description of a product. Any mapping can be parsed, and the methods report what is wrong
/// with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    fields: BTreeMap<String, String>,
    /// Fields whose value is a list or a mapping.
    odd: Vec<String>,
}

/// Reason why a file is not a `PRODUCT.yaml`.
#[derive(Debug, Error)]
pub enum ProductError {
    /// The file is larger than 1 MiB.
    #[error("{0} bytes are more than the limit of {MAX_BYTES}")]
    TooLarge(usize),
    /// The file is not YAML.
    #[error("invalid YAML: {0}")]
    Yaml(String),
    /// The file is YAML, but not a mapping.
    #[error("expected a mapping of fields")]
    Form,
}

impl Product {
    /// Parses the file. Of duplicate fields, the last one applies. An empty document has no fields.
    pub fn parse(content: &[u8]) -> Result<Self, ProductError> {
        if content.len() > MAX_BYTES {
            return Err(ProductError::TooLarge(content.len()));
        }
        if let Some(problem) = yaml_1_1_problem(content) {
            return Err(ProductError::Yaml(problem));
        }
        let mut reader = content;
        // Like the verifier, use the first document.
        let document = serde_saphyr::read_with_options::<_, Value>(&mut reader, options()).next();
        let document = document.transpose().map_err(|error| ProductError::Yaml(error.to_string()))?;
        let map = match document {
            Some(Value::Object(map)) => map,
            None | Some(Value::Null) => Map::new(),
            Some(_) => return Err(ProductError::Form),
        };
        let (mut fields, mut odd) = (BTreeMap::new(), Vec::new());
        for (key, value) in map {
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text,
                // Use the original spelling, so that version 1.30 does not become 1.3.
                Value::Number(_) | Value::Bool(_) => written(content, &key).unwrap_or_else(|| value.to_string()),
                Value::Array(_) | Value::Object(_) => {
                    odd.push(key);
                    continue;
                }
            };
            fields.insert(key, text);
        }
        Ok(Self { fields, odd })
    }

    /// Returns the value of a field. Empty if it is missing.
    pub fn get(&self, field: &str) -> &str {
        self.fields.get(field).map(String::as_str).unwrap_or_default()
    }

    /// Returns the required fields without a value. For the verifier, empty text is a value.
    pub fn missing(&self) -> Vec<&'static str> {
        let present = |field: &str| self.fields.contains_key(field) || self.odd.iter().any(|odd| odd == field);
        FIELDS.into_iter().filter(|field| !present(field)).collect()
    }

    /// Returns what the verifier rejects about the form of values: malformed URLs and mail
    /// addresses, and values that are not text. Each is a sentence.
    pub fn malformed(&self) -> Vec<String> {
        let odd = self.odd.iter().map(|field| format!("`{field}` is not text"));
        let urls = URLS.into_iter().map(|field| (field, self.get(field)));
        let urls = urls.filter(|(_, url)| !url.is_empty() && !is_request_uri(url));
        let urls = urls.map(|(field, url)| format!("`{field}` is not a URL: `{url}`"));
        let email = Some(self.get(EMAIL)).filter(|text| !text.is_empty() && !is_mail_address(text));
        let email = email.map(|text| format!("`{EMAIL}` is not a mail address: `{text}`"));
        odd.chain(urls).chain(email).collect()
    }

    /// Returns what the verifier accepts but a reviewer would reject: empty required fields, and
    /// URLs that are not those of web pages. Each is a sentence.
    pub fn doubtful(&self) -> Vec<String> {
        let blank =
            FIELDS.into_iter().filter(|field| self.fields.get(*field).is_some_and(|text| text.trim().is_empty()));
        let blank = blank.map(|field| format!("`{field}` is empty"));
        let urls = URLS.into_iter().map(|field| (field, self.get(field)));
        let urls = urls.filter(|(_, url)| is_request_uri(url) && !is_web_page(url));
        blank
            .chain(urls.map(|(field, url)| format!("`{field}` does not begin with `https://` and a host: `{url}`")))
            .collect()
    }

    /// Returns whether the type is one of [`TYPES`]. The verifier does not read the type if any
    /// value is not text.
    pub fn has_known_type(&self) -> bool {
        self.odd.is_empty() && TYPES.contains(&self.get("type"))
    }

    /// Returns everything that is wrong, each as a sentence.
    pub fn problems(&self) -> Vec<String> {
        let missing = self.missing();
        let mut problems: Vec<String> = missing.iter().map(|field| format!("`{field}` is missing")).collect();
        problems.extend(self.malformed());
        problems.extend(self.doubtful());
        let kind = self.get("type");
        if !kind.trim().is_empty() && !TYPES.contains(&kind) {
            problems.push(format!("`type` is `{kind}`: it must be one of {}", TYPES.join(", ")));
        }
        problems
    }
}

/// Returns whether a URL can be that of a web page: `http` or `https`, and a host.
fn is_web_page(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, rest)| {
        let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        is_web && !rest.is_empty() && !rest.starts_with(['/', '?', ':'])
    })
}

/// Returns why the verifier cannot read the document, if the reason is its version of YAML. The
/// verifier uses `sigs.k8s.io/yaml`, which implements YAML 1.1. The reason is a sentence.
fn yaml_1_1_problem(content: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(content);
    if let Some(c) = text.chars().find(|c| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')) {
        return Some(format!("U+{:04X} is a line break to the verifier", u32::from(c)));
    }
    let mut in_directives = true;
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let number = at + 1;
        if line.starts_with('\t') {
            return Some(format!("line {number} begins with a tab: indent with spaces"));
        }
        if line.split_once("\\/").is_some_and(|(before, _)| before.contains('"')) {
            return Some(format!("line {number} has the escape `\\/`, which YAML 1.1 does not know: write `/`"));
        }
        let blank = line.trim().is_empty() || line.starts_with('#');
        if in_directives && line.starts_with("...") {
            return Some(format!("line {number} ends a document that has not begun"));
        }
        if in_directives && line.starts_with('%') && !line.starts_with("%YAML 1.1") && !line.starts_with("%TAG ") {
            return Some(format!("line {number} is a directive that YAML 1.1 does not know"));
        }
        in_directives &= blank || line.starts_with('%');
    }
    None
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! { duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins }
}

/// Returns the value of a field as it is spelled in the file.
fn written(content: &[u8], field: &str) -> Option<String> {
    let text = std::str::from_utf8(content).ok()?;
    let read = |document: serde_saphyr::Deserializer<'_, '_>| Written(field).deserialize(document);
    serde_saphyr::with_deserializer_from_str_with_options(text, options(), read).ok().flatten()
}

/// Searches one field of a map and ignores all others.
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
        let product = Product::parse(GOOD.as_bytes()).unwrap();
        assert_eq!(product.problems(), Vec::<String>::new());
        assert_eq!(product.get("version"), "1.30");
        for more in ["repo_url:\n", "name: Other\n", "version: 7\n", "website_url: HTTPS://EX.COM\n"] {
            let product = Product::parse(format!("{more}{GOOD}").as_bytes()).unwrap();
            assert_eq!(product.problems(), Vec::<String>::new(), "{more}");
            assert_eq!(product.get("version"), "1.30", "{more}");
        }
    }

    #[test]
    fn every_problem_is_named() {
        let product = Product::parse(
            b"vendor: ''\nname: Engine\nversion: [1]\ntype: Distribution\nwebsite_url: example.org\nproduct_logo_url: 'https://x.org:a'\n\
             documentation_url: ftp://example.org\ncontact_email_address: nobody\nrepo_url:\n",
        )
        .unwrap();
        assert_eq!(product.missing(), ["description"]);
        let problems = product.problems();
        assert_eq!(problems.len(), 8, "{problems:#?}");
        for part in [
            "`vendor` is empty",
            "`version` is not text",
            "`type` is `Distribution`",
            "`website_url` is not a URL",
            "`product_logo_url` is not a URL",
            "`documentation_url` does not begin with `https://`",
            "mail address: `nobody`",
        ] {
            assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:#?}");
        }
    }

    #[test]
    fn other_documents_are_refused() {
        for text in ["- a", "a: [", "just words"] {
            assert!(Product::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(Product::parse(b"# nothing\n").unwrap().missing(), FIELDS);
        assert!(matches!(Product::parse(&[b' '; MAX_BYTES + 1]), Err(ProductError::TooLarge(_))));
    }

    #[test]
    fn only_yaml_that_the_verifier_rejects_is_refused() {
        for good in ["a: b\n", "a: c:\\/d\n", "%YAML 1.1\n---\na: b\n", "# c\n\n---\na: b\n...\n", "a: \"b\tc\"\n"] {
            assert_eq!(yaml_1_1_problem(good.as_bytes()), None, "{good}");
        }
        for bad in
            ["a:\n\tb: c\n", "a: \"https:\\/\\/b\"\n", "%YAML 1.2\n---\na: b\n", "...\na: b\n", "a: b\u{2028}c\n"]
        {
            assert!(yaml_1_1_problem(bad.as_bytes()).is_some(), "{bad}");
        }
    }
}
