//! A snapshot of a project: its files by content. A file that was only touched, or rewritten with
//! the same content, does not count as changed. Otherwise a build that writes into the project
//! would start another build forever.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::AuthorError;

/// Maximum number of files. A plugin has some dozens, and its SDK some hundreds.
const MAX_FILES: usize = 20_000;
/// Maximum number of bytes of a file to read. Changes beyond it are noticed by the size of the
/// file.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum depth of directories.
const MAX_DEPTH: usize = 32;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Hexadecimal digests of the files by path, relative to the project.
    pub(crate) files: BTreeMap<PathBuf, String>,
    pub(crate) directories: BTreeSet<PathBuf>,
}

impl Snapshot {
    pub(crate) fn of(dir: &Path) -> Result<Self, AuthorError> {
        let mut snapshot = Self::default();
        snapshot.walk(dir, dir, 0)?;
        Ok(snapshot)
    }

    /// Returns the files that are new, removed or changed, relative to the project.
    pub(crate) fn changed_since(&self, before: &Self) -> Vec<PathBuf> {
        let now = self.files.iter().filter(|(path, digest)| before.files.get(*path) != Some(digest));
        let gone = before.files.keys().filter(|path| !self.files.contains_key(*path));
        let all: BTreeSet<&PathBuf> = now.map(|(path, _)| path).chain(gone).collect();
        all.into_iter().cloned().collect()
    }

    fn walk(&mut self, top: &Path, dir: &Path, depth: usize) -> Result<(), AuthorError> {
        let failed = AuthorError::io("read", dir);
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            // The directory was removed during the walk. The system reports that.
            Err(error) if error.kind() == io::ErrorKind::NotFound && depth > 0 => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        self.directories.insert(dir.to_owned());
        for entry in entries {
            let entry = entry.map_err(&failed)?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            // Links are not followed: authors do not change an SDK that is linked into the project.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth < MAX_DEPTH && !name.starts_with('.') && !MADE.contains(&&*name) {
                    self.walk(top, &path, depth + 1)?;
                }
            } else if kind.is_file() && !ignores_file(&name, depth == 0) {
                if self.files.len() >= MAX_FILES {
                    let what = format!("`{}` holds more than {MAX_FILES} files", top.display());
                    return Err(AuthorError::system(what).because("it is probably not a plugin's directory"));
                }
                if let Ok(digest) = digest(&path) {
                    self.files.insert(path.strip_prefix(top).unwrap_or(&path).to_owned(), digest);
                }
            }
        }
        Ok(())
    }
}

fn digest(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let mut digest = Sha256::new();
    digest.update(file.metadata()?.len().to_le_bytes());
    io::copy(&mut file.take(MAX_BYTES), &mut digest)?;
    Ok(hex::encode(digest.finalize()))
}

/// Directories that tools create. Hidden ones belong to tools too: `.git`, `.venv`, `.fuzz`.
const MADE: [&str; 6] = ["build", "target", "node_modules", "__pycache__", "dist", "venv"];

/// Returns whether to ignore a file with this name: temporary files of editors, and built modules
/// at the top.
fn ignores_file(name: &str, at_the_top: bool) -> bool {
    let scratch = name.starts_with('.') || name.starts_with('#') || name.ends_with('~') || name.ends_with(".swp");
    scratch || (at_the_top && name.ends_with(".wasm"))
}

/// Reads a file, up to one byte more than `limit`, so that callers can detect that it is too large.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_author_writes_counts() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("src/main.c", "1");
        let before = Snapshot::of(dir.path()).unwrap();
        for made in
            ["x.wasm", "build/a", "src/target/b", "node_modules/c/d", ".git/e", "tests/.fuzz/0/f", "src/main.c~"]
        {
            write(made, "1");
        }
        write("src/main.c", "1");
        assert_eq!(Snapshot::of(dir.path()).unwrap().changed_since(&before), Vec::<PathBuf>::new());
        write("src/main.c", "2");
        write("tests/a/x.wasm", "1");
        let now = Snapshot::of(dir.path()).unwrap();
        assert_eq!(now.changed_since(&before), [PathBuf::from("src/main.c"), PathBuf::from("tests/a/x.wasm")]);
        fs::remove_file(dir.path().join("src/main.c")).unwrap();
        assert_eq!(Snapshot::of(dir.path()).unwrap().changed_since(&now), [PathBuf::from("src/main.c")]);
    }
}
