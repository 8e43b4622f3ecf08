//! Which cases there are.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::error::GoldenError;
use super::project::Project;

/// Where a project keeps its cases.
pub const TESTS_DIR: &str = "tests";
/// Where damaged inputs are kept that a module did not stand, below [`TESTS_DIR`].
pub(crate) const FINDINGS_DIR: &str = ".fuzz";
/// A definition in place of the project's, for one case.
pub(crate) const DEFINITION: &str = "definition.yaml";
/// Options over those of the definition, for one case.
pub(crate) const OPTIONS: &str = "options.yaml";
/// What must come out.
pub(super) const EXPECTED: &str = "expected.yaml";
/// The nodes that an expectations module is told of.
pub(super) const NODES: &str = "nodes.yaml";
/// The finished tree that judges are given.
pub(super) const TREE: &str = "tree.yaml";
/// What else the archive holds that judges may read as evidence, laid out as there.
pub(super) const ARCHIVE: &str = "archive";
/// Results, and what stands in for them.
const RESULTS: [&str; 2] = ["results", "errors"];
/// What makes a directory a case of another kind than one with [`TREE`].
pub(super) const EXCLUSIVE: [&str; 3] = ["results", "errors", NODES];
/// Cases of one project: more than anybody looks at, and a bound on what a wrong directory can hold.
const MAX_CASES: usize = 10_000;

/// One golden case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its name: the directory below `tests/`.
    pub name: String,
    /// Its directory.
    pub dir: PathBuf,
    /// What it is about.
    pub kind: CaseKind,
}

/// What a case is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseKind {
    /// Results become a tree.
    Results,
    /// Nodes become the results that are expected.
    Expectations,
    /// A finished tree becomes a verdict.
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

    /// In one word, for programs.
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
    /// Whether it is a damaged input that was kept: then all that is asked is that the module stands it.
    pub(super) fn is_finding(&self) -> bool {
        self.name.strip_prefix(FINDINGS_DIR).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// The cases of `project` with these names, in their order; without names, all of them, in lexical order. What is below a directory whose name
/// begins with a dot is run only when it is named (`.fuzz/…`).
///
/// # Errors
/// When there is none, or not the one that was named.
pub fn find(project: &Project, names: &[String]) -> Result<Vec<Case>, GoldenError> {
    let tests = project.dir.join(TESTS_DIR);
    let all = all(&tests)?;
    if names.is_empty() {
        return if all.is_empty() { Err(GoldenError::NoCase(tests)) } else { Ok(all) };
    }
    let named = names.iter().map(|name| {
        // As a shell completes it.
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
        // Tests of the language stand here too: a directory that is no case is somebody else's.
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
