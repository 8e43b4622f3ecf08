//! Checks modules: whether a host accepts them, and their metadata.

use std::path::{Path, PathBuf};

use plumbline_core::definition::{LimitsRequest, effective_limits};
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_sandbox::{ModuleInfo, Roles, check_options, inspect};
use serde_json::{Map, Value};

use super::finding::{Checked, CheckedModule};
use super::host::Host;
use crate::build::role_names;
use crate::project::read_bounded;

/// Maximum number of modules in a bundle, as in a run.
const MAX_MODULES: usize = 64;

/// The names and roles of a module, whether it is built or only planned.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// The file of the module, for messages.
    pub(super) file: String,
    /// The stem of the file, the module's name, and its formats.
    pub(super) names: Vec<String>,
    pub(super) roles: Roles,
    pub(super) limits: LimitsRequest,
    pub(super) schema: Option<Value>,
}

impl Answer {
    pub(super) fn is(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// Returns the names and roles of the module in this file.
    pub(super) fn of(file: String, stem: &str, info: &ModuleInfo) -> Self {
        let mut names = vec![stem.to_owned()];
        for name in info.name.iter().chain(&info.formats) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Self { file, names, roles: info.roles, limits: info.limits.clone(), schema: info.schema.clone() }
    }
}

/// Returns the modules directly in a directory, in the order in which a run examines them.
pub(super) fn all(directory: &Path, host: &Host<'_>, checked: &mut Checked) -> Vec<Answer> {
    let entries = match directory.read_dir() {
        Ok(entries) => entries,
        Err(error) => {
            checked.error(directory.display(), format!("failed to read the directory: {error}"), None);
            return Vec::new();
        }
    };
    let wasm = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(wasm).take(MAX_MODULES + 1).collect();
    files.sort();
    if files.len() > MAX_MODULES {
        checked.error(".", format!("there are more than {MAX_MODULES} modules"), Some("a run refuses such a bundle"));
        files.truncate(MAX_MODULES);
    }
    files.iter().filter_map(|file| self::file(file, host, checked)).collect()
}

/// Checks one module.
pub(super) fn file(path: &Path, host: &Host<'_>, checked: &mut Checked) -> Option<Answer> {
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
    // Reads one byte more than the limit, so that the sandbox itself reports that the file is too
    // large.
    let bytes = match read_bounded(path, MAX_COMPONENT_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => {
            checked.error(file, error, error_hint_size());
            return None;
        }
    };
    if let Err(error) = host.sandbox.load(&stem, &bytes) {
        checked.error(&file, &error, error.hint());
        return None;
    }
    // The metadata in the file itself, without the defaults that loading adds.
    let info = inspect(&bytes).ok()?;
    said(&file, &stem, &info, host, checked);
    checked.modules.push(CheckedModule {
        file: file.clone(),
        name: info.name.clone().unwrap_or_else(|| stem.clone()),
        size: info.size,
        roles: role_names(info.roles),
        generation: info.generation.clone(),
        imports: info.imports.clone(),
        digest: format!("sha256:{}", info.digest),
    });
    Some(Answer::of(file, &stem, &info))
}

fn error_hint_size() -> Option<&'static str> {
    Some("build it without debug information, and optimised for size")
}

/// Checks the module's metadata.
fn said(file: &str, stem: &str, info: &ModuleInfo, host: &Host<'_>, checked: &mut Checked) {
    match &info.name {
        None => checked.warning(
            file,
            format!("it says nothing of itself: it answers to `{stem}` only, and takes all files"),
            Some("`plumbline plugin build` writes the section `plumbline:module` from `module.yaml`"),
        ),
        Some(name) if name != stem => checked.warning(
            file,
            format!("it calls itself `{name}`, and its file `{stem}`: it answers to both"),
            Some("let the two agree"),
        ),
        Some(_) => {}
    }
    if let Err(error) = effective_limits(&info.limits, &host.limits.default, &host.limits.cap) {
        checked.error(file, error, Some("a definition that asks for less wins over what the module asks for"));
    }
    if let Some(schema) = &info.schema {
        for warning in check_options(&Map::new(), &[(stem, schema)]).warnings {
            checked.warning(
                file,
                warning,
                Some("the schema of options is JSON Schema, draft 2020-12, without other documents"),
            );
        }
    }
}
