//! Writes a new project.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plumbline_sandbox::componentize::{DEFAULT_WORLD, worlds};
use serde::Serialize;

use super::names::{Names, check_name};
use crate::embedded::{Embedded, sdk, template, template_languages, wit};
use crate::project::{AuthorError, Language};
use plumbline_core::closest;

/// The suffix of template files that would otherwise make the template a project of its own. It is
/// dropped.
const DISGUISE: &str = ".in";

/// A project that was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewProject {
    /// The name of the project.
    pub name: String,
    /// The language of the project.
    pub language: Language,
    /// The directory of the project.
    pub directory: PathBuf,
    /// The files of the project, without those of the contract and the SDK.
    pub files: Vec<String>,
}

/// Creates a project `name` in `directory`, which must not exist or must be empty.
///
/// The project consists of the template of its language, the contract in `wit/`, and the SDK in
/// `sdk/<language>/`. It is created atomically.
///
/// # Errors
/// The name is invalid, there is no such template, or the directory cannot be written.
pub fn new_project(
    name: &str,
    language: Language,
    world: Option<&str>,
    directory: &Path,
) -> Result<NewProject, AuthorError> {
    check_name(name)?;
    let world = known_world(world)?;
    let files: Vec<(&str, &Embedded)> = template(language, world).collect();
    if files.is_empty() {
        return Err(no_template(language, world));
    }
    refuse_taken(directory)?;
    let parent = match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(AuthorError::io("create", parent))?;
    let scratch = tempfile::Builder::new()
        .prefix(".plumbline-new-")
        .tempdir_in(parent)
        .map_err(AuthorError::io("write into", parent))?;
    let names = Names::of(name);
    let mut written = Vec::new();
    for (path, file) in files {
        let path = names.fill(path.strip_suffix(DISGUISE).unwrap_or(path));
        write(scratch.path(), &path, file, Some(&names))?;
        written.push(path);
    }
    for (path, file) in wit() {
        write(scratch.path(), &format!("wit/{path}"), file, None)?;
    }
    for (path, file) in sdk(language) {
        write(scratch.path(), &format!("sdk/{language}/{path}"), file, None)?;
    }
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755))
        .map_err(AuthorError::io("change", scratch.path()))?;
    // A rename replaces an empty directory, and fails for any other.
    fs::rename(scratch.path(), directory).map_err(AuthorError::io("create", directory))?;
    // The directory was renamed, so there is nothing to remove.
    drop(scratch.keep());
    Ok(NewProject { name: name.to_owned(), language, directory: directory.to_owned(), files: written })
}

/// Returns the world if it is not the default one, after checking that it exists.
fn known_world(world: Option<&str>) -> Result<Option<&str>, AuthorError> {
    let Some(world) = world.filter(|world| *world != DEFAULT_WORLD) else { return Ok(None) };
    let known =
        worlds().map_err(|error| AuthorError::system("the contract inside this program is damaged").because(error))?;
    if known.iter().any(|known| known == world) {
        return Ok(Some(world));
    }
    let meant = closest(world, known.iter().map(String::as_str));
    let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    Err(AuthorError::input(format!("world `{world}` is not in the contract"))
        .hint(format!("there are: {}{meant}", known.join(", "))))
}

fn no_template(language: Language, world: Option<&str>) -> AuthorError {
    match world {
        Some(world) => {
            AuthorError::input(format!("there is no template in {language} for the world `{world}`")).hint(format!(
                "there are templates for `{DEFAULT_WORLD}` and `judge-module`; for another, begin without `--world`, then name it in `module.yaml` (`world: {world}`) and implement its functions"
            ))
        }
        None => {
            let there: Vec<&str> = template_languages().map(Language::as_str).collect();
            AuthorError::input(format!("there is no template in {language}"))
                .hint(format!("there are templates in: {}", there.join(", ")))
        }
    }
}

/// Rejects a directory that exists and is not empty. Nothing is ever overwritten.
fn refuse_taken(directory: &Path) -> Result<(), AuthorError> {
    let taken = match fs::symlink_metadata(directory) {
        Err(_) => false,
        Ok(metadata) if metadata.is_dir() => {
            fs::read_dir(directory).map_err(AuthorError::io("read", directory))?.next().is_some()
        }
        Ok(_) => true,
    };
    if taken {
        return Err(AuthorError::input(format!("`{}` already exists", directory.display()))
            .hint("nothing is written over: name another directory with `--dir`, or remove it"));
    }
    Ok(())
}

fn write(root: &Path, path: &str, file: &Embedded, names: Option<&Names<'_>>) -> Result<(), AuthorError> {
    let target = root.join(path);
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(AuthorError::io("create", parent))?;
    }
    let content = match (names, std::str::from_utf8(file.bytes)) {
        (Some(names), Ok(text)) => names.fill(text).into_bytes(),
        _ => file.bytes.to_vec(),
    };
    fs::write(&target, content).map_err(AuthorError::io("write", &target))?;
    let mode = if file.executable { 0o755 } else { 0o644 };
    fs::set_permissions(&target, fs::Permissions::from_mode(mode)).map_err(AuthorError::io("change", &target))
}
