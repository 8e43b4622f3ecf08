//! Selects the checks for a path.

use std::path::Path;

use super::finding::Checked;
use super::host::Host;
use super::{bundle, cases, definition, modules, names, project};
use crate::project::{AuthorError, MANIFEST_FILE};

/// The file names of a definition in a directory.
pub(super) const DEFINITIONS: [&str; 2] = ["plugin.yaml", "plugin.yml"];

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
        return directory(path, host, checked);
    }
    if !path.is_file() {
        return Err(AuthorError::input(format!("there is no file or directory `{}`", path.display())));
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if path.file_name().is_some_and(|name| name == MANIFEST_FILE) {
        return directory(parent, host, checked);
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("wasm") => {
            modules::file(path, host, &mut checked);
        }
        Some("yaml" | "yml" | "json") => {
            let answers = modules::all(parent, host, &mut checked);
            names::check(&answers, host, &mut checked);
            definition::check(path, Some(parent), &answers, host, &mut checked);
        }
        Some("tar") => {
            if let Some(scratch) = bundle::unpacked(path, &mut checked)? {
                return directory(&scratch.path().join(bundle::UNPACKED), host, checked);
            }
        }
        _ => {
            return Err(AuthorError::input(format!("`{}` is neither a definition nor a module nor a bundle", path.display()))
                .hint("a definition is `*.yaml`, a module `NAME.wasm`, a bundle `NAME.bundle.tar` or a directory with `plugin.yaml`"));
        }
    }
    Ok(checked)
}

fn directory(path: &Path, host: &Host<'_>, mut checked: Checked) -> Result<Checked, AuthorError> {
    let definition = DEFINITIONS.iter().map(|name| path.join(name)).find(|file| file.exists());
    let is_project = path.join(MANIFEST_FILE).exists();
    let mut answers = modules::all(path, host, &mut checked);
    if definition.is_none() && !is_project && answers.is_empty() && checked.findings.is_empty() {
        return Err(AuthorError::input(format!("there is nothing to check in directory `{}`", path.display()))
            .hint("a bundle has `plugin.yaml` and modules `NAME.wasm`, a project also `module.yaml`"));
    }
    if is_project {
        answers.extend(project::check(path, &answers, &mut checked));
    }
    names::check(&answers, host, &mut checked);
    match &definition {
        Some(file) => {
            definition::check(file, Some(path), &answers, host, &mut checked);
            bundle::check(path, &mut checked);
        }
        None => checked.warning(
            "plugin.yaml",
            "there is no definition: nothing can be run",
            Some("write `plugin.yaml`: docs/definition.md"),
        ),
    }
    cases::check(&path.join("tests"), &mut checked);
    Ok(checked)
}
