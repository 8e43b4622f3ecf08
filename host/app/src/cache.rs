//! The user's cache: what is in it, and how to remove it.
//!
//! Everything in the cache is made again when it is needed: compiled modules, bundles that were
//! unpacked, downloads, indexes of archives, and programs from images.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;

use crate::error::{AppError, Explain as _, quoted};
use crate::files::paths_in;
use crate::history::CACHE_DIR;
use crate::local_runs;
use crate::modules::cache_root;

/// What is in the directories of the cache, by name.
const SECTIONS: [(&str, &str); 5] = [
    ("bundles", "unpacked bundles of runs"),
    ("downloads", "downloads from registries"),
    (CACHE_DIR, "indexes of directories with archives that are not writable"),
    ("modules", "compiled modules"),
    ("programs", "programs from images of the suite"),
];

/// The names of the parts of the cache.
pub fn parts() -> [&'static str; 5] {
    SECTIONS.map(|(name, _)| name)
}

/// The description of directories that other versions have made.
const OTHER: &str = "files of another version";

/// A directory of the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The name of the directory.
    pub name: String,
    /// What is in it.
    pub description: &'static str,
    /// The number of files.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Whether it was removed.
    pub removed: bool,
}

/// The content of the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CacheContents {
    /// The directory of the cache.
    pub path: PathBuf,
    /// The directories in it, sorted by name.
    pub sections: Vec<Section>,
}

impl CacheContents {
    /// The size of all files in bytes.
    pub fn bytes(&self) -> u64 {
        self.sections.iter().map(|section| section.bytes).sum()
    }
}

/// Lists what is in the cache.
pub fn contents() -> Result<CacheContents, AppError> {
    let path = cache_root().ok_or_else(|| {
        AppError::usage("no directory for the cache: the home directory is unknown")
            .hint("set `HOME` or `XDG_CACHE_HOME`")
    })?;
    contents_of(path)
}

fn contents_of(path: PathBuf) -> Result<CacheContents, AppError> {
    let failed =
        |error: io::Error| AppError::system(format!("failed to read the cache `{}`", path.display())).because(&error);
    let paths = match paths_in(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        paths => paths.map_err(failed)?,
    };
    let mut sections = Vec::new();
    for part in paths {
        let name = part.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let known = SECTIONS.iter().find(|(known, _)| *known == name);
        let (files, bytes) = usage(&part).map_err(failed)?;
        let description = known.map_or(OTHER, |(_, description)| description);
        sections.push(Section { name, description, files, bytes, removed: false });
    }
    Ok(CacheContents { path, sections })
}

/// The number of files at `path`, and their size. Links are not followed. What disappears meanwhile
/// does not count.
fn usage(path: &Path) -> io::Result<(u64, u64)> {
    let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if gone(&error) => return Ok((0, 0)),
        Err(error) => return Err(error),
    };
    if !metadata.is_dir() {
        return Ok((1, metadata.len()));
    }
    let mut total = (0, 0);
    for entry in fs::read_dir(path)? {
        let (files, bytes) = usage(&entry?.path())?;
        total = (total.0 + files, total.1 + bytes);
    }
    Ok(total)
}

/// Removes the directories `names` from the cache, or all of them without names. Rejects unknown
/// names, and does nothing while a local run is in progress, because runs use what is cached.
pub fn clean(names: &[String]) -> Result<CacheContents, AppError> {
    let runs = local_runs::list()
        .system_error("failed to list the runs, which may use the cache")
        .hint("check the directory with the records of runs, `~/.local/state/plumbline/runs`")?;
    let running = runs.into_iter().find(local_runs::LocalRun::is_running);
    if let Some(run) = running {
        return Err(AppError::usage(format!("run `{}` is in progress and uses the cache", run.run.short()))
            .hint("`plumbline status --local` shows it; clean the cache when it has finished"));
    }
    let mut contents = selected(contents()?, names)?;
    for section in &mut contents.sections {
        let path = contents.path.join(&section.name);
        remove(&path).system_error(format_args!("failed to remove `{}`", path.display()))?;
        section.removed = true;
    }
    Ok(contents)
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// The content without the directories that are not in `names`. Without names, all of it.
pub fn selected(mut contents: CacheContents, names: &[String]) -> Result<CacheContents, AppError> {
    let known = |name: &String| {
        SECTIONS.iter().any(|(known, _)| known == name) || contents.sections.iter().any(|section| section.name == *name)
    };
    if let Some(name) = names.iter().find(|name| !known(name)) {
        return Err(
            AppError::usage(format!("the cache has no part `{name}`")).hint(format!("parts: {}", quoted(parts())))
        );
    }
    contents.sections.retain(|section| names.is_empty() || names.contains(&section.name));
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("plumbline");
        assert!(contents_of(root.clone()).unwrap().sections.is_empty());
        fs::create_dir_all(root.join("modules/a")).unwrap();
        fs::write(root.join("modules/a/one"), "12345").unwrap();
        fs::write(root.join("modules/two"), "123").unwrap();
        fs::create_dir_all(root.join("older")).unwrap();
        std::os::unix::fs::symlink("/usr", root.join("older/link")).unwrap();
        let found = contents_of(root).unwrap();
        let shown: Vec<_> =
            found.sections.iter().map(|section| (section.name.as_str(), section.description, section.files)).collect();
        assert_eq!(shown, [("modules", "compiled modules", 2), ("older", OTHER, 1)]);
        assert_eq!(found.sections[0].bytes, 8);
        let only = selected(found.clone(), &["older".to_owned()]).unwrap();
        assert_eq!(only.sections.len(), 1);
        let error = selected(found, &["modlues".to_owned()]).unwrap_err().in_full();
        assert!(error.contains("`modules`"), "{error}");
    }
}
