//! Detection of the module for each file of a plugin with the result format `auto`. The modules'
//! rules are applied to the start of a file, and no module runs.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use globset::{GlobSet, GlobSetBuilder};
use plumbline_sandbox::{DETECT_BYTES, DetectRule, file_pattern};
use serde::Serialize;

use super::error::PostProcessError;
use super::files::SetFile;
use crate::modules::LazyModule;

/// Maximum number of files in an outcome. The tree has all of them.
const MAX_NAMED: usize = 20;

/// Detected formats of a plugin with the result format `auto`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Detections {
    /// The first files with a detected format.
    pub files: Vec<Detected>,
    /// Number of files with a detected format.
    pub detected: u64,
    /// Number of files without a detected format. The captured standard output does not count.
    pub unread: u64,
}

/// A file with a detected format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detected {
    /// Path relative to the plugin's directory, such as `results/global/junit.xml`.
    pub file: String,
    /// Display name of the format, such as `JUnit`.
    pub format: String,
    /// Name of the module that read the file.
    pub module: String,
}

impl Detections {
    pub(super) fn add(&mut self, detected: Detected) {
        self.detected += 1;
        if self.files.len() < MAX_NAMED {
            self.files.push(detected);
            self.files.sort_by(|a, b| a.file.cmp(&b.file));
        }
    }
}

/// The modules that detect their files, with compiled rules.
pub(super) struct Detectors<'a> {
    modules: Vec<(&'a LazyModule, Vec<Rule<'a>>)>,
}

struct Rule<'a> {
    rule: &'a DetectRule,
    files: Option<GlobSet>,
}

impl<'a> Detectors<'a> {
    pub(super) fn new(modules: &'a [LazyModule]) -> Result<Self, PostProcessError> {
        let ready = |module: &'a LazyModule| {
            let rules = module.info().detect.iter().map(Rule::new).collect::<Result<Vec<_>, _>>();
            let rules = rules.map_err(|source| PostProcessError::Pattern { module: module.name(), source })?;
            Ok((module, rules))
        };
        Ok(Self { modules: modules.iter().map(ready).collect::<Result<_, _>>()? })
    }

    /// Returns the first module with a rule that matches `file`, and the display name of the
    /// format.
    pub(super) fn find(&self, file: &SetFile) -> io::Result<Option<(&'a LazyModule, String)>> {
        let head = Head::read(&file.absolute)?;
        Ok(self.modules.iter().find_map(|(module, rules)| {
            let Rule { rule, .. } = rules.iter().find(|rule| rule.matches(file.path_in_results(), &head))?;
            Some((*module, if rule.title.is_empty() { module.name() } else { rule.title.clone() }))
        }))
    }
}

impl<'a> Rule<'a> {
    fn new(rule: &'a DetectRule) -> Result<Self, globset::Error> {
        if rule.files.is_empty() {
            return Ok(Self { rule, files: None });
        }
        let mut set = GlobSetBuilder::new();
        for pattern in &rule.files {
            set.add(file_pattern(pattern)?);
        }
        Ok(Self { rule, files: Some(set.build()?) })
    }

    fn matches(&self, path: &str, head: &Head) -> bool {
        let DetectRule { prefix, contains, xml_root, .. } = self.rule;
        self.files.as_ref().is_none_or(|files| files.is_match(path))
            && (prefix.is_empty() || prefix.iter().any(|text| head.content().starts_with(text.as_str())))
            && contains.iter().all(|text| head.text.contains(text.as_str()))
            && (xml_root.is_empty() || head.xml_root().is_some_and(|root| xml_root.iter().any(|name| name == root)))
    }
}

/// The start of a file as text, without its byte order mark.
struct Head {
    text: String,
}

impl Head {
    fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        File::open(path)?.take(DETECT_BYTES as u64).read_to_end(&mut bytes)?;
        Ok(Self { text: decode(&bytes) })
    }

    fn content(&self) -> &str {
        self.text.trim_start()
    }

    /// Returns the local name of the root element if this is an XML document. It skips the
    /// declaration, comments and the document type.
    fn xml_root(&self) -> Option<&str> {
        let mut rest = self.content();
        loop {
            let markup = rest.trim_start().strip_prefix('<')?;
            rest = if let Some(instruction) = markup.strip_prefix('?') {
                instruction.split_once("?>")?.1
            } else if let Some(comment) = markup.strip_prefix("!--") {
                comment.split_once("-->")?.1
            } else if markup.starts_with('!') {
                let (declaration, after) = markup.split_once('>')?;
                // An internal subset in brackets contains `>` itself.
                if declaration.contains('[') { markup.split_once(']')?.1.split_once('>')?.1 } else { after }
            } else {
                let name = markup.split(|c: char| c.is_whitespace() || matches!(c, '/' | '>')).next()?;
                return name.rsplit(':').next();
            };
        }
    }
}

/// Decodes UTF-8, or UTF-16 with a byte order mark. Invalid sequences are replaced, because rules
/// match text.
fn decode(bytes: &[u8]) -> String {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(json: serde_json::Value) -> DetectRule {
        serde_json::from_value(json).unwrap()
    }

    fn matches(rule: &DetectRule, path: &str, content: &[u8]) -> bool {
        Rule::new(rule).unwrap().matches(path, &Head { text: decode(content) })
    }

    #[test]
    fn the_root_of_an_xml_document_is_found_after_its_prolog() {
        let junit = rule(serde_json::json!({"xml-root": ["testsuites", "testsuite"]}));
        for content in [
            "<testsuites>",
            "<testsuite name='a'/>",
            "\u{feff}<?xml version=\"1.0\"?>\n<!-- a > b -->\n<!DOCTYPE x [<!ENTITY a '>'>]>\n<j:testsuites xmlns:j='x'>",
            "  <!DOCTYPE x>\n<testsuite>",
        ] {
            assert!(matches(&junit, "global/a", content.as_bytes()), "{content}");
        }
        for content in
            ["", "<", "<!--", "<!DOCTYPE [", "<?xml", "<coverage><testsuite/>", "a <testsuite>", "<testsuitez>", "{}"]
        {
            assert!(!matches(&junit, "global/a", content.as_bytes()), "{content}");
        }
        let utf16: Vec<u8> =
            "\u{feff}<?xml version='1.0'?><testsuite/>".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert!(matches(&junit, "global/a", &utf16));
    }

    #[test]
    fn every_condition_of_a_rule_counts() {
        let sarif =
            rule(serde_json::json!({"files": ["**/*.json"], "prefix": ["{", "["], "contains": ["runs", "2.1.0"]}));
        assert!(matches(&sarif, "global/x/a.json", b"\xEF\xBB\xBF \n{\"runs\": [], \"version\": \"2.1.0\"}"));
        assert!(!matches(&sarif, "global/a.txt", b"{\"runs\": [], \"version\": \"2.1.0\"}"));
        assert!(!matches(&sarif, "global/a.json", b"{\"runs\": []}"));
        assert!(!matches(&sarif, "global/a.json", b"x{\"runs\": [], \"version\": \"2.1.0\"}"));
    }

    #[test]
    fn only_the_start_of_a_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let late = format!("{{{}needle", " ".repeat(DETECT_BYTES));
        std::fs::write(&path, late).unwrap();
        let head = Head::read(&path).unwrap();
        assert_eq!(head.text.len(), DETECT_BYTES);
        assert!(!Rule::new(&rule(serde_json::json!({"contains": ["needle"]}))).unwrap().matches("a", &head));
    }
}
