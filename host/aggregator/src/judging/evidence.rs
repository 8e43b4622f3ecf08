//! The files that a judge may read: its data, and the archive's files that its patterns match.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use globset::GlobSet;
use plumbline_archive::layout::VERDICT_FILE;
use plumbline_sandbox::InputFile;
use rustix::fs::OFlags;

use super::plan::PlannedJudge;

/// Maximum number of archive files for one judge. A pattern that matches more is a mistake. With
/// only a part of its evidence, a judge could be wrong.
pub const MAX_EVIDENCE_FILES: usize = 10_000;

/// Maximum depth of directories below the archive's root.
const MAX_DEPTH: usize = 64;

/// Returns a predicate for the archive files that any judge of a chain may read, for callers that
/// have to extract them first.
pub fn evidence_patterns(judges: &[PlannedJudge]) -> impl Fn(&str) -> bool {
    let sets: Vec<GlobSet> = judges.iter().map(|judge| judge.evidence.clone()).collect();
    move |path: &str| is_evidence(path) && sets.iter().any(|set| set.is_match(path))
}

/// Returns whether a file can be evidence. Verdicts cannot, so that judging again has the same
/// result.
fn is_evidence(path: &str) -> bool {
    !path.ends_with(&format!("/{VERDICT_FILE}"))
}

/// Returns the files for `judge`: `data/NAME` first, then those below `root`, each group in lexical
/// order. The error is a sentence.
pub(super) fn evidence(
    judge: &PlannedJudge,
    data: &BTreeMap<String, String>,
    root: &Path,
) -> Result<Vec<InputFile>, String> {
    let mut names = judge.entry.data.clone();
    names.sort_unstable();
    names.dedup();
    let mut files = Vec::new();
    for name in names {
        let content = data
            .get(&name)
            .cloned()
            .ok_or_else(|| format!("its data `{name}` is not a key of `config-map`"))?
            .into_bytes();
        files.push(InputFile {
            path: format!("data/{name}"),
            size: content.len() as u64,
            open: Box::new(move || Ok(Box::new(Cursor::new(content)) as Box<dyn Read + Send>)),
        });
    }
    if judge.evidence.is_empty() {
        return Ok(files);
    }
    let mut found = Vec::new();
    walk(root, "", 0, &judge.evidence, &mut found).map_err(|error| format!("failed to list its evidence: {error}"))?;
    if found.len() > MAX_EVIDENCE_FILES {
        return Err(format!(
            "its evidence is more than {MAX_EVIDENCE_FILES} files: name fewer in `evidence` ({})",
            judge.entry.evidence.join(", ")
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

/// Opens a file, unless it has been replaced by a link.
fn open(path: &Path) -> io::Result<File> {
    #[expect(clippy::cast_possible_wrap, reason = "a flag of the kernel, passed on as it is")]
    OpenOptions::new().read(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)
}

/// Collects the matching regular files below `dir`, without following links. It stops at one more
/// than the limit, which proves that there are too many.
fn walk(
    dir: &Path,
    relative: &str,
    depth: usize,
    patterns: &GlobSet,
    found: &mut Vec<(String, PathBuf, u64)>,
) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Ok(());
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        // A name that is not UTF-8 cannot match a pattern.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if relative.is_empty() { name } else { format!("{relative}/{name}") };
        let metadata = fs::symlink_metadata(entry.path())?;
        if metadata.is_dir() {
            walk(&entry.path(), &path, depth + 1, patterns, found)?;
        } else if metadata.is_file() && patterns.is_match(&path) && is_evidence(&path) {
            found.push((path, entry.path(), metadata.len()));
        }
        if found.len() > MAX_EVIDENCE_FILES {
            return Ok(());
        }
    }
    Ok(())
}
