//! The files, as the build put them here.

use crate::project::Language;

/// A file inside this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedded {
    /// Where it was, below the root of the sources, such as `plugin-sdk/rust/src/lib.rs`.
    pub path: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
    /// Whether it may be executed.
    pub executable: bool,
}

static FILES: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// All of them, sorted by path.
#[must_use]
pub fn embedded() -> &'static [Embedded] {
    FILES
}

/// The files below a directory, with the path from there.
fn below(directory: &str) -> impl Iterator<Item = (&'static str, &'static Embedded)> + use<> {
    let prefix = format!("{directory}/");
    FILES.iter().filter_map(move |file| Some((file.path.strip_prefix(&prefix)?, file)))
}

/// The contract.
pub fn wit() -> impl Iterator<Item = (&'static str, &'static Embedded)> {
    below("wit")
}

/// The SDK of a language; nothing where there is none.
pub fn sdk(language: Language) -> impl Iterator<Item = (&'static str, &'static Embedded)> {
    below(&format!("plugin-sdk/{}", language.sdk()))
}

/// The template of a project in that language for that world; nothing where there is none. The template for the usual world has the
/// language's name, one for another world has the world's name after it.
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

/// The languages that there is a template for.
pub fn template_languages() -> impl Iterator<Item = Language> {
    Language::ALL.into_iter().filter(|language| template(*language, None).next().is_some())
}
