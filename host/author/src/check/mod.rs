//! Finds problems of a plugin before a run does.

mod cases;
mod definition;
mod finding;
mod modules;

use std::fs::File;
use std::path::Path;

use plumbline_archive::atomic::parent_directory;
use plumbline_bundle::{Bundle, BundleError, BundleWarning, DEFINITION_FILES, unpack};
use plumbline_core::Driver;
use tempfile::TempDir;

use self::cases::check_cases;
use self::definition::check_definition;
pub use self::finding::{Checked, CheckedModule, Finding, Host, Level};
use self::modules::{check_module, check_modules, check_names, check_project};
use crate::error::AuthorError;
use crate::manifest::MANIFEST_FILE;
use crate::project::file_name;

/// The directory of an unpacked bundle below the temporary directory.
const UNPACKED: &str = "bundle";

/// Checks `path`: a definition with the modules next to it, a module, the directory of a project or
/// bundle, or a packed bundle.
///
/// The check runs no module. It writes nothing, except the content of a packed bundle to a
/// temporary directory.
///
/// # Errors
/// There is nothing to check at `path`. Problems of what is there are findings.
pub fn check(path: &Path, host: &Host<'_>) -> Result<Checked, AuthorError> {
    let mut checked = Checked { path: path.display().to_string(), ..Checked::default() };
    if path.is_dir() {
        return check_directory(path, host, checked);
    }
    if !path.is_file() {
        return Err(AuthorError::input(format!("file or directory `{}` not found", path.display())));
    }
    let parent = parent_directory(path);
    if path.file_name().is_some_and(|name| name == MANIFEST_FILE) {
        return check_directory(parent, host, checked);
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("wasm") => {
            check_module(path, host, &mut checked);
        }
        Some("yaml" | "yml" | "json") => {
            let answers = check_modules(parent, host, &mut checked);
            check_names(&answers, host, &mut checked);
            check_definition(path, parent, &answers, host, &mut checked);
        }
        Some("tar") => {
            if let Some(scratch) = unpacked(path, &mut checked)? {
                return check_directory(&scratch.path().join(UNPACKED), host, checked);
            }
        }
        _ => {
            return Err(AuthorError::input(format!("`{}` is neither a definition nor a module nor a bundle", path.display()))
                .hint("a definition is `*.yaml`, a module `NAME.wasm`, a bundle `NAME.bundle.tar` or a directory with `plugin.yaml`"));
        }
    }
    Ok(checked)
}

fn check_directory(path: &Path, host: &Host<'_>, mut checked: Checked) -> Result<Checked, AuthorError> {
    let definition = DEFINITION_FILES.iter().map(|name| path.join(name)).find(|file| file.exists());
    let is_project = path.join(MANIFEST_FILE).exists();
    let mut answers = check_modules(path, host, &mut checked);
    if definition.is_none() && !is_project && answers.is_empty() && checked.findings.is_empty() {
        return Err(AuthorError::input(format!("nothing to check in directory `{}`", path.display()))
            .hint("a bundle has `plugin.yaml` and modules `NAME.wasm`, a project also `module.yaml`"));
    }
    if is_project {
        answers.extend(check_project(path, &answers, &mut checked));
    }
    check_names(&answers, host, &mut checked);
    let parsed = match &definition {
        Some(file) => {
            let parsed = check_definition(file, path, &answers, host, &mut checked);
            check_bundle(path, &mut checked);
            parsed
        }
        None => {
            let hint = "write `plugin.yaml`, which docs/definition.md describes";
            checked.warning("plugin.yaml", "the definition is missing: the plugin cannot run", Some(hint));
            None
        }
    };
    check_cases(&path.join("tests"), parsed.as_ref(), &mut checked);
    Ok(checked)
}

/// Checks whether a directory with a definition can be packed. Problems that other checks report
/// better are skipped here.
fn check_bundle(directory: &Path, checked: &mut Checked) {
    match Bundle::open(directory) {
        Ok(bundle) => {
            for warning in &bundle.warnings {
                let applies = match warning {
                    BundleWarning::Definition(_) | BundleWarning::NoCheck(_) => true,
                    BundleWarning::NoCommand(_) | BundleWarning::NotExecutable(_) => {
                        bundle.definition.driver == Driver::Process
                    }
                    _ => false,
                };
                if !applies {
                    checked.warning("plugin.yaml", warning, None);
                }
            }
        }
        Err(
            BundleError::NoDefinition(_)
            | BundleError::Definition { .. }
            | BundleError::Module { .. }
            | BundleError::TooManyModules(_),
        ) => {}
        Err(error) => checked.error(".", format!("failed to pack the bundle: {error}"), error.hint()),
    }
}

/// Unpacks a packed bundle, so that it can be checked like a directory. Returns `None` if it cannot
/// be unpacked, which is a finding.
fn unpacked(tar: &Path, checked: &mut Checked) -> Result<Option<TempDir>, AuthorError> {
    let scratch = tempfile::tempdir()
        .map_err(|error| AuthorError::system("failed to create a directory for temporary files").because(error))?;
    let file = File::open(tar)
        .map_err(|error| AuthorError::input(format!("failed to read file `{}`", tar.display())).because(error))?;
    match unpack(file, &scratch.path().join(UNPACKED)) {
        Ok(_) => Ok(Some(scratch)),
        Err(error) => {
            checked.error(file_name(tar), &error, error.hint());
            Ok(None)
        }
    }
}
