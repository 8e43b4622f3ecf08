//! Finds the cases of a project.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::error::GoldenError;
use super::project::Project;

/// The directory of a project's cases.
pub const TESTS_DIR: &str = "tests";
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
const RESULTS: [&str; 2] = ["results", "errors"];
/// The entries that a case with [`TREE`] must not have.
pub(super) const EXCLUSIVE: [&str; 3] = ["results", "errors", NODES];
/// Maximum number of cases in a project, which bounds the work on a wrong directory.
const MAX_CASES: usize = 10_000;

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
}

impl CaseKind {
    fn of(dir: &Path) -> Option<Self> {
        if dir.join(NODES).is_file() {
            return Some(Self::Expectations);
        }
        if dir.join(TREE).is_file() {
            return Some(Self::Judgement);
        }
        RESULTS.iter().any(|name| dir.join(name).is_dir()).then_some(Self::Results)
    }

    /// Returns the kind as one word, for machine-readable output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Results => "results",
            Self::Expectations => "expectations",
            Self::Judgement => "judgement",
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
/// all cases in lexical order.
///
/// Cases below a directory whose name starts with a dot are run only if they are named (`.fuzz/…`).
///
/// # Errors
/// There is no case, or none with a given name.
pub fn find(project: &Project, names: &[String]) -> Result<Vec<Case>, GoldenError> {
    let tests = project.dir.join(TESTS_DIR);
    let all = all(&tests)?;
    if names.is_empty() {
        return if all.is_empty() { Err(GoldenError::NoCase(tests)) } else { Ok(all) };
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
                GoldenError::UnknownCase { name: name.clone(), known }
            })
    });
    named.collect()
}

fn all(tests: &Path) -> Result<Vec<Case>, GoldenError> {
    let failed = |source| GoldenError::Read { path: tests.to_owned(), source };
    let entries = match fs::read_dir(tests) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut cases = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let (dir, Ok(name)) = (entry.path(), entry.file_name().into_string()) else { continue };
        // Skip directories that are not cases: the tests of the module's language are here too.
        if name.starts_with('.') {
            continue;
        }
        if let Some(kind) = CaseKind::of(&dir) {
            cases.push(Case { name, dir, kind });
        }
        if cases.len() > MAX_CASES {
            return Err(GoldenError::TooMany { path: tests.to_owned(), limit: MAX_CASES });
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}
