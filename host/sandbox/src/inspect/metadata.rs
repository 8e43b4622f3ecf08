//! The custom section with the metadata of a module.

use std::fmt;

use globset::{Glob, GlobBuilder};
use plumbline_core::Rights;
use plumbline_core::definition::LimitsRequest;
use plumbline_core::text::Printable;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::InspectError;

/// The name of the custom section with the metadata of a module.
///
/// It contains JSON: `{"name", "formats": [], "default-files": [globs], "detect": [rules],
/// "limits": {…}, "schema": {…}}`. Every key but `name` is optional, and unknown keys are ignored.
/// `limits` has the same form as in a definition, and `rights` that of `plumbline.grants` there.
///
/// The host looks for the section at the top level of the component first, and then in its core
/// modules.
pub const METADATA_SECTION: &str = "plumbline:module";

/// The maximum size of the section in bytes, many times more than names, patterns and a JSON Schema
/// need.
pub(super) const MAX_SECTION: usize = 64 << 10;
/// The maximum number of names or patterns in each list.
const MAX_ENTRIES: usize = 64;
/// The maximum length of a name or pattern in bytes, that of a DNS-1123 subdomain.
const MAX_TEXT: usize = 253;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Metadata {
    pub(super) name: String,
    #[serde(default)]
    pub(super) formats: Vec<String>,
    #[serde(default)]
    pub(super) default_files: Vec<String>,
    #[serde(default)]
    pub(super) detect: Vec<DetectRule>,
    #[serde(default)]
    pub(super) limits: LimitsRequest,
    pub(super) schema: Option<Value>,
    #[serde(default)]
    pub(super) rights: Rights,
}

impl Metadata {
    pub(super) fn parse(section: &[u8]) -> Result<Self, InspectError> {
        if section.len() > MAX_SECTION {
            return Err(malformed(format!("it has {} bytes (limit: {MAX_SECTION})", section.len())));
        }
        let raw: Self = serde_json::from_slice(section).map_err(|error| malformed(error.to_string()))?;
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
        check(&raw.detect)?;
        if raw.schema.as_ref().is_some_and(|schema| !schema.is_object() && !schema.is_boolean()) {
            return Err(malformed("`schema` is not a JSON Schema: expected an object".into()));
        }
        raw.rights.check().map_err(|error| malformed(format!("`rights`: {error}")))?;
        Ok(raw)
    }
}

/// Compiles a pattern of `default-files`. `*` matches within one directory, and `**` matches any
/// directories.
pub fn file_pattern(pattern: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(pattern).literal_separator(true).build()
}

pub(super) fn malformed(reason: String) -> InspectError {
    InspectError::Metadata(reason)
}

pub(super) fn check_text(key: &str, text: &str) -> Result<(), InspectError> {
    if text.is_empty() || text.len() > MAX_TEXT || text.chars().any(char::is_control) {
        let shown = Printable::escaped(text, MAX_TEXT);
        let reason = format!("`{key}` must hold 1 to {MAX_TEXT} bytes without control characters: `{shown}`");
        return Err(InspectError::Metadata(reason));
    }
    Ok(())
}

/// Checks a name. Names appear in definitions, file paths (`NAME.wasm`) and messages.
fn check_name(key: &str, text: &str) -> Result<(), InspectError> {
    check_text(key, text)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.chars().all(plain) && !text.starts_with('.') {
        return Ok(());
    }
    let reason = format!("`{key}`: invalid name `{text}`: use letters, digits, `-`, `_` and `.`");
    Err(InspectError::Metadata(reason))
}

/// The number of bytes at the start of a file that rules may check: 64 KiB. The host checks as many
/// at the end, and reads further to find the root of an XML document.
pub const DETECT_BYTES: usize = 64 << 10;

/// The maximum number of rules per module, many times more than five formats with a handful of
/// dialects need.
const MAX_RULES: usize = 16;
/// The maximum number of strings in one list of a rule.
const MAX_TEXTS: usize = 16;
/// The maximum length of a string of a rule in bytes.
const MAX_BYTES: usize = 253;

/// A rule that detects files. A file matches if it meets every condition of the rule. A rule has at
/// least one condition on the content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct DetectRule {
    /// The display name of the format, such as `JUnit`. If empty, the name of the module.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Glob patterns for the path of the file in the result directory, one of which must match. If
    /// empty, any path matches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Strings, one of which must be at the start of the content, after a byte order mark and
    /// whitespace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prefix: Vec<String>,
    /// Strings that must all occur in the first or the last [`DETECT_BYTES`] bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// Local names, one of which the root element of an XML document must have. In files `*.xml`,
    /// case does not matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub xml_root: Vec<String>,
}

impl fmt::Display for DetectRule {
    /// Formats the rule as one line, such as `JUnit: the XML root is testsuites or testsuite`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, files, prefix, contains, xml_root } = self;
        let quoted = |texts: &[String]| texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>();
        let conditions = [
            ("the path matches", files.clone(), " or "),
            ("starts with", quoted(prefix), " or "),
            ("contains", quoted(contains), " and "),
            ("the XML root is", xml_root.clone(), " or "),
        ];
        let given = conditions.iter().filter(|(_, texts, _)| !texts.is_empty());
        let given: Vec<String> = given.map(|(what, texts, joined)| format!("{what} {}", texts.join(joined))).collect();
        if !title.is_empty() {
            write!(f, "{title}: ")?;
        }
        f.write_str(&given.join(", "))
    }
}

/// Rejects rules that are too many or too long, or that only check the name of a file.
pub(super) fn check(rules: &[DetectRule]) -> Result<(), InspectError> {
    if rules.len() > MAX_RULES {
        return Err(malformed(format!("`detect` has {} rules (limit: {MAX_RULES})", rules.len())));
    }
    for rule in rules {
        let DetectRule { title, files, prefix, contains, xml_root } = rule;
        if !title.is_empty() {
            check_text("detect.title", title)?;
        }
        for (key, texts) in [("files", files), ("prefix", prefix), ("contains", contains), ("xml-root", xml_root)] {
            if texts.len() > MAX_TEXTS {
                return Err(malformed(format!("`detect.{key}` has {} entries (limit: {MAX_TEXTS})", texts.len())));
            }
            for text in texts {
                if text.is_empty() || text.len() > MAX_BYTES {
                    return Err(malformed(format!("`detect.{key}` must hold 1 to {MAX_BYTES} bytes")));
                }
            }
        }
        for pattern in files {
            file_pattern(pattern).map_err(|error| malformed(format!("`detect.files`: {error}")))?;
        }
        if prefix.is_empty() && contains.is_empty() && xml_root.is_empty() {
            let keys = "`prefix`, `contains` or `xml-root`";
            return Err(malformed(format!("a rule of `detect` has no condition on the content: give {keys}")));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "metadata_tests.rs"]
mod tests;
