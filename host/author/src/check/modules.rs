//! Checks modules, their names, and the project that they are built from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plumbline_core::definition::{LimitsRequest, effective_limits};
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_core::{Rights, closest};
use plumbline_sandbox::componentize::{CONTRACT, worlds};
use plumbline_sandbox::{ModuleInfo, Roles, check_options, inspect};
use serde_json::{Map, Value};

use super::finding::{Checked, CheckedModule, Host};
use crate::error::AuthorError;
use crate::language::Language;
use crate::manifest::MANIFEST_FILE;
use crate::project::{Project, file_name, read_bounded, stale};

/// Maximum number of modules in a bundle, as in a run.
const MAX_MODULES: usize = 64;

/// The names and roles of a module, whether it is built or only planned.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// The file of the module, for messages. Empty for a built-in module.
    pub(super) file: String,
    /// The stem of the file, the module's name, and its formats.
    pub(super) names: Vec<String>,
    pub(super) roles: Roles,
    pub(super) limits: LimitsRequest,
    pub(super) schema: Option<Value>,
    pub(super) rights: Rights,
}

impl Answer {
    pub(super) fn is(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// Returns the names and roles of the module in this file.
    fn of(file: String, stem: Option<&str>, info: &ModuleInfo) -> Self {
        let mut names: Vec<String> = stem.map(str::to_owned).into_iter().collect();
        for name in info.name.iter().chain(&info.formats) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let (limits, schema, rights) = (info.limits.clone(), info.schema.clone(), info.rights.clone());
        Self { file, names, roles: info.roles, limits, schema, rights }
    }

    /// Returns the names and roles of the built-in modules.
    pub(super) fn built_in(host: &Host<'_>) -> Vec<Self> {
        host.built_in.iter().map(|info| Self::of(String::new(), None, info)).collect()
    }
}

/// Returns the modules directly in a directory, in the order in which a run examines them.
pub(super) fn check_modules(directory: &Path, host: &Host<'_>, checked: &mut Checked) -> Vec<Answer> {
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
        checked.error(".", format!("there are more than {MAX_MODULES} modules"), Some("a run rejects such a bundle"));
        files.truncate(MAX_MODULES);
    }
    files.iter().filter_map(|file| check_module(file, host, checked)).collect()
}

pub(super) fn check_module(path: &Path, host: &Host<'_>, checked: &mut Checked) -> Option<Answer> {
    let file = file_name(path);
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let bytes = match read_bounded(path, MAX_COMPONENT_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => {
            checked.error(file, error, Some("build it without debug information, and optimize it for size"));
            return None;
        }
    };
    if let Err(error) = host.sandbox.load(stem, &bytes) {
        checked.error(&file, &error, error.hint());
        return None;
    }
    // The metadata in the file itself, without the defaults that loading adds.
    let info = inspect(&bytes).ok()?;
    check_metadata(&file, stem, &info, host, checked);
    checked.modules.push(CheckedModule {
        file: file.clone(),
        name: info.name.clone().unwrap_or_else(|| stem.to_owned()),
        size: info.size,
        roles: info.roles.names(),
        generation: info.generation.clone(),
        imports: info.imports.clone(),
        digest: format!("sha256:{}", info.digest),
    });
    Some(Answer::of(file, Some(stem), &info))
}

fn check_metadata(file: &str, stem: &str, info: &ModuleInfo, host: &Host<'_>, checked: &mut Checked) {
    match &info.name {
        None => checked.warning(
            file,
            format!("it has no metadata: its only name is `{stem}`, and it reads all files"),
            Some("`plumbline plugin build` writes the section `plumbline:module` from `module.yaml`"),
        ),
        Some(name) if name != stem => checked.warning(
            file,
            format!("its name is `{name}`, but its file is `{stem}`: both names work"),
            Some("use one name for both"),
        ),
        Some(_) => {}
    }
    if let Err(error) = effective_limits(&info.limits, &host.limits.default, &host.limits.cap) {
        checked.error(file, error, Some("a lower limit in the definition takes precedence"));
    }
    if let Some(schema) = &info.schema {
        for warning in check_options(&Map::new(), &[(stem, schema)]).warnings {
            let hint = "the schema of options is JSON Schema, draft 2020-12, without other documents";
            checked.warning(file, warning, Some(hint));
        }
    }
}

/// Reports a name that more than one module has. A run takes the first, and authors should not have
/// to know which one that is.
pub(super) fn check_names(answers: &[Answer], host: &Host<'_>, checked: &mut Checked) {
    let built_in = Answer::built_in(host);
    let mut taken: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for answer in answers {
        let roles = answer.roles.names();
        for role in &roles {
            for name in &answer.names {
                let first = *taken.entry((*role, name.as_str())).or_insert(&answer.file);
                if first != answer.file {
                    checked.error(
                        &answer.file,
                        format!("`{name}` is also a {role} in `{first}`"),
                        Some("a run uses the first in the order of file names: give each its own name"),
                    );
                }
            }
        }
        for name in &answer.names {
            let shares = |other: &Answer| other.roles.names().iter().any(|role| roles.contains(role));
            if built_in.iter().any(|other| other.is(name) && shares(other)) {
                checked.warning(
                    &answer.file,
                    format!("`{name}` replaces the built-in module of this name"),
                    Some("this applies to plugins of this bundle only; to avoid it, choose another name"),
                );
            }
        }
    }
}

/// Checks the project in `directory`: its manifest, and whether the built module is up to date.
/// Returns the planned module if it is not built yet.
pub(super) fn check_project(directory: &Path, built: &[Answer], checked: &mut Checked) -> Option<Answer> {
    const REBUILD: Option<&str> = Some("build it again: `plumbline plugin build`");
    let project = match Project::open(directory) {
        Ok(project) => project,
        Err(AuthorError { what, cause, hint, .. }) => {
            checked.error(MANIFEST_FILE, cause.unwrap_or(what), hint.as_deref());
            return None;
        }
    };
    check_world(&project, checked);
    if let Err(error) = project.schema() {
        checked.error(MANIFEST_FILE, format!("`schema`: {error}"), None);
    }
    let (manifest, sdk) = (&project.manifest, project.sdk());
    if manifest.command.is_empty() && manifest.language != Language::Rust && !sdk.is_dir() {
        let what = format!("SDK not found: `{}`", sdk.strip_prefix(&project.directory).unwrap_or(&sdk).display());
        checked.error(MANIFEST_FILE, what, Some("set `sdk` to its directory; `plumbline plugin new` writes a copy"));
    }
    let file = format!("{}.wasm", project.name());
    if !project.module().exists() {
        checked.warning(&file, "the module is not built", Some("`plumbline plugin build`"));
        return planned(&project, file);
    }
    let built = built.iter().find(|answer| answer.file == file)?;
    for format in manifest.formats.iter().flatten().filter(|format| !built.is(format)) {
        let what = format!("the module does not support `{format}`, which `formats` in `{MANIFEST_FILE}` lists");
        checked.warning(&file, what, REBUILD);
    }
    match stale(&project) {
        Ok(Some(reason)) => checked.warning(&file, reason, REBUILD),
        Ok(None) => {}
        Err(error) => checked.error(&file, error, None),
    }
    None
}

/// Checks that the world is in the contract. The project's own contract may define other worlds. If
/// it has another version, that is allowed, but the author should know.
fn check_world(project: &Project, checked: &mut Checked) {
    if let Some(wit) = project.wit() {
        let differs =
            |(name, text): &(&str, &str)| std::fs::read(wit.join(name)).ok().is_none_or(|own| own != text.as_bytes());
        if let Some((name, _)) = CONTRACT.iter().find(|file| differs(file)) {
            checked.warning(
                format!("wit/{name}"),
                "the contract in `wit/` differs from the one of this program",
                Some("within 0.1.x both work; without `wit/`, builds use the program's contract"),
            );
        }
        return;
    }
    let known = worlds().unwrap_or_default();
    let world = project.world();
    if !known.iter().any(|known| known == world) {
        let meant = closest(world, known.iter().map(String::as_str));
        let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
        let hint = format!("{meant}worlds: {}", known.join(", "));
        checked.error(MANIFEST_FILE, format!("`world: {world}` is not in the contract"), Some(&hint));
    }
}

/// Returns the names and roles of the planned module, as far as the manifest says.
fn planned(project: &Project, file: String) -> Option<Answer> {
    let world = project.world();
    let every = world == "every-role-module";
    let roles = Roles {
        post_processor: every || matches!(world, "post-processor-module" | "full-module"),
        expectations: every || matches!(world, "expectations-module" | "full-module"),
        summarizer: every || world == "summarizer-module",
        // The world `every-role-module` does not include `judge`, because it is older.
        judge: world == "judge-module",
        check: world == "check-module",
    };
    let metadata = project.metadata(roles).ok()?;
    let limits = serde_json::from_value(Value::Object(metadata.limits)).unwrap_or_default();
    let names = std::iter::once(metadata.name).chain(metadata.formats).collect();
    // The rights are known once the module is built.
    Some(Answer { file, names, roles, limits, schema: metadata.schema, rights: Rights::default() })
}
