//! Warnings about a bundle.

use std::fmt;

use plumbline_core::definition::Warning;

/// A suspicious property of a bundle that does not make it unusable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BundleWarning {
    /// A warning about the definition.
    Definition(Warning),
    /// Two files whose names differ only in case.
    Case(String, String),
    /// A module whose file name cannot be used in a definition.
    ModuleName(String),
    /// A pattern of `plumbline.files` that matches no file.
    Idle(String),
    /// The file that the definition executes does not exist.
    NoCommand(String),
    /// The file that the definition executes is not executable.
    NotExecutable(String),
    /// An argument of the command is the name of a file that is not packed.
    NotPacked(String),
    /// There are more than [`MAX_WARNINGS`](crate::limits::MAX_WARNINGS) warnings.
    More,
}

impl fmt::Display for BundleWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Definition(warning) => warning.fmt(f),
            Self::Case(a, b) => {
                write!(
                    f,
                    "`{a}` and `{b}` differ only in case: on some systems they are one file, and the bundle cannot be unpacked"
                )
            }
            Self::ModuleName(file) => {
                write!(f, "no definition can name module `{file}`: use lower-case letters, digits, `-`, `_` and `.`")
            }
            Self::Idle(pattern) => {
                write!(
                    f,
                    "pattern `{pattern}` of `plumbline.files` takes no file; for all files of a directory write `DIR/**`"
                )
            }
            Self::NoCommand(file) => write!(f, "the command `{file}` is not in the bundle"),
            Self::NotExecutable(file) => write!(f, "the command `{file}` may not be executed: `chmod +x` it"),
            Self::NotPacked(file) => {
                write!(
                    f,
                    "the command's argument `{file}` is a file that is not packed: list it under `plumbline.files`"
                )
            }
            Self::More => f.write_str("there are more warnings, which are left out"),
        }
    }
}
