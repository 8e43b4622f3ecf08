//! Finds the files that may have certificates.

use std::collections::BTreeSet;

use plumbline_sdk::Context;
use plumbline_sdk::context::{DirEntry, FileError, FileType};

/// The ends of the names of files with certificates, and of kubeconfigs.
const ENDS: [&str; 4] = [".crt", ".pem", ".conf", ".kubeconfig"];

/// The maximum number of levels of directories.
const MAX_DEPTH: usize = 8;

/// The maximum number of files. A control plane has about 20.
const MAX_FILES: usize = 1_000;

/// The files, and what could not be read.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<String>,
    pub(crate) errors: Vec<String>,
}

/// Returns the files below `directories`. A directory that does not exist has none.
pub(crate) fn find(context: &mut Context, directories: &[&str]) -> Found {
    let mut found = Found::default();
    let mut open: Vec<(String, usize)> = directories.iter().rev().map(|path| ((*path).to_owned(), 1)).collect();
    while let Some((directory, depth)) = open.pop() {
        let entries = match context.read_dir(&directory) {
            Ok(entries) => entries,
            Err(FileError::NotFound { .. } | FileError::NotGranted { .. }) if depth == 1 => continue,
            Err(error) => {
                found.errors.push(error.to_string());
                continue;
            }
        };
        let old = superseded(&entries);
        for entry in entries.into_iter().rev().filter(|entry| !old.contains(&entry.name)) {
            let path = format!("{directory}/{}", entry.name);
            match entry.file_type {
                FileType::Directory if depth < MAX_DEPTH => open.push((path, depth + 1)),
                FileType::Directory => found.errors.push(format!("`{path}` is more than {MAX_DEPTH} levels deep")),
                FileType::File | FileType::Link if ENDS.iter().any(|end| path.ends_with(end)) => found.files.push(path),
                FileType::Link => found.errors.extend(unread_link(context, &path)),
                FileType::File | FileType::Other => {}
            }
        }
    }
    found.files.sort_unstable();
    if found.files.len() > MAX_FILES {
        found.errors.push(format!("{} of {} files are not read", found.files.len() - MAX_FILES, found.files.len()));
        found.files.truncate(MAX_FILES);
    }
    found
}

/// Returns why certificates below a link are not read, unless it leads to a file or to nothing.
fn unread_link(context: &mut Context, path: &str) -> Option<String> {
    match context.metadata(path) {
        Ok(found) if found.file_type == FileType::Directory => {
            Some(format!("`{path}` is a link to a directory: add that directory to the grants"))
        }
        Ok(_) | Err(FileError::NotFound { .. }) => None,
        Err(error) => Some(error.to_string()),
    }
}

/// Returns the names of what the kubelet has replaced. It keeps each certificate as
/// `NAME-TIME.pem`, and `NAME-current.pem` is a link to the latest one. The target of the link is
/// absolute, so the link itself cannot be followed.
fn superseded(entries: &[DirEntry]) -> BTreeSet<String> {
    const CURRENT: &str = "current.pem";
    let mut old = BTreeSet::new();
    for link in entries.iter().filter(|entry| entry.file_type == FileType::Link) {
        let Some(start) = link.name.strip_suffix(CURRENT).filter(|start| start.ends_with('-')) else { continue };
        let is_dated = |entry: &&DirEntry| entry.file_type == FileType::File && is_dated(&entry.name, start);
        let mut dated: Vec<&str> = entries.iter().filter(is_dated).map(|entry| entry.name.as_str()).collect();
        dated.sort_unstable();
        // Without any, the link is read, and is unknown if that fails.
        if dated.pop().is_some() {
            old.insert(link.name.clone());
            old.extend(dated.into_iter().map(str::to_owned));
        }
    }
    old
}

/// Returns whether a file is `NAME-TIME.pem`. Others, such as a copy that somebody made, replace nothing.
fn is_dated(name: &str, start: &str) -> bool {
    let time = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(".pem"));
    time.is_some_and(|time| !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
}
