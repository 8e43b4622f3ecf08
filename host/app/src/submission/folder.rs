//! The files of a submission on disk.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use plumbline_conformance::submission::{Cases, FILES, FoundFile, JUNIT, LOG, LogVersions, PRODUCT};

use crate::error::AppError;

/// The files of a folder. A submission has four.
const MAX_FILES: usize = 10_000;

/// The depth of folders.
const MAX_DEPTH: usize = 8;

/// The largest `PRODUCT.yaml`, in bytes. One more is read, so that the parser rejects a larger
/// file.
const MAX_PRODUCT: u64 = 1 << 20;

/// The bytes at the start of a log that are searched for versions.
const MAX_HEAD: u64 = 1 << 20;

/// A submission on disk.
pub struct Folder {
    /// All its files, with paths that start with the folder of the version.
    pub files: Vec<FoundFile>,
    /// The content of its `PRODUCT.yaml`.
    pub product: Option<Vec<u8>>,
    /// The versions in its log.
    pub log: LogVersions,
    /// Its results.
    pub cases: Option<Cases>,
}

impl Folder {
    /// Reads `dir`: the folder of the product, that of the version above it, or the one above that.
    ///
    /// # Errors
    /// A file cannot be read, or there are too many.
    pub fn read(dir: &Path) -> Result<Self, AppError> {
        let wrong = |error: &io::Error| {
            AppError::usage(format!("failed to read the submission in `{}`", dir.display())).because(error)
        };
        // The canonical path has the names; `.` has none.
        let real = dir.canonicalize().map_err(|error| wrong(&error))?;
        let mut found = Vec::new();
        walk(&real, &prefix(&real), 0, &mut found).map_err(|error| wrong(&error))?;
        found.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        let (files, paths): (Vec<FoundFile>, Vec<PathBuf>) = found.into_iter().unzip();
        let read = |name: &str, limit: u64| {
            let file = FoundFile::find(&files, name);
            let path =
                file.and_then(|file| files.iter().zip(&paths).find(|(other, _)| *other == file)).map(|(_, path)| path);
            path.map(|path| content(path, limit)).transpose().map_err(|error| wrong(&error))
        };
        let product = read(PRODUCT, MAX_PRODUCT + 1)?;
        let log = read(LOG, MAX_HEAD)?.unwrap_or_default();
        let results = read(JUNIT, MAX_RESULTS + 1)?;
        if results.as_ref().is_some_and(|results| results.len() as u64 > MAX_RESULTS) {
            let error = io::Error::other(format!("`{JUNIT}` has more than {MAX_RESULTS} bytes"));
            return Err(wrong(&error));
        }
        let cases = results.map(|results| Cases::read(&results));
        Ok(Self { files, product, log: LogVersions::read(&String::from_utf8_lossy(&log)), cases })
    }
}

/// The first `limit` bytes of what Git would store for the file: for a symbolic link, its target.
fn content(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    if path.symlink_metadata()?.is_symlink() {
        return Ok(path.read_link()?.into_os_string().into_encoded_bytes());
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The prefix that makes paths start with the folder of the version.
fn prefix(dir: &Path) -> String {
    let name = |dir: &Path| dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_version = |name: &str| name.starts_with("v1.");
    if FILES.iter().any(|file| dir.join(file).exists()) {
        let above = dir.parent().map(&name).unwrap_or_default();
        return format!("{above}/{}/", name(dir)).trim_start_matches('/').to_owned();
    }
    if is_version(&name(dir)) { format!("{}/", name(dir)) } else { String::new() }
}

fn walk(dir: &Path, prefix: &str, depth: usize, found: &mut Vec<(FoundFile, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if kind.is_dir() {
            // Clones of the repository of submissions have a `.git`.
            if entry.file_name() == ".git" {
                continue;
            }
            if depth >= MAX_DEPTH {
                return Err(io::Error::other(format!("folders stand in each other more than {MAX_DEPTH} deep")));
            }
            walk(&entry.path(), &format!("{path}/"), depth + 1, found)?;
            continue;
        }
        // Git stores the targets of links, and neither pipes nor sockets.
        if !kind.is_file() && !kind.is_symlink() {
            continue;
        }
        let bytes = entry.metadata()?.len();
        if found.len() >= MAX_FILES {
            return Err(io::Error::other(format!("there are more than {MAX_FILES} files")));
        }
        found.push((FoundFile { path, bytes }, entry.path()));
    }
    Ok(())
}

/// The start of a log as text, with replacements for invalid UTF-8.
pub(super) fn head(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&content(path, MAX_HEAD)?).into_owned())
}

/// The largest file of results, in bytes. A full run of the suite has 2.5 MiB.
pub(super) const MAX_RESULTS: u64 = 256 << 20;

/// Reads the cases of the file at `path` as the verifier does.
pub(super) fn read_cases(path: &Path) -> Result<Cases, AppError> {
    let wrong = |error: &io::Error| {
        AppError::usage(format!("failed to read the results in `{}`", path.display())).because(error)
    };
    let mut document = Vec::new();
    let file = File::open(path).map_err(|error| wrong(&error))?;
    file.take(MAX_RESULTS + 1).read_to_end(&mut document).map_err(|error| wrong(&error))?;
    if document.len() as u64 > MAX_RESULTS {
        return Err(wrong(&io::Error::other(format!("it has more than {MAX_RESULTS} bytes"))));
    }
    Ok(Cases::read(&document))
}
