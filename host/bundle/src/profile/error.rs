//! Errors in `profile.yaml`.

use plumbline_core::NameError;
use plumbline_core::size::Bytes;

use super::model::MAX_PROFILE_BYTES;

/// Error while reading a profile. Messages name the key and the line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The file is too large.
    #[error("profile has {}, more than the limit of {}", Bytes(*.0), Bytes(MAX_PROFILE_BYTES as u64))]
    TooLarge(u64),
    /// The file is not UTF-8.
    #[error("profile is not UTF-8 text: invalid byte at offset {0}")]
    NotUtf8(usize),
    /// The file is not valid YAML, or a value has the wrong type.
    #[error("invalid YAML: {0}")]
    Yaml(String),
    /// A key is not known.
    #[error("unknown key `{key}` (line {line}){meant}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The line.
        line: u64,
        /// `: did you mean …?`, or the known keys.
        meant: String,
    },
    /// A required key is missing.
    #[error("required key `{key}` is missing in the mapping at line {line}")]
    Missing {
        /// The key.
        key: String,
        /// The line at which the mapping begins.
        line: u64,
    },
    /// A value makes no sense.
    #[error("`{path}`: {why} (line {line})")]
    Invalid {
        /// The path of the key.
        path: String,
        /// The reason.
        why: String,
        /// The line.
        line: u64,
    },
    /// The name is not that of a plugin.
    #[error("`name`: {source} (line {line})")]
    Name {
        /// The line.
        line: u64,
        /// The reason.
        source: NameError,
    },
    /// The profile is next to the definition of another plugin.
    #[error("profile `{profile}` is next to the definition of plugin `{plugin}`")]
    OtherPlugin {
        /// The name of the profile.
        profile: String,
        /// The name of the plugin.
        plugin: String,
    },
    /// A file that the profile names is not in the bundle.
    #[error("`{key}`: file `{file}` is not in the bundle")]
    NoFile {
        /// The key that names the file.
        key: &'static str,
        /// The file, or the pattern of files for all versions.
        file: String,
    },
}

impl ProfileError {
    /// Returns a hint with the fix.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "move lists of tests to files of the bundle",
            Self::NotUtf8(_) => "save the file as UTF-8",
            Self::OtherPlugin { .. } => "write the same name into `profile.yaml` and `plugin.yaml`",
            Self::NoFile { .. } => "add the file next to `profile.yaml`, or remove the key",
            _ => "see docs/profiles.md for all keys",
        }
    }
}
