//! The last steps of a build, which are the same for all languages. They make a component, add
//! metadata, run the host's own checks and replace the old module.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use plumbline_sandbox::componentize::{ComponentizeError, component, set_metadata};
use plumbline_sandbox::{DetectRule, ModuleInfo, Roles, Sandbox, inspect};
use serde::Serialize;

use super::artifact;
use crate::project::{AuthorError, Language, Project};

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

/// Returns the names of the roles in the contract.
pub(crate) fn role_names(roles: Roles) -> Vec<&'static str> {
    let names = [
        (roles.post_processor, "post-processor"),
        (roles.expectations, "expectations"),
        (roles.summarizer, "summarizer"),
        (roles.judge, "judge"),
    ];
    names.into_iter().filter(|(plays, _)| *plays).map(|(_, name)| name).collect()
}

pub(super) fn finish(project: &Project, made: &Path, sandbox: &Sandbox, begin: Instant) -> Result<Built, AuthorError> {
    let module = described(project, made)?;
    let loaded = sandbox.load(project.name(), &module).map_err(|error| {
        let told =
            AuthorError::input(format!("what was built of `{}` is not a module that a host takes", project.name()));
        with_hint(told.because(&error), error.hint())
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
        roles: role_names(info.roles),
        formats: info.formats,
        imports: info.imports,
        generation: info.generation,
        changed,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

/// Returns the component with its metadata.
fn described(project: &Project, made: &Path) -> Result<Vec<u8>, AuthorError> {
    let bytes = artifact::read(made)?;
    let failed = |error: ComponentizeError| {
        let told = AuthorError::input(format!("no module can be made of `{}`", made.display()));
        with_hint(told.because(&error), error.hint())
    };
    let wit = project.wit();
    let component = component(&bytes, &project.recipe(wit.as_deref())).map_err(failed)?;
    let info = inspect(&component).map_err(|error| failed(ComponentizeError::Metadata(error)))?;
    // In Rust, `module!` declares the metadata in the sources, where the compiler checks it. A
    // second declaration could disagree with it.
    if project.manifest.language == Language::Rust {
        agrees(project, &info)?;
        return Ok(component);
    }
    set_metadata(&component, &project.metadata(info.roles)?).map_err(failed)
}

/// Checks that `module.yaml` agrees with the module's own metadata.
fn agrees(project: &Project, info: &ModuleInfo) -> Result<(), AuthorError> {
    let Some(name) = &info.name else {
        return Err(AuthorError::input(format!("module `{}` says nothing of itself", project.name()))
            .hint("call `plumbline_sdk::module!` in `src/lib.rs`"));
    };
    let manifest = &project.manifest;
    let limits = serde_json::from_value(serde_json::Value::Object(manifest.limits.clone())).unwrap_or_default();
    let differs = [
        ("name", *name != manifest.name),
        ("formats", manifest.formats.as_ref().is_some_and(|formats| *formats != info.formats)),
        ("default-files", manifest.default_files.as_ref().is_some_and(|files| *files != info.default_files)),
        ("detect", !manifest.detect.is_empty() && !same_rules(&manifest.detect, info)),
        ("limits", !manifest.limits.is_empty() && info.limits != limits),
        ("schema", project.schema()?.is_some_and(|schema| info.schema.as_ref() != Some(&schema))),
    ];
    match differs.into_iter().find(|(_, differs)| *differs) {
        None => Ok(()),
        Some((key, _)) => {
            let what = format!("`{key}` in `module.yaml` is not what `plumbline_sdk::module!` says");
            let cause = format!("the module calls itself `{name}`, for the formats {}", info.formats.join(", "));
            let hint = format!("make them equal, or leave `{key}` out of `module.yaml`");
            Err(if key == "name" {
                AuthorError::input(what).because(cause).hint("make them equal")
            } else {
                AuthorError::input(what).hint(hint)
            })
        }
    }
}

fn same_rules(rules: &[serde_json::Value], info: &ModuleInfo) -> bool {
    let read = |rule: &serde_json::Value| serde_json::from_value::<DetectRule>(rule.clone()).ok();
    rules.iter().map(read).eq(info.detect.iter().cloned().map(Some))
}

pub(crate) fn with_hint(error: AuthorError, hint: Option<&str>) -> AuthorError {
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Replaces a file atomically: concurrent readers see the old module or the new one. Returns
/// whether the content changed.
fn replace(path: &Path, content: &[u8]) -> Result<bool, AuthorError> {
    // The modification time is the time of the build. `plugin check` compares it with those of the
    // sources.
    if fs::read(path).is_ok_and(|old| old == content) {
        let now = std::time::SystemTime::now();
        let touched = fs::File::options().append(true).open(path).and_then(|file| file.set_modified(now));
        touched.map_err(AuthorError::io("touch", path))?;
        return Ok(false);
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut new = tempfile::Builder::new()
        .prefix(".plumbline-")
        .suffix(".new")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(directory)
        .map_err(AuthorError::io("write into", directory))?;
    new.write_all(content).map_err(AuthorError::io("write", path))?;
    new.persist(path).map_err(|error| AuthorError::io("replace", path)(error.error))?;
    Ok(true)
}
