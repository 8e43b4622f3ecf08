//! The folder of a submission, as it is found.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use plumbline_conformance::submission::{FILES, FoundFile, JUNIT, LOG, LogVersions, PRODUCT};

use crate::error::CliError;

/// Files that are looked at. A submission has four; a folder with more than this is something else.
const MAX_FILES: usize = 10_000;

/// Folders within folders that are looked into.
const MAX_DEPTH: usize = 8;

/// Bytes of a `PRODUCT.yaml` that are read.
const MAX_PRODUCT: u64 = 1 << 20;

/// Bytes at the beginning of a log in which its versions are looked for.
const MAX_HEAD: u64 = 1 << 20;

/// A submission on disk.
pub(super) struct Folder {
    /// All its files, below the folder that the versions stand in.
    pub(super) files: Vec<FoundFile>,
    /// The text of its `PRODUCT.yaml`.
    pub(super) product: Option<String>,
    /// What its log says of versions.
    pub(super) log: LogVersions,
    /// Where its results are.
    pub(super) junit: Option<PathBuf>,
}

impl Folder {
    /// Looks at `dir`: the folder of the product, the one of the version above it, or the one above that.
    pub(super) fn read(dir: &Path) -> Result<Self, CliError> {
        let wrong = |error: &io::Error| {
            CliError::usage(format!("the submission in `{}` cannot be read", dir.display())).because(error)
        };
        // Names come from the real path: `.` has none.
        let real = dir.canonicalize().map_err(|error| wrong(&error))?;
        let mut found = Vec::new();
        walk(&real, &prefix(&real), 0, &mut found).map_err(|error| wrong(&error))?;
        found.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        let place = |name: &str| {
            found
                .iter()
                .find(|(file, _)| file.path.ends_with(&format!("/{name}")) || file.path == name)
                .map(|(_, path)| path.clone())
                // A pipe would be waited for.
                .filter(|path| path.is_file())
        };
        let product = place(PRODUCT).and_then(|path| text(&path));
        let log = place(LOG).map(|path| head(&path)).transpose().map_err(|error| wrong(&error))?;
        let junit = place(JUNIT);
        let files = found.into_iter().map(|(file, _)| file).collect();
        Ok(Self { files, product, log: log.map(|text| LogVersions::read(&text)).unwrap_or_default(), junit })
    }
}

/// What stands before the paths of files, so that they begin with the version's folder.
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
            // A clone of the repository that submissions go to is one, too.
            if entry.file_name() == ".git" {
                continue;
            }
            if depth >= MAX_DEPTH {
                return Err(io::Error::other(format!("folders stand in each other more than {MAX_DEPTH} deep")));
            }
            walk(&entry.path(), &format!("{path}/"), depth + 1, found)?;
            continue;
        }
        // A link is not submitted with what it leads to: it counts as empty.
        let bytes = if kind.is_file() { entry.metadata()?.len() } else { 0 };
        if found.len() >= MAX_FILES {
            return Err(io::Error::other(format!("there are more than {MAX_FILES} files")));
        }
        found.push((FoundFile { path, bytes }, entry.path()));
    }
    Ok(())
}

/// The file's text; `None` if it is none, or too large.
fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    let read = File::open(path).ok()?.take(MAX_PRODUCT + 1).read_to_string(&mut text).ok()?;
    (read as u64 <= MAX_PRODUCT).then_some(text)
}

/// The beginning of a log. It is somebody's output: what is no text in it does not matter.
pub(super) fn head(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_HEAD).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
