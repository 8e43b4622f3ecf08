//! The custom section in which a module says what it is.

use globset::{Glob, GlobBuilder};
use plumbline_core::definition::LimitsRequest;
use serde::Deserialize;
use serde_json::Value;

use super::detect::{self, DetectRule};
use crate::error::InspectError;

/// Name of the custom section: JSON, `{"name", "formats": [], "default-files": [globs], "detect": [rules], "limits": {…}, "schema": {…}}`.
/// Every key but `name` is optional, and unknown keys are ignored. `limits` is written as in a definition. The host looks for the section
/// at the top level of the component first, then in its core modules.
pub const METADATA_SECTION: &str = "plumbline:module";

/// Bytes of the section. Names, patterns and a JSON Schema fit many times over.
pub(super) const MAX_SECTION: usize = 64 << 10;
/// Names and patterns of each list.
const MAX_ENTRIES: usize = 64;
/// Bytes of a name or a pattern; as long as a DNS-1123 subdomain may be.
const MAX_TEXT: usize = 253;

/// The section, checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) formats: Vec<String>,
    pub(super) default_files: Vec<String>,
    pub(super) detect: Vec<DetectRule>,
    pub(super) limits: LimitsRequest,
    pub(super) schema: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Raw {
    name: String,
    #[serde(default)]
    formats: Vec<String>,
    #[serde(default)]
    default_files: Vec<String>,
    #[serde(default)]
    detect: Vec<DetectRule>,
    #[serde(default)]
    limits: LimitsRequest,
    #[serde(default)]
    schema: Option<Value>,
}

impl Metadata {
    pub(super) fn parse(section: &[u8]) -> Result<Self, InspectError> {
        if section.len() > MAX_SECTION {
            return Err(malformed(format!("it has {} bytes (limit: {MAX_SECTION})", section.len())));
        }
        let raw: Raw = serde_json::from_slice(section).map_err(|error| malformed(error.to_string()))?;
        check_name("name", &raw.name)?;
        for (key, list) in [("formats", &raw.formats), ("default-files", &raw.default_files)] {
            if list.len() > MAX_ENTRIES {
                return Err(malformed(format!("`{key}` has {} entries (limit: {MAX_ENTRIES})", list.len())));
            }
        }
        for format in &raw.formats {
            check_name("formats", format)?;
        }
        for pattern in &raw.default_files {
            check_text("default-files", pattern)?;
            file_pattern(pattern).map_err(|error| malformed(format!("`default-files`: {error}")))?;
        }
        detect::check(&raw.detect)?;
        if raw.schema.as_ref().is_some_and(|schema| !schema.is_object() && !schema.is_boolean()) {
            return Err(malformed("`schema` is not a JSON Schema: expected an object".into()));
        }
        let Raw { name, formats, default_files, detect, limits, schema } = raw;
        Ok(Self { name, formats, default_files, detect, limits, schema })
    }
}

/// The glob of a pattern in `default-files`. `*` matches within one directory, `**` any directories.
///
/// # Errors
/// The pattern is not a valid glob.
pub fn file_pattern(pattern: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(pattern).literal_separator(true).build()
}

pub(super) fn malformed(reason: String) -> InspectError {
    InspectError::Metadata { reason }
}

pub(super) fn check_text(key: &str, text: &str) -> Result<(), InspectError> {
    if text.is_empty() || text.len() > MAX_TEXT || text.chars().any(char::is_control) {
        let shown: String = text.chars().take(MAX_TEXT).flat_map(char::escape_debug).collect();
        let reason = format!("`{key}` must hold 1 to {MAX_TEXT} bytes without control characters: `{shown}`");
        return Err(InspectError::Metadata { reason });
    }
    Ok(())
}

/// Names stand in definitions, in paths of files (`NAME.wasm`) and in messages.
fn check_name(key: &str, text: &str) -> Result<(), InspectError> {
    check_text(key, text)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.chars().all(plain) && !text.starts_with('.') {
        return Ok(());
    }
    let reason = format!("`{key}` is no name: `{text}`: use letters, digits, `-`, `_` and `.`");
    Err(InspectError::Metadata { reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(section: &str) -> String {
        Metadata::parse(section.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn reads_every_key_and_ignores_others() {
        let section = r#"{"name":"junit","formats":["junit","e2e"],"default-files":["**/*.xml"],"limits":{"memory":"1KiB","new":1},
            "detect":[{"title":"JUnit","xml-root":["testsuites"],"later":1}],"schema":{"type":"object"},"later":true}"#;
        let metadata = Metadata::parse(section.as_bytes()).unwrap();
        assert_eq!(metadata.name, "junit");
        assert_eq!(metadata.formats, ["junit", "e2e"]);
        assert_eq!(metadata.default_files, ["**/*.xml"]);
        let rule = DetectRule { title: "JUnit".into(), xml_root: vec!["testsuites".into()], ..DetectRule::default() };
        assert_eq!(metadata.detect, [rule]);
        assert_eq!(metadata.limits, LimitsRequest { memory: Some(1024), ..LimitsRequest::default() });
        assert_eq!(metadata.schema, Some(serde_json::json!({"type": "object"})));
    }

    #[test]
    fn malformed_sections_are_named_with_their_reason() {
        assert!(reason("").starts_with("its section `plumbline:module` is malformed: EOF"));
        assert!(reason("{}").contains("missing field `name`"));
        assert!(reason(r#"{"name":""}"#).contains("`name` must hold 1 to 253 bytes"));
        assert!(reason(r#"{"name":"../x"}"#).contains("`name` is no name: `../x`"));
        assert!(reason(r#"{"name":"a\u0000b"}"#).contains("without control characters"));
        assert!(reason(r#"{"name":"a","schema":3}"#).contains("`schema` is not a JSON Schema"));
        assert!(reason(r#"{"name":"a","limits":{"memory":0}}"#).contains("memory"));
        let glob = reason(r#"{"name":"a","default-files":["[aaaa"]}"#);
        assert!(glob.contains("`default-files`: error parsing glob '[aaaa'"), "{glob}");
        assert!(reason(r#"{"name":"a"}{"name":"b"}"#).contains("trailing characters"));
        assert!(reason(&format!(r#"{{"name":"a","x":"{}"}}"#, "y".repeat(MAX_SECTION))).contains("(limit: 65536)"));
        assert!(reason(r#"{"name":"a","detect":[{"files":["*.xml"]}]}"#).contains("has no condition on the content"));
        assert!(
            reason(r#"{"name":"a","detect":[{"prefix":[""]}]}"#).contains("`detect.prefix` must hold 1 to 253 bytes")
        );
        let rules = vec![r#"{"prefix":["x"]}"#; 17].join(",");
        assert!(reason(&format!(r#"{{"name":"a","detect":[{rules}]}}"#)).contains("`detect` has 17 rules (limit: 16)"));
        let many = vec![r#""f""#; 65].join(",");
        assert!(
            reason(&format!(r#"{{"name":"a","formats":[{many}]}}"#)).contains("`formats` has 65 entries (limit: 64)")
        );
    }
}
