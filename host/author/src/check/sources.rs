//! The files that a module is made of, by their time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Entries of a project that are looked at: enough for any that is written by hand.
const MAX_ENTRIES: usize = 20_000;
/// Directories that hold no sources of the module.
const OTHER: [&str; 6] = ["build", "target", "node_modules", "__pycache__", "tests", "test"];
/// What sources are called, in all languages.
const SOURCES: [&str; 12] = ["rs", "toml", "go", "mod", "c", "h", "js", "mjs", "ts", "py", "wit", "txt"];

/// The file that was changed last, relative to the project, and when.
pub(super) fn newest(project: &Path) -> Option<(PathBuf, SystemTime)> {
    let mut newest: Option<(PathBuf, SystemTime)> = None;
    let mut left = MAX_ENTRIES;
    let mut directories = vec![project.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            left = left.checked_sub(1)?;
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            // Links are not followed: a circle of them has no end.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if !name.starts_with('.') && !OTHER.contains(&name.as_str()) {
                    directories.push(path);
                }
                continue;
            }
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            let source = SOURCES.contains(&extension) || name == "module.yaml" || name.ends_with(".schema.json");
            let changed = entry.metadata().and_then(|metadata| metadata.modified());
            if let (true, Ok(changed)) = (source && kind.is_file(), changed)
                && newest.as_ref().is_none_or(|(_, known)| changed > *known)
            {
                newest = Some((path.strip_prefix(project).unwrap_or(&path).to_owned(), changed));
            }
        }
    }
    newest
}
