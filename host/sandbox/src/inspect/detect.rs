//! How a module detects its files: rules that the host applies itself, so that no module has to run for it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::metadata::{check_text, file_pattern, malformed};
use crate::error::InspectError;

/// Bytes at the start of a file that rules may look at: 64 KiB.
pub const DETECT_BYTES: usize = 64 << 10;

/// Rules of one module. Five formats with a handful of dialects fit many times over.
const MAX_RULES: usize = 16;
/// Texts in one list of a rule.
const MAX_TEXTS: usize = 16;
/// Bytes of a text in a rule.
const MAX_BYTES: usize = 253;

/// One rule. A file matches if it meets every condition that the rule gives; a rule gives at least one on the content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct DetectRule {
    /// The format's name for people, such as `JUnit`. Empty: the module's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Glob patterns, one of which the file's path below the result directory matches. Empty: any path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Texts, with one of which the content starts, after a byte order mark and white space.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prefix: Vec<String>,
    /// Texts, all of which occur in the first [`DETECT_BYTES`] bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// Local names, one of which the root element of an XML document has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub xml_root: Vec<String>,
}

impl fmt::Display for DetectRule {
    /// The rule in one line, such as `JUnit: the XML root is testsuites or testsuite`.
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

/// Refuses rules that are too many, too long, or go by a file's name alone.
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
