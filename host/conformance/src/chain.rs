//! Conversion of command-line options to the chain `verdict` of a definition.
//!
//! [`Chain`] holds the requested lists, baseline and checks. [`Chain::apply`] appends them to the
//! chain of a definition as entries for the built-in judges. It also adds their files to the
//! definition's `config-map`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use plumbline_core::definition::{Definition, DefinitionError, MAX_JUDGES, VerdictEntry};
use plumbline_core::failures::CLASSNAME;
use plumbline_core::rollup::is_failure;
use plumbline_core::{Digest, Item};
use serde_json::{Value, json};

/// Maximum number of data files for one judge.
const MAX_FILES: usize = 64;

/// Maximum total size of a chain's files: 16 MiB. They are part of the definition. A run writes the
/// definition several times and reads all of it when it resumes.
const MAX_BYTES: usize = 16 << 20;
/// Maximum number of failures in a baseline. If more tests fail, the run has another problem. The
/// definition that contains them must stay small.
pub const MAX_FAILURES: usize = 10_000;

/// Maximum total length of their names: 4 MiB, which is 400 bytes per name.
const MAX_NAMES: usize = 4 << 20;
/// Maximum size of a file for a judge: 8 MiB, the limit of the judges. In a cluster, the limit is
/// lower, because a ConfigMap can have at most 1 MiB.
pub const MAX_FILE_BYTES: usize = 8 << 20;

/// Maximum length of a name. Kubernetes allows 253 characters for a key of a ConfigMap, and a
/// number may be added as a prefix.
const MAX_NAME: usize = 200;

/// Maximum depth of a list. Every valid list has two levels.
const MAX_DEPTH: usize = 16;
/// Path of the cluster's health in an archive.
const HEALTH: &str = "meta/clusterhealth.json";

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
            return Err(ChainError::TooManyBytes);
        }
        let mut files = definition.config_map.clone();
        let mut chain = definition.plumbline.verdict.clone();
        let before = chain.len();
        chain.extend(self.entries(&mut files)?);
        if chain.len() > MAX_JUDGES {
            let plugin = definition.name.to_string();
            return Err(ChainError::TooManyJudges { plugin, count: chain.len() });
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
                return Err(ChainError::TooManyFiles { judge, count: lists.len() });
            }
            let data = lists.iter().map(|list| place(files, list)).collect();
            let options = options.as_object().cloned().unwrap_or_default();
            entries.push(VerdictEntry { judge: judge.to_owned(), options, data, evidence });
            Ok(())
        };
        let none = || json!({});
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
            add("checks", none(), &self.checks, evidence_of_checks(&self.checks))?;
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
        Definition::from_json(document)
            .map_err(|source| ChainError::Evidence { judge: judge.clone(), source: Box::new(source) })?;
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

/// A file for a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFile {
    /// Key of the file in a `config-map`: letters, digits, `-`, `_`, `.`.
    name: String,
    /// Content of the file.
    text: String,
}

impl ListFile {
    /// Reads the file at `path` and checks that it is YAML. The judge checks its entries.
    pub fn read(path: &Path) -> Result<Self, ChainError> {
        let failed = |source| ChainError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(ChainError::TooLarge(path.to_owned()));
        }
        let refused = |why: String| ChainError::NotAList { path: path.to_owned(), why };
        let text = String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8".to_owned()))?;
        document(&text).map_err(|why| {
            let quotes = if text.contains("- [") { "; names that begin with `[` must be quoted" } else { "" };
            refused(format!("{why}{quotes}"))
        })?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { name: key(&name), text })
    }

    /// Creates a file with this name and text, without checks.
    pub fn new(name: &str, text: impl Into<String>) -> Self {
        Self { name: key(name), text: text.into() }
    }
}

/// Parses the text as a document. An empty text is `null`.
fn document(text: &str) -> Result<Value, String> {
    let bytes = text.len();
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: bytes.saturating_mul(2).saturating_add(64),
            max_nodes: bytes.saturating_add(64),
            max_total_scalar_bytes: bytes.saturating_mul(2).saturating_add(64),
            max_depth: MAX_DEPTH,
            max_aliases: 1000,
            max_anchors: 1000,
        },
        emit_comments: false,
        with_snippet: false,
    };
    let document: Option<Value> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| plain(&error.to_string()))?;
    Ok(document.unwrap_or_default())
}

/// Reduces a message of the parser to one line, without hints at options of the parser.
fn plain(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.replace("; use from_str_multiple or from_str_multiple_with_options", "")
        .replace(", set DuplicateKeyPolicy in Options if acceptable", "")
}

/// Returns a valid key of a ConfigMap, with other characters replaced by `-`.
fn key(name: &str) -> String {
    let good = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = name.chars().map(good).collect();
    // Keep the end of the name, which is the more specific part.
    let from = name.len().saturating_sub(MAX_NAME);
    match name.get(from..).unwrap_or_default().trim_start_matches('.') {
        "" => "list.yaml".to_owned(),
        name => name.to_owned(),
    }
}

/// Failures of an earlier run, with the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// Names of tests.
    failed: Vec<String>,
    /// The source, such as `202611201300.tar.gz (sha256 0123…)`.
    source: String,
}

impl Baseline {
    /// Collects the leaves of `root` that failed or timed out. Names are without `[It] `, and with
    /// the class in parentheses if they have one. `archive` is the file or directory that the tree
    /// comes from. For a file, its digest becomes part of the source.
    pub fn of_tree(root: &Item, archive: &Path) -> Result<Self, ChainError> {
        let failed: BTreeSet<Cow<'_, str>> = root
            .leaves()
            .filter(|item| is_failure(&item.status))
            .map(|item| match item.meta.get(CLASSNAME) {
                Some(class) => Cow::Owned(format!("{} ({class})", plain_name(&item.name))),
                None => Cow::Borrowed(plain_name(&item.name)),
            })
            .collect();
        let name = archive
            .file_name()
            .map_or_else(|| archive.display().to_string(), |name| name.to_string_lossy().into_owned());
        let failed = bounded(failed.into_iter().map(Cow::into_owned).collect(), &name)?;
        let source = if archive.is_dir() {
            name
        } else {
            let digest = File::open(archive).and_then(Digest::of_reader);
            let digest = digest.map_err(|source| ChainError::Read { path: archive.to_owned(), source })?;
            format!("{name} (sha256 {})", digest.hex())
        };
        Ok(Self { failed, source })
    }

    /// Takes names of tests, as [`Baseline::of_tree`] forms them. `source` says where they come
    /// from.
    pub fn of_names(failed: BTreeSet<String>, source: String) -> Result<Self, ChainError> {
        let failed = bounded(failed.into_iter().collect(), &source)?;
        Ok(Self { failed, source })
    }

    /// Returns the number of failed tests.
    pub fn len(&self) -> usize {
        self.failed.len()
    }

    /// Returns whether no test failed.
    pub fn is_empty(&self) -> bool {
        self.failed.is_empty()
    }
}

fn bounded(failed: Vec<String>, source: &str) -> Result<Vec<String>, ChainError> {
    if failed.len() > MAX_FAILURES {
        return Err(ChainError::TooManyFailures { archive: source.to_owned(), count: failed.len() });
    }
    if failed.iter().map(String::len).sum::<usize>() > MAX_NAMES {
        return Err(ChainError::TooLongNames(source.to_owned()));
    }
    Ok(failed)
}

/// Normalizes a name as judges do: without a leading `[It] ` and surrounding whitespace.
fn plain_name(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix("[It] ").map_or(name, str::trim_start)
}

/// Returns the patterns of the archive files that the checks in `files` read, in lexical order.
/// Invalid checks are ignored, because the judge reports them.
fn evidence_of_checks(files: &[ListFile]) -> Vec<String> {
    let mut patterns = BTreeSet::new();
    for file in files {
        let document = document(&file.text).unwrap_or_default();
        let checks = match &document {
            Value::Object(fields) => fields.get("checks").and_then(Value::as_array),
            document => document.as_array(),
        };
        for check in checks.into_iter().flatten() {
            if check.get("healthy").or(check.get("unhealthy")).is_some() {
                patterns.insert(HEALTH.to_owned());
            }
            if let Some(files) = check.pointer("/log/files").and_then(Value::as_str) {
                patterns.insert(files.to_owned());
            }
        }
    }
    patterns.into_iter().collect()
}

/// Error while building a chain.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// A file is not readable.
    #[error("failed to read `{}`: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// A file is too large for a list.
    #[error("`{}` is too large for a list: more than {} MiB", .0.display(), MAX_FILE_BYTES >> 20)]
    TooLarge(PathBuf),
    /// A file is not a valid list.
    #[error("invalid list `{}`: {why}", path.display())]
    NotAList {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong, as a phrase.
        why: String,
    },
    /// An archive has too many failures for a baseline.
    #[error("{count} tests failed in `{archive}`: a baseline has at most {MAX_FAILURES}")]
    TooManyFailures {
        /// The archive.
        archive: String,
        /// Number of failures.
        count: usize,
    },
    /// A judge has more files than a definition may list.
    #[error("judge `{judge}` gets {count} files: the limit is {MAX_FILES}")]
    TooManyFiles {
        /// Name of the judge.
        judge: String,
        /// Number of files.
        count: usize,
    },
    /// The files are too large for a definition.
    #[error("the files of a chain have more than {} MiB together", MAX_BYTES >> 20)]
    TooManyBytes,
    /// The names of the failures are too long.
    #[error("the names of failed tests in `{}` have more than {} MiB", .0, MAX_NAMES >> 20)]
    TooLongNames(String),
    /// A judge refers to files that a definition must not use.
    #[error("failed to pass files to judge `{judge}`: {source}")]
    Evidence {
        /// Name of the judge.
        judge: String,
        /// What is wrong with the files.
        source: Box<DefinitionError>,
    },
    /// The chain has too many judges.
    #[error("the chain of plugin `{plugin}` has {count} judges: the limit is {MAX_JUDGES}")]
    TooManyJudges {
        /// Name of the plugin.
        plugin: String,
        /// Number of judges.
        count: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_keys() {
        for (name, is) in [
            ("known.yaml", "known.yaml"),
            ("known failures (März).yaml", "known-failures--M-rz-.yaml"),
            ("..", "list.yaml"),
            (".hidden.yaml", "hidden.yaml"),
        ] {
            assert_eq!(key(name), is);
        }
        assert_eq!(key(&format!("{}.yaml", "x".repeat(300))).len(), MAX_NAME);
    }
}
