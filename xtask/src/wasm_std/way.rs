//! The ways to a standard library, as they are numbered for people.

use std::env;
use std::fmt;

use crate::error::Error;

/// The variable that allows one way only.
const VARIABLE: &str = "PLUMBLINE_WASM_STD";

/// A way to a standard library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Installed,
    Rustup,
    DebianSource,
    DebianRust,
}

impl Way {
    /// Its number in help and messages.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Installed => 1,
            Self::Rustup => 2,
            Self::DebianSource => 3,
            Self::DebianRust => 4,
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Installed => "installed in the toolchain",
            Self::Rustup => "added by rustup",
            Self::DebianSource => "built from Debian's source of the same Rust",
            Self::DebianRust => "Debian's packaged Rust",
        })
    }
}

/// Why a way led nowhere.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) way: Way,
    pub(crate) reason: String,
}

/// Which ways may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowed {
    All,
    Only(Way),
}

impl Allowed {
    /// What the environment says.
    pub(crate) fn from_env() -> Result<Self, Error> {
        match env::var_os(VARIABLE) {
            None => Ok(Self::All),
            Some(value) => Self::parse(&value.to_string_lossy()),
        }
    }

    fn parse(value: &str) -> Result<Self, Error> {
        match value {
            "" => Ok(Self::All),
            "1" => Ok(Self::Only(Way::Installed)),
            "2" => Ok(Self::Only(Way::Rustup)),
            "3" => Ok(Self::Only(Way::DebianSource)),
            "4" => Ok(Self::Only(Way::DebianRust)),
            other => Err(Error::Usage(format!("{VARIABLE} is `{other}`, but must be 1, 2, 3 or 4"))),
        }
    }

    pub(crate) fn allows(self, way: Way) -> bool {
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
        for way in [Way::Installed, Way::Rustup, Way::DebianSource, Way::DebianRust] {
            let allowed = Allowed::parse(&way.number().to_string()).unwrap();
            assert_eq!(allowed, Allowed::Only(way));
            assert!(allowed.allows(way));
        }
        assert!(!Allowed::Only(Way::DebianSource).allows(Way::Installed));
        assert!(Allowed::parse("").unwrap().allows(Way::Rustup));
        assert!(Allowed::parse("5").is_err());
    }
}
