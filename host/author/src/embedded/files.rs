//! The embedded files, as the build script wrote them.

use crate::project::Language;

/// A file that is embedded in this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedded {
    /// The path below the root of the sources, such as `plugin-sdk/rust/src/lib.rs`.
    pub path: &'static str,
    /// The content.
    pub bytes: &'static [u8],
    /// Whether the file is executable.
    pub executable: bool,
}

static FILES: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Returns all embedded files, sorted by path.
#[must_use]
pub fn embedded() -> &'static [Embedded] {
    FILES
}

/// Returns the files below a directory, with their paths relative to it.
fn below(directory: &str) -> impl Iterator<Item = (&'static str, &'static Embedded)> + use<> {
    let prefix = format!("{directory}/");
    FILES.iter().filter_map(move |file| Some((file.path.strip_prefix(&prefix)?, file)))
}

/// Returns the files of the contract.
pub fn wit() -> impl Iterator<Item = (&'static str, &'static Embedded)> {
    below("wit")
}

/// Returns the files of a language's SDK; none if there is no SDK.
pub fn sdk(language: Language) -> impl Iterator<Item = (&'static str, &'static Embedded)> {
    below(&format!("plugin-sdk/{}", language.sdk()))
}

/// Returns the files of the project template for a language and world; none if there is no
/// template. The template for the default world is named after the language. For another world, the
/// name of the world follows.
pub fn template(
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
