//! The chain of judges: `plumbline.verdict`.

use serde_json::{Map, Value};

use crate::definition::config_map::is_file_name;
use crate::definition::error::DefinitionError;
use crate::definition::module_name::is_module_name;
use crate::definition::schema::VERDICT;
use crate::definition::section::Section;
use crate::definition::warning::{Warnings, cut};

/// The maximum number of judges of one plugin. Each reads the whole tree again, and a handful is
/// enough.
pub const MAX_JUDGES: usize = 16;

/// The maximum number of data files and of evidence patterns of one judge. Lists of known failures
/// consist of a handful of files.
const MAX_FILES: usize = 64;

/// The maximum length of a pattern in bytes.
const MAX_PATTERN_BYTES: usize = 240;

/// One judge of a chain, with its inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerdictEntry {
    /// The name of the module, from the plugin's bundle or built in.
    pub judge: String,
    /// Free-form options for the judge.
    pub options: Map<String, Value>,
    /// Keys of the definition's `config-map`, which the module sees as files `data/KEY`. The caller
    /// checks that they exist.
    pub data: Vec<String>,
    /// Glob patterns of files of the archive, relative to its root. The caller checks that each is
    /// a valid glob.
    pub evidence: Vec<String>,
}

impl VerdictEntry {
    /// Returns the entry as written in a definition.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("judge".to_owned(), Value::from(self.judge.as_str()));
        if !self.options.is_empty() {
            fields.insert("options".to_owned(), Value::from(self.options.clone()));
        }
        for (key, texts) in [("data", &self.data), ("evidence", &self.evidence)] {
            if !texts.is_empty() {
                fields.insert(key.to_owned(), Value::from(texts.clone()));
            }
        }
        Value::Object(fields)
    }
}

/// Takes the chain from the section `plumbline`.
pub(super) fn read(section: &mut Section, warnings: &mut Warnings) -> Result<Vec<VerdictEntry>, DefinitionError> {
    let path = section.at("verdict");
    let entries = section.list("verdict")?;
    if entries.len() > MAX_JUDGES {
        return Err(DefinitionError::Verdict { path, why: "there are more than 16 judges" });
    }
    let entry = |(i, value)| entry(format!("{path}[{i}]"), value, warnings);
    entries.into_iter().enumerate().map(entry).collect()
}

fn entry(path: String, value: Value, warnings: &mut Warnings) -> Result<VerdictEntry, DefinitionError> {
    let mut section = Section::new(path, value, VERDICT, &[], warnings)?;
    let Some(judge) = section.text("judge")? else { return Err(DefinitionError::Missing(section.at("judge"))) };
    if !is_module_name(&judge) {
        return Err(DefinitionError::ModuleName { path: section.at("judge"), name: cut(&judge) });
    }
    let options = section.mapping("options")?;
    let data = texts(&mut section, "data", |name| {
        (!is_file_name(name)).then_some("the name must be a key of `config-map`: letters, digits, `-`, `_` and `.`")
    })?;
    let evidence = texts(&mut section, "evidence", pattern_fault)?;
    Ok(VerdictEntry { judge, options, data, evidence })
}

fn texts(
    section: &mut Section,
    key: &str,
    fault: impl Fn(&str) -> Option<&'static str>,
) -> Result<Vec<String>, DefinitionError> {
    let path = section.at(key);
    let texts = section.texts(key)?;
    for (i, text) in texts.iter().enumerate() {
        let why = if i == MAX_FILES { Some("there are more than 64 entries") } else { fault(text) };
        if let Some(why) = why {
            return Err(DefinitionError::Verdict { path: format!("{path}[{i}]"), why });
        }
    }
    Ok(texts)
}

/// Returns why a pattern may not stay inside the archive, if so.
fn pattern_fault(pattern: &str) -> Option<&'static str> {
    if pattern.is_empty() {
        Some("the pattern is empty")
    } else if pattern.len() > MAX_PATTERN_BYTES {
        Some("the pattern has more than 240 bytes")
    } else if pattern.starts_with('/') || pattern.chars().any(|c| c == '\\' || c.is_control()) {
        Some("the pattern must be relative to the archive's root, with `/` between names")
    } else if pattern.split('/').any(|component| matches!(component, ".." | "." | "")) {
        Some("the pattern must not hold `..`, `.` or empty names: nothing outside the archive is read")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Definition;

    fn read(chain: Value) -> Result<Vec<VerdictEntry>, String> {
        let document = json!({
            "sonobuoy-config": {"driver": "Job", "plugin-name": "p"}, "spec": {}, "plumbline": {"verdict": chain}
        });
        let parsed = Definition::from_json(document).map_err(|error| error.to_string())?;
        assert_eq!(parsed.warnings, []);
        Ok(parsed.definition.plumbline.verdict)
    }

    #[test]
    fn a_chain_is_read_in_its_order_and_written_as_it_was() {
        let chain = json!([
            {"judge": "known-failures", "options": {"strict": true}, "data": ["known.yaml"]},
            {"judge": "checks", "evidence": ["meta/clusterhealth.json", "podlogs/kube-system/etcd-*/logs/*.txt"]},
        ]);
        let read = read(chain.clone()).unwrap();
        assert_eq!(read.iter().map(|entry| entry.judge.as_str()).collect::<Vec<_>>(), ["known-failures", "checks"]);
        assert_eq!(read.iter().map(VerdictEntry::to_json).collect::<Value>(), chain);
    }

    #[test]
    fn what_cannot_be_right_is_named() {
        let told = |entry: Value| read(json!([entry])).unwrap_err();
        assert_eq!(told(json!({})), "`plumbline.verdict[0].judge` is missing, and there is no default");
        assert!(told(json!({"judge": "../x"})).contains("cannot name a module"));
        let told = |key: &str, text: &str| told(json!({"judge": "j", key: [text]}));
        for bad in ["../x", "/etc/passwd", "a//b", "", "a\\b", "a\nb", &"x".repeat(241)] {
            assert!(told("evidence", bad).starts_with("`plumbline.verdict[0].evidence[0]`: the pattern"), "{bad}");
        }
        for bad in ["a/b", "..", ""] {
            assert!(told("data", bad).starts_with("`plumbline.verdict[0].data[0]`: the name"), "{bad}");
        }
        assert!(read(json!(vec![json!({"judge": "j"}); 17])).unwrap_err().contains("more than 16 judges"));
    }
}
