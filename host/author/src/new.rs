//! Creates a new project from a template. The templates, the SDKs and the contract are embedded in
//! this program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::parent_directory;
use plumbline_core::closest;
use plumbline_sandbox::componentize::{DEFAULT_WORLD, worlds};
use serde::Serialize;

use crate::error::AuthorError;
use crate::language::Language;

/// The suffix of template files that would otherwise make the template a project of its own. It is
/// dropped.
const DISGUISE: &str = ".in";

/// A project that was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewProject {
    /// The name of the project.
    pub name: String,
    /// The language of the project. `None` for a profile, which has no module.
    pub language: Option<Language>,
    /// The directory of the project.
    pub directory: PathBuf,
    /// The files of the project, without those of the contract and the SDK.
    pub files: Vec<String>,
}

/// Creates a project `name` in `directory`, which must not exist or must be empty.
///
/// The project consists of the template of its language, the contract in `wit/`, and the SDK in
/// `sdk/<language>/`. It is created atomically.
pub fn new_project(
    name: &str,
    language: Language,
    world: Option<&str>,
    directory: &Path,
) -> Result<NewProject, AuthorError> {
    check_name(name)?;
    let world = known_world(world)?;
    let world = world.as_deref();
    let files: Vec<(&str, &Embedded)> = template(language, world).collect();
    if files.is_empty() {
        return Err(no_template(language, world));
    }
    let wit = below("wit").map(|(path, file)| (format!("wit/{path}"), file));
    let sdk = below(&format!("plugin-sdk/{}", language.sdk()));
    let sdk = sdk.map(|(path, file)| (format!("sdk/{language}/{path}"), file));
    create(name, Some(language), directory, files, wit.chain(sdk))
}

/// Creates the bundle of a profile `name` in `directory`, which must not exist or must be empty. Its
/// suite is a small one that runs as it is.
pub fn new_profile(name: &str, directory: &Path) -> Result<NewProject, AuthorError> {
    check_name(name)?;
    create(name, None, directory, below("plugin-sdk/templates/profile").collect(), std::iter::empty())
}

/// Writes the files of a template with the name filled in, and `copies` as they are.
fn create(
    name: &str,
    language: Option<Language>,
    directory: &Path,
    files: Vec<(&str, &Embedded)>,
    copies: impl Iterator<Item = (String, &'static Embedded)>,
) -> Result<NewProject, AuthorError> {
    refuse_taken(directory)?;
    let parent = parent_directory(directory);
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
    for (path, file) in copies {
        write(scratch.path(), &path, file, None)?;
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
fn known_world(world: Option<&str>) -> Result<Option<String>, AuthorError> {
    let Some(world) = world.filter(|world| *world != DEFAULT_WORLD) else { return Ok(None) };
    let known =
        worlds().map_err(|error| AuthorError::system("the contract inside this program is damaged").because(error))?;
    // `judge` is short for `judge-module`.
    let is_meant = |known: &&String| *known == world || known.strip_suffix("-module") == Some(world);
    if let Some(known) = known.iter().find(is_meant) {
        return Ok((known != DEFAULT_WORLD).then(|| known.clone()));
    }
    let meant = closest(world, known.iter().map(String::as_str));
    let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    Err(AuthorError::input(format!("unknown world `{world}`")).hint(format!("worlds: {}{meant}", known.join(", "))))
}

fn no_template(language: Language, world: Option<&str>) -> AuthorError {
    match world {
        Some(world) => {
            AuthorError::input(format!("no template in {language} for the world `{world}`")).hint(format!(
                "the worlds with templates are `{DEFAULT_WORLD}`, `judge-module` and `check-module`; for another, start without `--world`, then set `world: {world}` in `module.yaml`, and implement its functions"
            ))
        }
        None => {
            let there: Vec<&str> = template_languages().map(Language::as_str).collect();
            AuthorError::input(format!("no template in {language}"))
                .hint(format!("languages with templates: {}", there.join(", ")))
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
            .hint("existing files are not replaced: choose another directory with `--dir`, or remove it"));
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

/// Maximum length in bytes of a DNS label.
const MAX_NAME: usize = 63;

/// Checks that `name` is valid for a project. It becomes the name of a plugin, a module and a
/// package, and a part of identifiers.
fn check_name(name: &str) -> Result<(), AuthorError> {
    let bytes = name.as_bytes();
    let inside = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let good = bytes.len() <= MAX_NAME
        && bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.last().is_some_and(|byte| *byte != b'-')
        && bytes.iter().all(inside);
    if good {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_NAME + 1).collect();
    Err(AuthorError::input(format!("invalid project name `{shown}`")).hint(
        "use lower-case letters, digits and `-`, beginning with a letter, not ending with `-`, at most 63: `my-format`",
    ))
}

/// The names that replace the placeholders of a template.
struct Names<'a> {
    name: &'a str,
    ident: String,
    type_name: String,
}

impl<'a> Names<'a> {
    fn of(name: &'a str) -> Self {
        let word = |word: &str| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
        };
        Self { name, ident: name.replace('-', "_"), type_name: name.split('-').map(word).collect() }
    }

    fn fill(&self, text: &str) -> String {
        text.replace("__NAME__", self.name).replace("__IDENT__", &self.ident).replace("__TYPE__", &self.type_name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Embedded {
    /// The path below the root of the sources, such as `plugin-sdk/rust/src/lib.rs`.
    path: &'static str,
    bytes: &'static [u8],
    executable: bool,
}

static FILES: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Returns the files below a directory, with their paths relative to it.
fn below(directory: &str) -> impl Iterator<Item = (&'static str, &'static Embedded)> + use<> {
    let prefix = format!("{directory}/");
    FILES.iter().filter_map(move |file| Some((file.path.strip_prefix(&prefix)?, file)))
}

/// Returns the files of the project template for a language and world; none if there is no
/// template. The template for the default world is named after the language. For another world, the
/// name of the world follows.
fn template(
    language: Language,
    world: Option<&str>,
) -> impl Iterator<Item = (&'static str, &'static Embedded)> + use<> {
    let name = match world {
        Some(world) => format!("{language}-{world}"),
        None => language.to_string(),
    };
    below(&format!("plugin-sdk/templates/{name}"))
}

/// Returns the languages that have a template.
pub fn template_languages() -> impl Iterator<Item = Language> {
    Language::ALL.into_iter().filter(|language| template(*language, None).next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_used_everywhere_are_refused() {
        for good in ["a", "my-format", "x2", &"a".repeat(63)] {
            check_name(good).unwrap();
        }
        for bad in ["", "A", "2x", "-a", "a-", "a_b", "a.b", "../x", "a b", "ü", &"a".repeat(64)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn each_place_gets_the_name_in_its_own_spelling() {
        let names = Names::of("my-format-2");
        assert_eq!(names.fill("__NAME__ __IDENT__ __TYPE__ _NAME_"), "my-format-2 my_format_2 MyFormat2 _NAME_");
    }
}
