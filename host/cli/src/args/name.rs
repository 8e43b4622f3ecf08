//! The names of the program.

use std::ffi::OsStr;
use std::path::Path;

/// Sonobuoy's name. In images, the binary has this name.
pub(crate) const SONOBUOY: &str = "sonobuoy";

/// The name under which this program was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    /// Plumbline, or any other name.
    Plumbline,
    /// Sonobuoy, whose callers expect its exit codes and words.
    Sonobuoy,
}

impl Name {
    /// Returns the name under which this process was called.
    pub(crate) fn current() -> Self {
        Self::of(std::env::args_os().next().as_deref())
    }

    /// Returns the program's name for commands that users copy.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Plumbline => "plumbline",
            Self::Sonobuoy => SONOBUOY,
        }
    }

    /// Determines the name from the file name of the first argument.
    pub(crate) fn of(program: Option<&OsStr>) -> Self {
        match program.and_then(|path| Path::new(path).file_name()) {
            Some(name) if name == OsStr::new(SONOBUOY) => Self::Sonobuoy,
            _ => Self::Plumbline,
        }
    }
}
