//! Records the sources from which a module was built, so that a stale module is recognized without
//! relying on clocks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{AuthorError, MANIFEST_FILE, Project, read_bounded};
use crate::watch::snapshot::Snapshot;
use plumbline_core::limits::MAX_COMPONENT_BYTES;

/// Maximum size of a record in bytes: enough for 20,000 files with long paths.
const MAX_RECORD: u64 = 16 << 20;
/// Directories at the top of a project whose files do not become part of the module.
const OTHER_DIRECTORIES: [&str; 4] = ["tests", "test", "docs", "examples"];
/// Extensions of sources and build files of all languages.
const EXTENSIONS: [&str; 15] =
    ["rs", "toml", "lock", "go", "mod", "sum", "c", "h", "js", "mjs", "ts", "json", "py", "wit", "txt"];
/// Files that tools rewrite while they build.
const LOCK_FILES: [&str; 3] = ["Cargo.lock", "package-lock.json", "go.sum"];

/// The digests of a project's sources, by path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sources(BTreeMap<PathBuf, String>);

/// The record of a build in `build/`.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The digest of the module.
    module: String,
    sources: Sources,
}

impl Sources {
    /// Reads every file of the project that may become part of the module. Tests, the definition,
    /// documentation and generated files are left out.
    pub(crate) fn of(project: &Project) -> Result<Self, AuthorError> {
        let snapshot = Snapshot::of(&project.directory).map_err(|error| {
            AuthorError::system(format!("failed to read the sources in `{}`", project.directory.display()))
                .because(error)
        })?;
        let (artifact, command) = (project.manifest.artifact.as_deref(), &project.manifest.command);
        let files = snapshot
            .files()
            .into_iter()
            .filter(|(path, _)| is_source(path, command) && Some(path.as_path()) != artifact);
        Ok(Self(files.map(|(path, digest)| (path, hex(&digest))).collect()))
    }

    /// Records that the module with this digest was built from these sources. Files that the build
    /// itself has written count with their present content.
    pub(crate) fn record(mut self, project: &Project, module: &str) -> Result<(), AuthorError> {
        let now = Self::of(project)?.0;
        let own_build = !project.manifest.command.is_empty();
        for (path, digest) in now {
            let is_lock = path.file_name().is_some_and(|name| LOCK_FILES.iter().any(|lock| name == *lock));
            if own_build || is_lock || !self.0.contains_key(&path) {
                self.0.insert(path, digest);
            }
        }
        let path = record_file(project);
        let record = Record { module: module.to_owned(), sources: self };
        let text = serde_json::to_vec(&record)
            .map_err(|error| AuthorError::system("failed to record the sources").because(error))?;
        fs::write(&path, text).map_err(AuthorError::io("write", &path))
    }

    /// Returns a file that differs, or that only one of the two has.
    fn changed(&self, now: &Self) -> Option<PathBuf> {
        let differs = |(path, digest): &(&PathBuf, &String)| self.0.get(*path) != Some(*digest);
        let gone = || self.0.keys().find(|path| !now.0.contains_key(*path));
        now.0.iter().find(differs).map(|(path, _)| path).or_else(gone).cloned()
    }
}

/// Returns whether a build may read the file. The top of a project also holds the plugin's own
/// programs and packed bundles, so only files of known kinds are sources there.
fn is_source(path: &Path, command: &[String]) -> bool {
    let mut parts = path.components().map(|part| part.as_os_str());
    let first = parts.next().unwrap_or_default();
    if parts.next().is_some() {
        return OTHER_DIRECTORIES.iter().all(|other| first != *other);
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let named = command.iter().any(|word| first == word.trim_start_matches("./"));
    named || first == MANIFEST_FILE || first == "Makefile" || EXTENSIONS.contains(&extension)
}

/// Returns why the module of `project` does not match its present sources, as a sentence. Returns
/// `None` if it does, or if there is no module. Without a record of a build, the modification times
/// of files decide.
///
/// # Errors
/// The project cannot be read.
pub fn stale(project: &Project) -> Result<Option<String>, AuthorError> {
    let module = project.module();
    if !module.exists() {
        return Ok(None);
    }
    let digest = format!("sha256:{}", hex(&Sha256::digest(read_bounded(&module, MAX_COMPONENT_BYTES)?)));
    let name = project.name();
    let record = read_bounded(&record_file(project), MAX_RECORD).ok();
    let record = record.and_then(|text| serde_json::from_slice::<Record>(&text).ok());
    if let Some(record) = record.filter(|record| record.module == digest) {
        let changed = record.sources.changed(&Sources::of(project)?);
        return Ok(changed.map(|path| format!("`{}` has changed since `{name}.wasm` was built", path.display())));
    }
    let time = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let built = time(&module);
    let sources = Sources::of(project)?;
    let newer = sources.0.into_keys().find(|path| time(&project.directory.join(path)) > built);
    Ok(newer.map(|path| format!("`{}` is newer than `{name}.wasm`", path.display())))
}

fn record_file(project: &Project) -> PathBuf {
    project.build_directory().join(format!("{}.sources.json", project.name()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
