//! Checks the links between Markdown files of the repository: the file exists, and the heading too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// Returns the broken links in `files`, as `FILE:LINE: TARGET`. Links to other sites are not
/// checked.
pub(crate) fn broken(root: &Path, files: &[PathBuf]) -> Result<Vec<String>, Error> {
    let mut texts = BTreeMap::new();
    for file in files {
        texts.insert(file.clone(), fs::read_to_string(root.join(file)).map_err(Error::io("read", file))?);
    }
    let headings: BTreeMap<&Path, BTreeSet<String>> =
        texts.iter().map(|(file, text)| (file.as_path(), headings(text))).collect();
    let mut broken = Vec::new();
    for (file, text) in &texts {
        for (number, target) in links(text) {
            let (path, heading) = target.split_once('#').map_or((target, None), |(path, at)| (path, Some(at)));
            let path = if path.is_empty() { file.clone() } else { normal(&file.with_file_name(path)) };
            let known = heading
                .is_none_or(|heading| headings.get(path.as_path()).is_none_or(|headings| headings.contains(heading)));
            if !root.join(&path).exists() || !known {
                broken.push(format!("{}:{number}: {target}", file.display()));
            }
        }
    }
    Ok(broken)
}

/// Returns the targets of relative links outside of code, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Every second part is code.
        for part in line.split('`').step_by(2) {
            let targets = part.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
            found.extend(targets.filter(|target| !target.contains("://")).map(|target| (number, target)));
        }
    }
    found
}

/// Returns the anchors of the headings, as GitHub and mdBook make them, and those in HTML.
fn headings(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let html = text.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned);
    let lines = prose(text).filter_map(|(_, line)| line.strip_prefix('#'));
    lines
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
            let anchor: String = title.chars().filter(|c| c.is_alphanumeric() || ['-', '_'].contains(c)).collect();
            let count = seen.entry(anchor.clone()).and_modify(|count| *count += 1).or_default();
            if *count == 0 { anchor } else { format!("{anchor}-{count}") }
        })
        .chain(html)
        .collect()
}

/// Returns the numbered lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Resolves `..` and `.` in a relative path.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_and_a_missing_heading_are_broken_links() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("docs")).unwrap();
        let readme =
            "[a](docs/a.md#b-c), [b](docs/a.md#gone)\n```\n[c](none)\n```\n[d](https://x) `[e](none)`\n[f](none)\n";
        fs::write(dir.path().join("README.md"), readme).unwrap();
        fs::write(dir.path().join("docs/a.md"), "# A\n## `B`, C\n## A\n[up](../README.md) [self](#a-1)\n").unwrap();
        let files = ["README.md", "docs/a.md"].map(PathBuf::from);
        assert_eq!(broken(dir.path(), &files).unwrap(), ["README.md:1: docs/a.md#gone", "README.md:6: none"]);
    }
}
