//! A project: a directory with `module.yaml`, the sources of a module, and its plugin.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plumbline_bundle::Digest;
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_sandbox::Roles;
use plumbline_sandbox::componentize::{DEFAULT_WORLD, Metadata};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::AuthorError;
use crate::language::Language;
use crate::manifest::MAX_BYTES;
pub use crate::manifest::{MANIFEST_FILE, Manifest};
use crate::snapshot::{Snapshot, read};

/// Maximum size of a schema in bytes. A larger one does not fit into the section that holds it.
const MAX_SCHEMA_BYTES: u64 = 60 << 10;

/// A project.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// The directory, as an absolute path, so that tools that run elsewhere understand it.
    pub directory: PathBuf,
    /// The content of its `module.yaml`.
    pub manifest: Manifest,
}

impl Project {
    /// Opens the project in `directory`.
    pub fn open(directory: &Path) -> Result<Self, AuthorError> {
        let absolute = directory.canonicalize().map_err(|error| {
            AuthorError::input(format!("failed to open directory `{}`", directory.display())).because(error)
        })?;
        let file = directory.join(MANIFEST_FILE);
        if !absolute.join(MANIFEST_FILE).exists() {
            let language = Language::detect(&absolute);
            let hint = match language {
                Some((language, sign)) => format!(
                    "it looks like {language} (`{sign}`): write `{MANIFEST_FILE}` with the keys `name` and `language: {language}`"
                ),
                None => {
                    "pass a project's directory, or create one: `plumbline plugin new NAME --lang LANGUAGE`".to_owned()
                }
            };
            let what = format!("directory `{}` is not a project: it has no `{MANIFEST_FILE}`", directory.display());
            return Err(AuthorError::input(what).hint(hint));
        }
        let text = read_text(&file, MAX_BYTES)?;
        Ok(Self { directory: absolute, manifest: Manifest::parse(&text, &file.display().to_string())? })
    }

    /// Returns the name of the module.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Returns the path of the built module. It is next to the definition, so that the project's
    /// directory is a bundle.
    pub fn module(&self) -> PathBuf {
        self.directory.join(format!("{}.wasm", self.name()))
    }

    /// Returns the directory for everything that a build produces.
    pub fn build_directory(&self) -> PathBuf {
        self.directory.join("build")
    }

    /// Returns the directory of the SDK.
    pub fn sdk(&self) -> PathBuf {
        let default = || Path::new("sdk").join(self.manifest.language.as_str());
        self.directory.join(self.manifest.sdk.clone().unwrap_or_else(default))
    }

    /// Returns the world that the module is built for.
    pub fn world(&self) -> &str {
        self.manifest.world.as_deref().unwrap_or(DEFAULT_WORLD)
    }

    /// Returns the project's own copy of the contract, if it has one.
    pub fn wit(&self) -> Option<PathBuf> {
        Some(self.directory.join("wit")).filter(|wit| wit.is_dir())
    }

    /// Returns the JSON Schema of the module's options.
    pub fn schema(&self) -> Result<Option<Value>, AuthorError> {
        let Some(file) = &self.manifest.schema else { return Ok(None) };
        let path = self.directory.join(file);
        let bytes = read_bounded(&path, MAX_SCHEMA_BYTES)?;
        let wrong = || AuthorError::input(format!("schema `{}` is not a JSON object", file.display()));
        let schema: Value = serde_json::from_slice(&bytes).map_err(|error| wrong().because(error))?;
        if schema.is_object() { Ok(Some(schema)) } else { Err(wrong()) }
    }

    /// Returns the metadata for a module with these roles.
    pub fn metadata(&self, roles: Roles) -> Result<Metadata, AuthorError> {
        let manifest = &self.manifest;
        // A module that reads no results has no format.
        let default = || if roles.post_processor { vec![manifest.name.clone()] } else { Vec::new() };
        Ok(Metadata {
            name: manifest.name.clone(),
            formats: manifest.formats.clone().unwrap_or_else(default),
            default_files: manifest.default_files.clone().unwrap_or_default(),
            detect: manifest.detect.clone(),
            limits: manifest.limits.clone(),
            schema: self.schema()?,
            rights: manifest.rights.clone().unwrap_or_default(),
        })
    }
}

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

#[derive(Debug, Serialize, Deserialize)]
struct Record {
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
        let is_source = |path: &PathBuf| is_source(path, command) && Some(path.as_path()) != artifact;
        Ok(Self(snapshot.files.into_iter().filter(|(path, _)| is_source(path)).collect()))
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
pub fn stale(project: &Project) -> Result<Option<String>, AuthorError> {
    let module = project.module();
    if !module.exists() {
        return Ok(None);
    }
    let digest = Digest::of(&read_bounded(&module, MAX_COMPONENT_BYTES)?).to_string();
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

pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, AuthorError> {
    let failed =
        |error: io::Error| AuthorError::input(format!("failed to read file `{}`", path.display())).because(error);
    // Reading a pipe or a device might never end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(AuthorError::input(format!("`{}` is not a regular file", path.display())));
    }
    let bytes = read(path, limit).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(AuthorError::input(format!("file `{}` is larger than {limit} bytes", path.display())));
    }
    Ok(bytes)
}

pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String, AuthorError> {
    String::from_utf8(read_bounded(path, limit)?)
        .map_err(|error| AuthorError::input(format!("file `{}` is not UTF-8 text", path.display())).because(error))
}

/// Returns the name of a file without its directory, for messages.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
