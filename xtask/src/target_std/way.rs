//! The ways to get a standard library, with their numbers in messages.

use std::env;
use std::fmt;

use crate::error::Error;

/// The variable that restricts the ways to one.
const VARIABLE: &str = "PLUMBLINE_WASM_STD";

/// A way to get a standard library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StdSource {
    Installed,
    Rustup,
    DebianSource,
    DebianRust,
}

impl StdSource {
    /// Returns its number in help and messages.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Installed => 1,
            Self::Rustup => 2,
            Self::DebianSource => 3,
            Self::DebianRust => 4,
        }
    }
}

impl fmt::Display for StdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Installed => "installed in the toolchain",
            Self::Rustup => "added by rustup",
            Self::DebianSource => "built from Debian's source of the same Rust",
            Self::DebianRust => "Debian's packaged Rust",
        })
    }
}

/// A way that failed, with the reason.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) way: StdSource,
    pub(crate) reason: String,
}

/// The ways that are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowed {
    All,
    Only(StdSource),
}

impl Allowed {
    /// Reads the setting from the environment.
    pub(crate) fn from_env() -> Result<Self, Error> {
        match env::var_os(VARIABLE) {
            None => Ok(Self::All),
            Some(value) => Self::parse(&value.to_string_lossy()),
        }
    }

    fn parse(value: &str) -> Result<Self, Error> {
        match value {
            "" => Ok(Self::All),
            "1" => Ok(Self::Only(StdSource::Installed)),
            "2" => Ok(Self::Only(StdSource::Rustup)),
            "3" => Ok(Self::Only(StdSource::DebianSource)),
            "4" => Ok(Self::Only(StdSource::DebianRust)),
            other => Err(Error::Usage(format!("{VARIABLE} is `{other}`, but must be 1, 2, 3 or 4"))),
        }
    }

    pub(crate) fn allows(self, way: StdSource) -> bool {
        match self {
            Self::All => true,
            Self::Only(only) => only == way,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for way in [StdSource::Installed, StdSource::Rustup, StdSource::DebianSource, StdSource::DebianRust] {
            let allowed = Allowed::parse(&way.number().to_string()).unwrap();
            assert_eq!(allowed, Allowed::Only(way));
            assert!(allowed.allows(way));
        }
        assert!(!Allowed::Only(StdSource::DebianSource).allows(StdSource::Installed));
        assert!(Allowed::parse("").unwrap().allows(StdSource::Rustup));
        assert!(Allowed::parse("5").is_err());
    }
}
