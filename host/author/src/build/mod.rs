//! Builds a module from its sources: the recipe of its language, then steps that are the same for
//! all languages. They make a component, add metadata, run the host's own checks and replace the
//! old module.

mod recipes;
mod rust;
mod tool;
mod wasi;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use plumbline_archive::atomic::{AtomicFile, parent_directory};
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_sandbox::componentize::{ComponentizeError, component, set_metadata};
use plumbline_sandbox::{DetectRule, ModuleInfo, Sandbox, inspect};
use serde::Serialize;
use serde_json::Value;

use self::tool::{CARGO, COMPONENTIZE_PY, GO, JCO, Say, Tool};
use crate::error::AuthorError;
use crate::language::Language;
use crate::project::{Project, Sources, read_bounded};

/// Builds the module of `project`, checks it as a host does, and replaces the old module.
///
/// It runs the build of the project's language, makes a component, and adds the metadata of
/// `module.yaml`. `sandbox` is the host that checks the module. If it has a cache, the compiled
/// code is kept there.
///
/// `say` receives one line before each command that is run. The output of tools goes to standard
/// error as it arrives. The old module stays until everything has succeeded.
pub fn build(project: &Project, sandbox: &Sandbox, say: Say<'_>) -> Result<Built, AuthorError> {
    let begin = Instant::now();
    let sources = Sources::of(project)?;
    let directory = project.build_directory();
    fs::create_dir_all(&directory).map_err(AuthorError::io("create", &directory))?;
    let artifact = if !project.manifest.command.is_empty() {
        recipes::build_own(project, say)
    } else {
        match project.manifest.language {
            Language::Rust => rust::build(project, say),
            Language::Go => recipes::build_go(project, say),
            Language::JavaScript => recipes::build_javascript(project, "src/index.js", say),
            Language::TypeScript => recipes::build_javascript(project, "src/index.ts", say),
            Language::Python => recipes::build_python(project, say),
            Language::C => recipes::build_c(project, say),
        }
    }?;
    let built = finish(project, &artifact, sandbox, begin)?;
    sources.record(project, &built.digest)?;
    Ok(built)
}

/// Returns why a project in `language` cannot be built on this machine: the tool that is missing.
///
/// `None` means that no tool is known to be missing. The check installs nothing and runs no build,
/// so a build may still fail.
pub fn missing_tool(language: Language, project: &Path) -> Option<String> {
    let missing =
        |tool: Tool| tool.look(project).is_none().then(|| format!("`{}` not found: {}", tool.name, tool.hint));
    match language {
        Language::Rust => missing(CARGO).or_else(|| rust::missing_target(project)),
        Language::Go => missing(GO),
        Language::JavaScript | Language::TypeScript => missing(JCO).or_else(|| missing(recipes::bundler())),
        Language::Python => missing(COMPONENTIZE_PY),
        Language::C => recipes::missing_compiler(project),
    }
}

/// A module that was built.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Built {
    /// The name of the module.
    pub name: String,
    /// The file of the module.
    pub module: PathBuf,
    /// The language that the module is written in.
    pub language: Language,
    /// The size in bytes.
    pub size: u64,
    /// The SHA-256 digest, as `sha256:` and hexadecimal digits.
    pub digest: String,
    /// The roles that the module implements.
    pub roles: Vec<&'static str>,
    /// The result formats that the module handles.
    pub formats: Vec<String>,
    /// The interfaces that the module imports.
    pub imports: Vec<String>,
    /// The version of the contract that the module was built for.
    pub generation: Option<String>,
    /// Whether the bytes differ from those of the previous module.
    pub changed: bool,
    /// The duration of the whole build in seconds.
    pub seconds: f64,
}

fn finish(project: &Project, made: &Path, sandbox: &Sandbox, begin: Instant) -> Result<Built, AuthorError> {
    let module = described(project, made)?;
    let loaded = sandbox.load(project.name(), &module).map_err(|error| {
        let what = format!("the build of `{}` is not a valid module", project.name());
        AuthorError::input(what).because(&error).maybe_hint(error.hint())
    })?;
    let info = loaded.info().clone();
    let file = project.module();
    let changed = replace(&file, &module)?;
    Ok(Built {
        name: project.name().to_owned(),
        module: file,
        language: project.manifest.language,
        size: info.size,
        digest: format!("sha256:{}", info.digest),
        roles: info.roles.names(),
        formats: info.formats,
        imports: info.imports,
        generation: info.generation,
        changed,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

/// Returns the component with its metadata.
fn described(project: &Project, made: &Path) -> Result<Vec<u8>, AuthorError> {
    if !made.exists() {
        return Err(AuthorError::input(format!("the build produced no `{}`", made.display()))
            .hint("set `artifact` in `module.yaml` to the file that `command` produces, relative to the project"));
    }
    let bytes = read_bounded(made, MAX_COMPONENT_BYTES)
        .map_err(|error| error.hint("build it without debug information, and optimize it for size"))?;
    let failed = |error: ComponentizeError| {
        let what = format!("failed to make a module of `{}`", made.display());
        AuthorError::input(what).because(&error).maybe_hint(error.hint())
    };
    let component = component(&bytes, Some(project.world()), project.wit().as_deref()).map_err(failed)?;
    let info = inspect(&component).map_err(|error| failed(ComponentizeError::Metadata(error)))?;
    // In Rust, `module!` declares the metadata in the sources, where the compiler checks it. A
    // second declaration could disagree with it.
    if project.manifest.language == Language::Rust {
        check_agreement(project, &info)?;
        return Ok(component);
    }
    set_metadata(&component, &project.metadata(info.roles)?).map_err(failed)
}

fn check_agreement(project: &Project, info: &ModuleInfo) -> Result<(), AuthorError> {
    let Some(name) = &info.name else {
        return Err(AuthorError::input(format!("module `{}` has no metadata", project.name()))
            .hint("call `plumbline_sdk::module!` in `src/lib.rs`"));
    };
    let manifest = &project.manifest;
    let limits = serde_json::from_value(Value::Object(manifest.limits.clone())).unwrap_or_default();
    let rule = |rule: &Value| serde_json::from_value::<DetectRule>(rule.clone()).ok();
    let same_rules = manifest.detect.iter().map(rule).eq(info.detect.iter().cloned().map(Some));
    let differs = [
        ("name", *name != manifest.name),
        ("formats", manifest.formats.as_ref().is_some_and(|formats| *formats != info.formats)),
        ("default-files", manifest.default_files.as_ref().is_some_and(|files| *files != info.default_files)),
        ("detect", !manifest.detect.is_empty() && !same_rules),
        ("limits", !manifest.limits.is_empty() && info.limits != limits),
        ("rights", manifest.rights.as_ref().is_some_and(|rights| *rights != info.rights)),
        ("schema", project.schema()?.is_some_and(|schema| info.schema.as_ref() != Some(&schema))),
    ];
    let Some((key, _)) = differs.into_iter().find(|(_, differs)| *differs) else { return Ok(()) };
    let error = AuthorError::input(format!("`{key}` in `module.yaml` differs from `plumbline_sdk::module!`"));
    Err(match key {
        "name" => {
            let formats = info.formats.join(", ");
            error.because(format!("the module has the name `{name}` and the formats {formats}")).hint("make them equal")
        }
        _ => error.hint(format!("make them equal, or leave `{key}` out of `module.yaml`")),
    })
}

/// Replaces a file atomically: concurrent readers see the old module or the new one. Returns
/// whether the content changed.
fn replace(path: &Path, content: &[u8]) -> Result<bool, AuthorError> {
    // The modification time is the time of the build. `plugin lint` compares it with those of the
    // sources.
    if fs::read(path).is_ok_and(|old| old == content) {
        let touched = fs::File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
        touched.map_err(AuthorError::io("touch", path))?;
        return Ok(false);
    }
    let mut file = AtomicFile::create(path).map_err(AuthorError::io("write into", parent_directory(path)))?;
    file.write_all(content).map_err(AuthorError::io("write", path))?;
    file.commit().map_err(AuthorError::io("replace", path))?;
    Ok(true)
}
