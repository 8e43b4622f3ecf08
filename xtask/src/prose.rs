//! `prose`: checks the text that people read, in Markdown and in the snapshots of help and messages.
//!
//! Vale applies the rules of `docs/.vale` (terms, phrases, length of sentences). The length of
//! lines is checked here, because Vale does not know which lines are tables or code. So are the links
//! between pages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::go_tools;
use crate::links;
use crate::paths::Workspace;
use crate::process;
use crate::steps::Outcome;

/// The longest line of Markdown, in characters.
const MAX_LINE: usize = 100;

/// Pages with lines that cannot be wrapped: a generated one, whose text is wrapped in `wit/`, and the
/// list of the book's pages.
const LONG: [&str; 2] = ["docs/wit.md", "docs/SUMMARY.md"];

/// The part of the names of snapshots that have one message per line, so that their sentences are checked.
/// Help is checked as pages of `docs/reference`.
const CATALOGUE: &str = "__messages";

/// Checks all files that git knows. Without Go, Vale cannot be built, and its part is skipped.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome, Error> {
    let root = workspace.root();
    let files = files(root)?;
    let mut long = Vec::new();
    let is_wrapped = |file: &Path| file.extension().is_some_and(|extension| extension == "md");
    for file in files.iter().filter(|file| is_wrapped(file) && !LONG.iter().any(|long| *file == Path::new(long))) {
        let text = fs::read_to_string(root.join(file)).map_err(Error::io("read", file))?;
        long.extend(long_lines(&text).into_iter().map(|line| format!("{}:{line}", file.display())));
    }
    if !long.is_empty() {
        let what = format!("lines of more than {MAX_LINE} characters outside of tables and code:\n{}", long.join("\n"));
        return Err(Error::unexpected(what));
    }
    let pages: Vec<PathBuf> = files.iter().filter(|file| is_wrapped(file)).cloned().collect();
    let broken = links::broken(root, &pages)?;
    if !broken.is_empty() {
        return Err(Error::unexpected(format!("broken links:\n{}", broken.join("\n"))));
    }
    let Some(vale) = go_tools::VALE.ensure() else {
        return Ok(Outcome::Skipped("Vale cannot be built here".to_owned()));
    };
    let lists = lists(root, &files)?;
    process::run(Command::new(vale).current_dir(root).arg("--output=line").args(&files).args(&lists))?;
    Ok(Outcome::Passed)
}

/// The Markdown files and snapshots of the repository, relative to its root.
fn files(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut git = Command::new("git");
    git.current_dir(root).arg("-c").arg(format!("safe.directory={}", root.display()));
    let listed = process::output(git.args(["ls-files", "--", "*.md", "*.snap"]))?;
    Ok(listed.lines().map(PathBuf::from).filter(|file| root.join(file).exists()).collect())
}

/// Writes the lines of catalogues as lists in Markdown below `target/prose`, and returns the files.
///
/// In other text, Vale takes lines without a full stop for one sentence.
fn lists(root: &Path, files: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let dir = root.join("target/prose");
    fs::create_dir_all(&dir).map_err(Error::io("create", &dir))?;
    let is_catalogue = |file: &&PathBuf| {
        let name = file.to_string_lossy();
        name.ends_with(".snap") && name.contains(CATALOGUE)
    };
    let write = |file: &PathBuf| {
        let text = fs::read_to_string(root.join(file)).map_err(Error::io("read", file))?;
        let list = dir.join(file.to_string_lossy().replace(['/', '\\'], "+")).with_extension("md");
        fs::write(&list, list_of(&text)).map_err(Error::io("write", &list))?;
        Ok(list)
    };
    files.iter().filter(is_catalogue).map(write).collect()
}

/// The lines of a snapshot, each as an item of a list.
fn list_of(snapshot: &str) -> String {
    let text = snapshot.splitn(3, "---\n").last().unwrap_or_default();
    text.lines()
        .map(str::trim)
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("* {line}\n") })
        .collect()
}

/// Numbers of the lines that are too long, from 1. Tables, code blocks, headings, and lines that a
/// link or a code span makes long may be longer.
fn long_lines(text: &str) -> Vec<usize> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let exempt = fenced || line.trim_start().starts_with(['|', '#', '[', '<']) || line.starts_with("    ");
        if !exempt && breaks_before(line) {
            found.push(number + 1);
        }
    }
    found
}

/// Whether the line is too long and has a space at which it could have been wrapped.
fn breaks_before(line: &str) -> bool {
    if line.chars().count() <= MAX_LINE {
        return false;
    }
    let text = line.trim_start_matches([' ', '*', '-', '>', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    let mut span = false;
    text.chars().any(|character| {
        span ^= character == '`';
        character == ' ' && !span
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_catalogue_is_one_sentence() {
        let snapshot = "---\nsource: a.rs\n---\nerror: no key\n  hint: add one\n\n---\nnote: end\n";
        assert_eq!(list_of(snapshot), "* error: no key\n* hint: add one\n\n* ---\n* note: end\n");
    }

    #[test]
    fn only_text_that_can_be_wrapped_is_too_long() {
        let long = "word ".repeat(25);
        let table = format!("| {long} |");
        let code = format!("```console\n{long}\n```");
        let span = format!("* `{}`", "word ".repeat(25));
        let link = format!("[{long}](https://example.org)");
        assert_eq!(long_lines(&format!("short\n{long}\n{table}\n{code}\n{span}\n{link}\n")), [2]);
        assert!(long_lines(&"x".repeat(300)).is_empty());
    }
}
