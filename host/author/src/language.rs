//! The languages that have an SDK and a recipe.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use plumbline_core::closest;
use serde::Serialize;

/// A language for modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Rust.
    Rust,
    /// Go.
    Go,
    /// JavaScript.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// Python.
    Python,
    /// C.
    C,
}

impl Language {
    /// All languages, in the order in which they are listed for users.
    pub const ALL: [Self; 6] = [Self::Rust, Self::Go, Self::JavaScript, Self::TypeScript, Self::Python, Self::C];

    /// Returns the name that `module.yaml` and `--lang` use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Go => "go",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Python => "python",
            Self::C => "c",
        }
    }

    /// Returns the directory of the SDK below `plugin-sdk/`.
    pub fn sdk(self) -> &'static str {
        match self {
            Self::JavaScript | Self::TypeScript => "js",
            other => other.as_str(),
        }
    }

    /// Detects the language of a directory from its files. Returns the language, and the file that
    /// identifies it.
    pub fn detect(directory: &Path) -> Option<(Self, &'static str)> {
        let signs = [
            (Self::Rust, "Cargo.toml"),
            (Self::Go, "go.mod"),
            (Self::TypeScript, "tsconfig.json"),
            (Self::TypeScript, "src/index.ts"),
            (Self::JavaScript, "package.json"),
            (Self::Python, "app.py"),
            (Self::Python, "pyproject.toml"),
        ];
        let by_sign = signs.into_iter().find(|(_, file)| directory.join(file).is_file());
        by_sign.or_else(|| {
            let c = |entry: std::fs::DirEntry| entry.path().extension().is_some_and(|extension| extension == "c");
            let sources = std::fs::read_dir(directory.join("src")).ok()?;
            sources.flatten().any(c).then_some((Self::C, "src/*.c"))
        })
    }

    fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let short = match text {
            "js" => "javascript",
            "ts" => "typescript",
            "py" => "python",
            "golang" => "go",
            "rs" => "rust",
            other => other,
        };
        if let Some(language) = Self::ALL.into_iter().find(|language| language.as_str() == short) {
            return Ok(language);
        }
        let meant = closest(text, Self::ALL.map(Self::as_str));
        let meant = meant.map(|meant| format!(": did you mean `{meant}`?")).unwrap_or_default();
        let shown: String = text.chars().take(40).collect();
        Err(format!("unknown language `{shown}` ({}){meant}", Self::names()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written_and_in_short() {
        for language in Language::ALL {
            assert_eq!(language.as_str().parse(), Ok(language));
        }
        assert_eq!("ts".parse(), Ok(Language::TypeScript));
        let message = "pyhton".parse::<Language>().unwrap_err();
        assert!(message.ends_with("did you mean `python`?"), "{message}");
    }

    #[test]
    fn a_directory_is_known_by_its_files() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Language::detect(dir.path()), None);
        std::fs::create_dir(dir.path().join("src")).unwrap();
        std::fs::write(dir.path().join("src/a.c"), "").unwrap();
        assert_eq!(Language::detect(dir.path()), Some((Language::C, "src/*.c")));
        std::fs::write(dir.path().join("package.json"), "").unwrap();
        assert_eq!(Language::detect(dir.path()), Some((Language::JavaScript, "package.json")));
        std::fs::write(dir.path().join("src/index.ts"), "").unwrap();
        assert_eq!(Language::detect(dir.path()), Some((Language::TypeScript, "src/index.ts")));
    }
}
