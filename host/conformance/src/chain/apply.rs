//! What was asked for, as entries of a chain.

use std::collections::BTreeMap;

use plumbline_core::definition::{Definition, MAX_JUDGES, VerdictEntry};
use serde_json::{Map, Value, json};

use super::baseline::Baseline;
use super::error::ChainError;
use super::evidence;
use super::list::ListFile;

/// Files of data that one judge may be given.
const MAX_FILES: usize = 64;

/// Bytes of the files of a chain: 16 MiB. They are a part of the definition, which a run writes down several times and reads whole when it goes on.
const MAX_BYTES: usize = 16 << 20;

/// What the results of a plugin are to be judged by. All of it may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chain {
    /// Lists of known failures.
    pub known_failures: Vec<ListFile>,
    /// Lists of flaky tests.
    pub flaky: Vec<ListFile>,
    /// Lists of tests that may be skipped.
    pub allowed_skips: Vec<ListFile>,
    /// Which tests must not be skipped unless they are in such a list: a regular expression; all, without one. Alone it means that none of
    /// these may be skipped.
    pub required: Option<String>,
    /// What failed before.
    pub baseline: Option<Baseline>,
    /// Files of checks.
    pub checks: Vec<ListFile>,
}

impl Chain {
    /// Whether nothing was asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Appends the chain to that of `definition`: lists first, because they give reasons, then what an earlier run says, then checks, which may
    /// count what all of these said. Files become keys of its `config-map`, under their names, or with a number before it where a name is taken.
    ///
    /// # Errors
    /// When there are too many judges, or files for one of them, or too many bytes in them, or when checks name files that no definition
    /// may. The definition is not changed then.
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

/// Whether a definition may hold these entries: the files that checks look at are anybody's patterns, and a run whose definition cannot be read
/// again could neither go on nor be judged anew.
fn readable(entries: &[VerdictEntry]) -> Result<(), ChainError> {
    for VerdictEntry { judge, evidence, .. } in entries {
        let entry = VerdictEntry { judge: judge.clone(), evidence: evidence.clone(), ..VerdictEntry::default() };
        let document = json!({
            "sonobuoy-config": {"driver": "Job", "plugin-name": "plugin"}, "spec": {},
            "plumbline": {"verdict": [entry.to_json()]},
        });
        let refused = |judge: &str, source| ChainError::Evidence { judge: judge.to_owned(), source: Box::new(source) };
        Definition::from_json(document).map_err(|source| refused(judge, source))?;
    }
    Ok(())
}

/// Puts a file among others; gives its name there. One that is there already with the same content is not put there twice.
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
