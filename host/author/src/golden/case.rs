//! A plugin and its golden cases.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use plumbline_aggregator::Source;
use plumbline_bundle::DEFINITION_FILES;
use plumbline_core::definition::{Definition, MAX_YAML_BYTES, Warning};
use plumbline_core::{Node, NodeName, Taint};
use serde::Deserialize;

use crate::error::AuthorError;
use crate::snapshot::read;

/// The directory of a project's cases.
pub(crate) const TESTS_DIR: &str = "tests";
/// The directory below [`TESTS_DIR`] for damaged inputs that made a module fail.
pub(crate) const FINDINGS_DIR: &str = ".fuzz";
/// The file with the definition of one case, which replaces that of the project.
pub(crate) const DEFINITION: &str = "definition.yaml";
/// The file with the options of one case, which override those of the definition.
pub(crate) const OPTIONS: &str = "options.yaml";
/// The file with the expected output.
pub(super) const EXPECTED: &str = "expected.yaml";
/// The file with the nodes for an expectations module.
pub(super) const NODES: &str = "nodes.yaml";
/// The file with the finished tree for judges.
pub(super) const TREE: &str = "tree.yaml";
/// The directory with other files of the archive that judges may read as evidence.
pub(super) const ARCHIVE: &str = "archive";
/// The directories of results and errors.
pub(super) const RESULTS: [&str; 2] = ["results", "errors"];
/// The directory with the files of a node for a check, laid out as on the node.
pub(super) const FILES: &str = "files";
/// The file with owners and modes of files for a check.
pub(super) const OWNERS: &str = "owners.yaml";
/// The file with recorded answers of hosts for a check.
pub(super) const NETWORK: &str = "network.yaml";
/// The directory with recorded objects of a cluster for a check.
pub(super) const OBJECTS: &str = "objects";
/// The file with environment variables for a check.
pub(super) const ENV: &str = "env.yaml";
/// The file with the time that a check sees, in RFC 3339.
pub(super) const TIME: &str = "time.txt";
/// The input of a check. One of these is enough.
pub(crate) const CHECK_INPUT: [&str; 6] = [FILES, OWNERS, OBJECTS, NETWORK, ENV, TIME];
/// Maximum number of cases in a project, which bounds the work on a wrong directory.
const MAX_CASES: usize = 10_000;

/// A directory with a definition, its modules and its cases.
#[derive(Debug, Clone)]
pub struct Project {
    /// The directory, as an absolute path.
    pub dir: PathBuf,
    /// The plugin.
    pub source: Source,
    /// Warnings about the definition.
    pub warnings: Vec<Warning>,
}

impl Project {
    /// Reads the definition in `dir`.
    pub fn open(dir: &Path) -> Result<Self, AuthorError> {
        let absolute = dir.canonicalize().map_err(AuthorError::unreadable(dir))?;
        let path = DEFINITION_FILES.iter().map(|name| absolute.join(name)).find(|path| path.is_file());
        let path = path.ok_or_else(|| {
            AuthorError::input(format!("directory `{}` has no `plugin.yaml`", dir.display()))
                .hint("pass the directory of a plugin, with its definition and modules")
        })?;
        let (definition, warnings) = definition(&path)?;
        let source = Source { definition: Arc::new(definition), bundle: Some(absolute.clone()) };
        Ok(Self { dir: absolute, source, warnings })
    }
}

pub(super) fn definition(path: &Path) -> Result<(Definition, Vec<Warning>), AuthorError> {
    let text = read(path, MAX_YAML_BYTES as u64).map_err(AuthorError::unreadable(path))?;
    let parsed = Definition::parse_bytes(&text)
        .map_err(|error| AuthorError::input(format!("invalid definition `{}`", path.display())).because(error))?;
    Ok((parsed.definition, parsed.warnings))
}

/// One golden case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The name: the path below `tests/`.
    pub name: String,
    /// The directory of the case.
    pub dir: PathBuf,
    /// The kind of the case.
    pub kind: CaseKind,
}

/// The kind of a case, by its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseKind {
    /// Results, from which a post-processor makes a tree.
    Results,
    /// Nodes, from which an expectations module makes the list of expected results.
    Expectations,
    /// A finished tree, from which judges make a verdict.
    Judgement,
    /// Files, objects and variables, from which a check makes its items.
    Check,
}

impl CaseKind {
    fn of(dir: &Path) -> Option<Self> {
        if dir.join(NODES).is_file() {
            return Some(Self::Expectations);
        }
        if dir.join(TREE).is_file() {
            return Some(Self::Judgement);
        }
        if RESULTS.iter().any(|name| dir.join(name).is_dir()) {
            return Some(Self::Results);
        }
        CHECK_INPUT.iter().any(|name| dir.join(name).exists()).then_some(Self::Check)
    }

    /// Returns the kind as one word, for machine-readable output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Results => "results",
            Self::Expectations => "expectations",
            Self::Judgement => "judgement",
            Self::Check => "check",
        }
    }
}

impl Case {
    /// Returns whether this is a damaged input of a fuzz run. Such a case only requires that the
    /// module does not fail.
    pub(super) fn is_finding(&self) -> bool {
        self.name.strip_prefix(FINDINGS_DIR).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// Returns the cases of `project` with these names, in the given order. Without names, it returns
/// all cases in lexical order. Fails if no case exists, or if a directory has an expected output
/// and no input.
///
/// Cases below a directory whose name starts with a dot are run only if they are named (`.fuzz/…`).
pub fn find(project: &Project, names: &[String]) -> Result<Vec<Case>, AuthorError> {
    let tests = project.dir.join(TESTS_DIR);
    let Found { cases: all, without_input } = all(&tests)?;
    if names.is_empty()
        && let Some(name) = without_input
    {
        let what = format!("case `{name}` has an `{EXPECTED}` and nothing to read");
        return Err(AuthorError::input(what).hint(
            "add its input, or remove the directory; Git keeps no empty directory, so put a file into an empty one",
        ));
    }
    if names.is_empty() && all.is_empty() {
        let what = format!(
            "`{}` has no case: a case is a directory with `results`, `errors`, `nodes.yaml`, `tree.yaml`, or for checks `files`, `objects` or `env.yaml` in it",
            tests.display()
        );
        return Err(AuthorError::input(what).hint(
            "put files of the plugin below `tests/NAME/results/global/` (judges: `tests/NAME/tree.yaml`, checks: `tests/NAME/files/`), then run `plumbline plugin test --bless`",
        ));
    }
    if names.is_empty() {
        return Ok(all);
    }
    let named = names.iter().map(|name| {
        // Accept the path that a shell completes.
        let short = name.trim_end_matches('/');
        let short = short.strip_prefix("./").unwrap_or(short);
        let short = short.strip_prefix("tests/").unwrap_or(short);
        let plain = Path::new(short).components().all(|part| matches!(part, Component::Normal(_)));
        let dir = tests.join(short);
        CaseKind::of(&dir)
            .filter(|_| plain && !short.is_empty())
            .map(|kind| Case { name: short.to_owned(), dir, kind })
            .ok_or_else(|| {
                let known: Vec<&str> = all.iter().map(|case| case.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                AuthorError::input(format!("unknown case `{name}` (cases: {known})"))
            })
    });
    named.collect()
}

/// What is below `tests/`.
#[derive(Default)]
struct Found {
    /// The cases in lexical order.
    cases: Vec<Case>,
    /// The name of a directory that has an expected output and no input: the first one in lexical
    /// order. To skip it would look as if its test had passed.
    without_input: Option<String>,
}

fn all(tests: &Path) -> Result<Found, AuthorError> {
    let failed = AuthorError::unreadable(tests);
    let entries = match fs::read_dir(tests) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::default()),
        entries => entries.map_err(&failed)?,
    };
    let (mut cases, mut without_input) = (Vec::new(), None::<String>);
    for entry in entries {
        let entry = entry.map_err(&failed)?;
        let (dir, Ok(name)) = (entry.path(), entry.file_name().into_string()) else { continue };
        // Skip directories that are not cases: the tests of the module's language are here too.
        if name.starts_with('.') {
            continue;
        }
        match CaseKind::of(&dir) {
            Some(kind) => cases.push(Case { name, dir, kind }),
            None if dir.join(EXPECTED).exists() && without_input.as_ref().is_none_or(|first| name < *first) => {
                without_input = Some(name);
            }
            None => {}
        }
        if cases.len() > MAX_CASES {
            return Err(AuthorError::input(format!("`{}` has more than {MAX_CASES} cases", tests.display())));
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Found { cases, without_input })
}

/// A node in `nodes.yaml`. The defaults are those of most nodes: ready, schedulable, Linux on amd64.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: NodeName,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    taints: Vec<Taint>,
    ready: Option<bool>,
    #[serde(default)]
    unschedulable: bool,
    os: Option<String>,
    arch: Option<String>,
}

/// Parses `nodes.yaml`, the nodes of a case. The error is a sentence.
pub(super) fn parse_nodes(text: &[u8]) -> Result<Vec<Node>, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let written: Vec<Written> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let node = |node: Written| Node {
        name: node.name,
        labels: node.labels,
        taints: node.taints,
        ready: node.ready.unwrap_or(true),
        unschedulable: node.unschedulable,
        os: node.os.unwrap_or_else(|| "linux".to_owned()),
        arch: node.arch.unwrap_or_else(|| "amd64".to_owned()),
    };
    Ok(written.into_iter().map(node).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_enough_and_a_misspelt_key_is_named() {
        let nodes = parse_nodes(
            b"- name: a\n- {name: b, ready: false, labels: {zone: x}, taints: [{key: k, effect: NoSchedule}]}\n",
        )
        .unwrap();
        assert!(nodes[0].ready && nodes[0].os == "linux" && nodes[0].arch == "amd64");
        assert!(!nodes[1].ready && nodes[1].labels["zone"] == "x" && nodes[1].taints[0].value.is_empty());
        assert!(parse_nodes(b"- {name: a, redy: true}").unwrap_err().contains("redy"));
        assert!(parse_nodes(b"").unwrap().is_empty());
        assert!(parse_nodes(b"- name: Not A Name").is_err());
    }
}
