//! Conversion of a requested chain to entries of a definition.

use std::collections::BTreeMap;

use plumbline_core::definition::{Definition, MAX_JUDGES, VerdictEntry};
use serde_json::{Map, Value, json};

use super::baseline::Baseline;
use super::error::ChainError;
use super::evidence;
use super::list::ListFile;

/// Maximum number of data files for one judge.
const MAX_FILES: usize = 64;

/// Maximum total size of a chain's files: 16 MiB. They are part of the definition. A run writes the
/// definition several times and reads all of it when it resumes.
const MAX_BYTES: usize = 16 << 20;

/// The judges and lists that a user requests for the results of a plugin. All fields are optional.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chain {
    /// Lists of known failures.
    pub known_failures: Vec<ListFile>,
    /// Lists of flaky tests.
    pub flaky: Vec<ListFile>,
    /// Lists of tests that may be skipped.
    pub allowed_skips: Vec<ListFile>,
    /// Regular expression of tests that must not be skipped unless a list allows it. Without it,
    /// all tests are required. Without a list, none of the matching tests may be skipped.
    pub required: Option<String>,
    /// Failures of an earlier run.
    pub baseline: Option<Baseline>,
    /// Files with checks.
    pub checks: Vec<ListFile>,
}

impl Chain {
    /// Returns whether nothing is requested.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Appends the chain to that of `definition`. Lists come first, because they give reasons. Then
    /// comes the baseline, and then the checks, which can count the rulings of all others.
    ///
    /// Files become keys of the definition's `config-map` under their names. If a name is taken, it
    /// gets a number as a prefix.
    ///
    /// # Errors
    /// When there are too many judges, files for one judge, or bytes, or when checks refer to files
    /// that a definition must not use. The definition is then unchanged.
    pub fn apply(&self, definition: &mut Definition) -> Result<(), ChainError> {
        let bytes = self.files().map(|list| list.text.len()).fold(0, usize::saturating_add);
        if bytes > MAX_BYTES {
            return Err(ChainError::TooManyBytes { max: MAX_BYTES });
        }
        let mut files = definition.config_map.clone();
        let mut chain = definition.plumbline.verdict.clone();
        let before = chain.len();
        chain.extend(self.entries(&mut files)?);
        if chain.len() > MAX_JUDGES {
            let plugin = definition.name.to_string();
            return Err(ChainError::TooManyJudges { plugin, count: chain.len(), max: MAX_JUDGES });
        }
        readable(chain.get(before..).unwrap_or_default())?;
        definition.config_map = files;
        definition.plumbline.verdict = chain;
        Ok(())
    }

    fn files(&self) -> impl Iterator<Item = &ListFile> {
        [&self.known_failures, &self.flaky, &self.allowed_skips, &self.checks].into_iter().flatten()
    }

    fn entries(&self, files: &mut BTreeMap<String, String>) -> Result<Vec<VerdictEntry>, ChainError> {
        let mut entries = Vec::new();
        let mut add = |judge: &str, options: Value, lists: &[ListFile], evidence: Vec<String>| {
            if lists.len() > MAX_FILES {
                let judge = judge.to_owned();
                return Err(ChainError::TooManyFiles { judge, count: lists.len(), max: MAX_FILES });
            }
            let data = lists.iter().map(|list| place(files, list)).collect();
            let options = options.as_object().cloned().unwrap_or_default();
            entries.push(VerdictEntry { judge: judge.to_owned(), options, data, evidence });
            Ok(())
        };
        let none = || Value::Object(Map::new());
        if !self.known_failures.is_empty() {
            add("known-failures", none(), &self.known_failures, Vec::new())?;
        }
        if !self.flaky.is_empty() {
            add("flaky", none(), &self.flaky, Vec::new())?;
        }
        if !self.allowed_skips.is_empty() || self.required.is_some() {
            let options = self.required.as_ref().map_or_else(none, |required| json!({"required": required}));
            add("allowed-skips", options, &self.allowed_skips, Vec::new())?;
        }
        if let Some(Baseline { failed, source }) = &self.baseline {
            add("baseline", json!({"failed": failed, "source": source}), &[], Vec::new())?;
        }
        if !self.checks.is_empty() {
            add("checks", none(), &self.checks, evidence::of_checks(&self.checks))?;
        }
        Ok(entries)
    }
}

/// Checks that a definition can contain these entries. The files in checks are patterns from users.
/// If the definition could not be read again, the run could neither resume nor be judged again.
fn readable(entries: &[VerdictEntry]) -> Result<(), ChainError> {
    for VerdictEntry { judge, evidence, .. } in entries {
        let entry = VerdictEntry { judge: judge.clone(), evidence: evidence.clone(), ..VerdictEntry::default() };
        let document = json!({
            "sonobuoy-config": {"driver": "Job", "plugin-name": "plugin"}, "spec": {},
            "plumbline": {"verdict": [entry]},
        });
        let refused = |judge: &str, source| ChainError::Evidence { judge: judge.to_owned(), source: Box::new(source) };
        Definition::from_json(document).map_err(|source| refused(judge, source))?;
    }
    Ok(())
}

/// Adds a file to `files` and returns its key. A file with the same name and content is not added
/// twice.
fn place(files: &mut BTreeMap<String, String>, list: &ListFile) -> String {
    let numbered = (2..).map(|number: u64| format!("{number}-{}", list.name));
    for name in std::iter::once(list.name.clone()).chain(numbered) {
        match files.get(&name) {
            Some(text) if *text != list.text => {}
            _ => {
                files.insert(name.clone(), list.text.clone());
                return name;
            }
        }
    }
    list.name.clone()
}
