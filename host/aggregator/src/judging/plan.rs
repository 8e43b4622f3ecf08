//! The judges of a plugin and what they may read: their data, and the archive's files that their
//! patterns match.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use globset::GlobSet;
use jiff::civil::Date;
use plumbline_archive::layout::{META_QUERY_TIME, VERDICT_FILE};
use plumbline_core::ModuleLimits;
use plumbline_core::definition::VerdictEntry;
use plumbline_sandbox::{InputFile, check_options};
use rustix::fs::OFlags;
use serde_json::{Map, Value};

use crate::causes::CauseFinder;
use crate::modules::{LazyModule, Modules};
use crate::postprocess::file_patterns;
use crate::source::{LimitPolicy, PlanError, Source};

/// Maximum number of archive files for one judge, which could be wrong with a part of them.
pub const MAX_EVIDENCE_FILES: usize = 10_000;
/// Directories of the survey, which may be incomplete.
const SURVEYED: [&str; 3] = ["podlogs", "hosts", "resources"];
/// Option with the day.
const TODAY: &str = "today";

/// A resolved judge of a chain.
#[derive(Clone)]
pub struct PlannedJudge {
    /// Entry in the definition.
    pub entry: VerdictEntry,
    /// The module.
    pub module: LazyModule,
    /// Limits of one call.
    pub limits: ModuleLimits,
    /// Finds the causes of failures for all judges of the chain.
    pub causes: Option<CauseFinder>,
    /// Patterns of archive files that it may read.
    pub evidence: GlobSet,
    /// Whether the judge gets the day, as its option `today`.
    pub sets_today: bool,
    /// Problems with its schema of options, one sentence each.
    pub warnings: Vec<String>,
}

/// Resolves the judges of `source` in order, and checks their inputs.
///
/// # Errors
/// When a judge is unknown or unusable, rejects its options, or has invalid data or patterns.
pub fn plan_judges(modules: &Modules, policy: &LimitPolicy, source: &Source) -> Result<Vec<PlannedJudge>, PlanError> {
    let chain = source.definition.plumbline.verdict.iter().enumerate();
    chain.map(|(at, entry)| plan_judge(modules, policy, source, at, entry)).collect()
}

fn plan_judge(
    modules: &Modules,
    policy: &LimitPolicy,
    source: &Source,
    at: usize,
    entry: &VerdictEntry,
) -> Result<PlannedJudge, PlanError> {
    let definition = &source.definition;
    let plugin = || definition.name.clone();
    let refused = |key: &str, why: String| PlanError::Verdict {
        plugin: plugin(),
        path: format!("plumbline.verdict[{at}].{key}"),
        why,
    };
    let module = modules
        .judge(source.bundle.as_deref(), &entry.judge)
        .map_err(|source| PlanError::Module { plugin: plugin(), source })?;
    let limits = policy.limits(definition, module.info())?;
    let causes = CauseFinder::new(modules, source.bundle.as_deref(), &limits)
        .map_err(|source| PlanError::Module { plugin: plugin(), source })?;
    for name in &entry.data {
        if !definition.config_map.contains_key(name) {
            let known: Vec<&str> = definition.config_map.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "it has no keys".to_owned() } else { known.join(", ") };
            return Err(refused("data", format!("`{name}` is not a key of `config-map` ({known})")));
        }
    }
    let entry = entry.clone();
    let mut warnings = Vec::new();
    let mut sets_today = false;
    if let Some(schema) = &module.info().schema {
        sets_today = schema.pointer("/properties/today").is_some() && !entry.options.contains_key(TODAY);
        let mut options = entry.options.clone();
        if sets_today {
            // An arbitrary day. The actual one is set when the judge runs.
            set_today(&mut options, Date::constant(2026, 1, 1));
        }
        let checked = check_options(&options, &[(entry.judge.as_str(), schema)]);
        let mut problems = checked.problems;
        if !problems.is_empty() {
            for problem in &mut problems {
                let below = problem.path.strip_prefix("plumbline.").unwrap_or(&problem.path).to_owned();
                problem.path = format!("plumbline.verdict[{at}].{below}");
            }
            return Err(PlanError::Options { plugin: plugin(), problems });
        }
        warnings = checked.warnings;
    }
    let mut patterns = entry.evidence.clone();
    if patterns.iter().any(|pattern| may_match_survey(pattern)) {
        // It lists files that are missing.
        patterns.push(META_QUERY_TIME.to_owned());
    }
    let evidence = file_patterns(&patterns).map_err(|error| refused("evidence", error.to_string()))?;
    Ok(PlannedJudge { entry, module, limits, causes, evidence, sets_today, warnings })
}

/// Returns whether a pattern may match files of the survey. If that is not certain, it may.
fn may_match_survey(pattern: &str) -> bool {
    let first = pattern.split('/').next().unwrap_or_default();
    first.contains(['*', '?', '[', '{', '\\']) || SURVEYED.iter().any(|dir| pattern.contains(dir))
}

/// Sets the day in a judge's options, because entries of lists can expire.
pub(super) fn set_today(options: &mut Map<String, Value>, day: Date) {
    options.insert(TODAY.to_owned(), Value::from(day.to_string()));
}

impl PlannedJudge {
    /// Returns the files for the judge: `data/NAME`, then those below `root`, each in lexical
    /// order.
    pub(super) fn evidence(&self, data: &BTreeMap<String, String>, root: &Path) -> Result<Vec<InputFile>, String> {
        let mut names = self.entry.data.clone();
        names.sort_unstable();
        names.dedup();
        let mut files = Vec::new();
        for name in names {
            let content = data.get(&name).ok_or_else(|| format!("its data `{name}` is not a key of `config-map`"))?;
            let content = content.clone().into_bytes();
            files.push(InputFile {
                path: format!("data/{name}"),
                size: content.len() as u64,
                open: Box::new(move || Ok(Box::new(Cursor::new(content)) as Box<dyn Read + Send>)),
            });
        }
        if self.evidence.is_empty() {
            return Ok(files);
        }
        let mut found = walk(root, &self.evidence).map_err(|error| format!("failed to list its evidence: {error}"))?;
        if found.len() > MAX_EVIDENCE_FILES {
            return Err(format!(
                "its evidence is more than {MAX_EVIDENCE_FILES} files: name fewer in `evidence` ({})",
                self.entry.evidence.join(", ")
            ));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        files.extend(found.into_iter().map(|(path, absolute, size)| InputFile {
            path,
            size,
            open: Box::new(move || open(&absolute).map(|file| Box::new(file) as Box<dyn Read + Send>)),
        }));
        Ok(files)
    }
}

/// Returns a predicate for the archive files that any judge of a chain may read.
pub fn evidence_patterns(judges: &[PlannedJudge]) -> impl Fn(&str) -> bool {
    let sets: Vec<GlobSet> = judges.iter().map(|judge| judge.evidence.clone()).collect();
    move |path: &str| is_evidence(path) && sets.iter().any(|set| set.is_match(path))
}

/// Returns whether a file can be evidence. Verdicts cannot, so that judging again has the same
/// result.
fn is_evidence(path: &str) -> bool {
    !path.ends_with(&format!("/{VERDICT_FILE}"))
}

/// Opens a file, unless it has been replaced by a link.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)
}

/// Returns the matching regular files below `root`, at most one more than the limit.
///
/// # Errors
/// Returns an error if a directory is not readable, or a matching file has a name that a judge cannot
/// get.
fn walk(root: &Path, patterns: &GlobSet) -> io::Result<Vec<(String, PathBuf, u64)>> {
    let mut found = Vec::new();
    let mut left = vec![PathBuf::new()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(root.join(&directory))? {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            let metadata = fs::symlink_metadata(entry.path())?;
            if metadata.is_dir() {
                left.push(path);
            } else if metadata.is_file() && patterns.is_match(&path) {
                let Some(name) = path.to_str() else {
                    return Err(io::Error::other(format!("the name of `{}` is not UTF-8", path.display())));
                };
                if is_evidence(name) {
                    found.push((name.to_owned(), entry.path(), metadata.len()));
                }
            }
            if found.len() > MAX_EVIDENCE_FILES {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn patterns_that_may_match_the_survey_are_recognized() {
        let direct = ["podlogs/x/*", "hosts/**", "resources/ns/*"];
        let wild = ["**", "{a,podlogs}/**", "?odlogs/*", "[p]odlogs/*", "pod*/**", "podlog?/x/*", "pod\\logs/**"];
        for pattern in direct.into_iter().chain(wild) {
            assert!(may_match_survey(pattern), "{pattern}");
        }
        for pattern in ["meta/clusterhealth.json", "plugins/*/results/**"] {
            assert!(!may_match_survey(pattern), "{pattern}");
        }
    }

    #[test]
    fn no_evidence_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &Path| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        let patterns = file_patterns(&["podlogs/**".to_owned()]).unwrap();
        let names =
            || walk(root.path(), &patterns).map(|found| found.into_iter().map(|(name, ..)| name).collect::<Vec<_>>());
        let deep = format!("podlogs/{}c.txt", "d/".repeat(100));
        write(&root.path().join(&deep));
        write(&root.path().join("other/c.txt"));
        assert_eq!(names().unwrap(), [deep]);
        write(&root.path().join("podlogs").join(std::ffi::OsStr::from_bytes(b"\xff.txt")));
        assert!(names().unwrap_err().to_string().contains("is not UTF-8"));
    }
}
