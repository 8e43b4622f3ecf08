//! File names from the network.

use std::fmt;
use std::str::FromStr;

/// The maximum length of a file name in bytes: the limit of Linux for one path segment
/// (`NAME_MAX`).
pub const MAX_FILE_NAME_BYTES: usize = 255;

/// A name that is safe as one path segment: not empty, not `.` or `..`, and without `/`, `\` and
/// control characters. It has at most [`MAX_FILE_NAME_BYTES`].
///
/// A leading dash is allowed. The name is never passed to a shell, and rejecting a plugin's result
/// would be worse than a surprise for a user who types `rm *` in an unpacked archive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeFileName(String);

/// Error for an invalid file name. Respond with 400, because the sender is either broken or
/// malicious.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileNameError {
    /// The name is empty.
    #[error("the file name is empty")]
    Empty,
    /// The name leads out of its directory, or refers to it.
    #[error("file name `{0}` is a path: send the name of one file")]
    Path(String),
    /// The name has a control character, which may harm terminals and archive tools.
    #[error("file name `{0}` holds a control character")]
    Control(String),
    /// The name is too long for a file system.
    #[error("the file name has {0} bytes: at most {MAX_FILE_NAME_BYTES} are possible")]
    TooLong(usize),
}

impl SafeFileName {
    /// The name of a file whose sender gives none (docs/protocol.md, "Results").
    pub const FALLBACK: &str = "result";

    /// Returns [`SafeFileName::FALLBACK`] as a name.
    #[must_use]
    pub fn fallback() -> Self {
        Self(Self::FALLBACK.to_owned())
    }

    /// Returns the name as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SafeFileName {
    type Err = FileNameError;

    fn from_str(text: &str) -> Result<Self, FileNameError> {
        if text.is_empty() {
            return Err(FileNameError::Empty);
        }
        if text.len() > MAX_FILE_NAME_BYTES {
            return Err(FileNameError::TooLong(text.len()));
        }
        if text.chars().any(char::is_control) {
            return Err(FileNameError::Control(text.escape_debug().to_string()));
        }
        if text.contains(['/', '\\']) || matches!(text, "." | "..") {
            return Err(FileNameError::Path(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for SafeFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for SafeFileName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl AsRef<std::path::Path> for SafeFileName {
    fn as_ref(&self) -> &std::path::Path {
        std::path::Path::new(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::{Component, Path};

    #[test]
    fn ordinary_names_pass() {
        for name in
            ["result", "e2e.tar.gz", ".hidden", "...", "a b (1).xml", "-rf", "ergebnis-für-müller.json", "日本.txt"]
        {
            assert_eq!(name.parse::<SafeFileName>().unwrap().as_str(), name);
        }
        assert!("x".repeat(255).parse::<SafeFileName>().is_ok());
    }

    #[test]
    fn hostile_names_are_refused_with_the_reason() {
        for (name, message) in [
            ("", "the file name is empty"),
            (".", "file name `.` is a path: send the name of one file"),
            ("..", "file name `..` is a path: send the name of one file"),
            ("../../etc/passwd", "file name `../../etc/passwd` is a path: send the name of one file"),
            ("/etc/passwd", "file name `/etc/passwd` is a path: send the name of one file"),
            ("a\\b", "file name `a\\b` is a path: send the name of one file"),
            ("a\0b", "file name `a\\0b` holds a control character"),
            ("a\nb", "file name `a\\nb` holds a control character"),
            ("a\u{1b}[2Jb", "file name `a\\u{1b}[2Jb` holds a control character"),
            ("a\u{85}b", "file name `a\\u{85}b` holds a control character"),
        ] {
            assert_eq!(name.parse::<SafeFileName>().unwrap_err().to_string(), message);
        }
        let long = "é".repeat(128).parse::<SafeFileName>().unwrap_err();
        assert_eq!(long.to_string(), "the file name has 256 bytes: at most 255 are possible");
    }

    proptest! {
        #[test]
        fn what_passes_is_one_ordinary_segment(text in "[\\PC./\\\\]{0,300}") {
            if let Ok(name) = text.parse::<SafeFileName>() {
                let path: &Path = name.as_ref();
                let parts: Vec<_> = path.components().collect();
                prop_assert!(matches!(parts.as_slice(), [Component::Normal(part)] if **part == *name.as_str()));
            }
        }
    }
}
