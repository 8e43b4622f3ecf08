//! Modules: whether a host takes them, and what they say of themselves.

use std::path::{Path, PathBuf};

use plumbline_core::definition::{LimitsRequest, effective_limits};
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_sandbox::{ModuleInfo, Roles, check_options, inspect};
use serde_json::{Map, Value};

use super::finding::{Checked, CheckedModule};
use super::host::Host;
use crate::build::role_names;
use crate::project::read_bounded;

/// Modules of one bundle, as a run takes them.
const MAX_MODULES: usize = 64;

/// What a module answers to, whether it is built or only planned.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// Its file, for messages.
    pub(super) file: String,
    /// Its file's stem, its name, its formats.
    pub(super) names: Vec<String>,
    pub(super) roles: Roles,
    pub(super) limits: LimitsRequest,
    pub(super) schema: Option<Value>,
}

impl Answer {
    pub(super) fn is(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// Of a module in the file of that name.
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

/// The modules directly in a directory, in the order in which a run looks at them.
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

/// One module.
pub(super) fn file(path: &Path, host: &Host<'_>, checked: &mut Checked) -> Option<Answer> {
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
    // One byte more than is taken: the sandbox says by itself that this is too much.
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
    // What the file itself says, without what loading fills in.
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

/// What it says of itself.
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
