//! Why a definition is refused.

use crate::definition::module_name::MAX_MODULE_NAME;
use crate::driver::UnknownDriver;
use crate::duration::DurationError;
use crate::name::{NameError, PluginName};
use crate::size::{Bytes, SizeError, parse_size};

/// Why a definition is refused. Every message names the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The text is larger than any definition.
    #[error("definition has {}: at most {} are read", Bytes(*.bytes), Bytes(super::MAX_YAML_BYTES as u64))]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// The bytes are not text.
    #[error("definition is not UTF-8 text: byte {at} belongs to no character")]
    NotUtf8 {
        /// Which byte, counted from 0.
        at: usize,
    },
    /// The text is not YAML, or breaks a bound on what YAML may expand to.
    #[error("definition is not valid YAML: {0}")]
    Yaml(String),
    /// There is nothing in the text.
    #[error("definition is empty")]
    Empty,
    /// There is more than one document in the text.
    #[error("definition has more than one YAML document: write one file per plugin")]
    SeveralDocuments,
    /// A key that must be there is not.
    #[error("`{0}` is missing, and there is no default")]
    Missing(String),
    /// A value has another type.
    #[error("`{path}` must be {expected}: found {found}")]
    WrongType {
        /// The key.
        path: String,
        /// What belongs there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A key stands twice, in different spellings.
    #[error("`{first}` and `{second}` are the same key: keep one")]
    Twice {
        /// The key in its first spelling.
        first: String,
        /// The key in its second spelling.
        second: String,
    },
    /// The plugin's name is not one.
    #[error("`sonobuoy-config.plugin-name`: {0}")]
    Name(#[from] NameError),
    /// The driver is not known.
    #[error("`sonobuoy-config.driver`: {0}")]
    Driver(#[from] UnknownDriver),
    /// A file of the config map has a name that no file in a config map can have.
    #[error("`config-map` key `{0}` is not a file name: use letters, digits, `-`, `_` and `.`, at most 253 characters")]
    ConfigMapKey(String),
    /// A file of the config map that says it is YAML or JSON is not.
    #[error("`config-map` file `{key}` is not valid {format}: {cause}")]
    ConfigMapValue {
        /// The file.
        key: String,
        /// `YAML` or `JSON`.
        format: &'static str,
        /// What is wrong with it.
        cause: String,
    },
    /// A module's name is not one.
    #[error(
        "`{path}`: `{name}` cannot name a module: use lower-case letters, digits, `-`, `_` and `.`, at most {MAX_MODULE_NAME} characters"
    )]
    ModuleName {
        /// The key.
        path: String,
        /// The text.
        name: String,
    },
    /// A duration is not one.
    #[error("`{path}`: {cause}")]
    Duration {
        /// The key.
        path: String,
        /// What is wrong with it.
        cause: DurationError,
    },
    /// A size is not one.
    #[error("`{path}`: {cause}")]
    Size {
        /// The key.
        path: String,
        /// What is wrong with it.
        cause: SizeError,
    },
    /// A limit can never be granted.
    #[error("`{path}`: {cause}")]
    Limit {
        /// The key.
        path: String,
        /// What is wrong with it.
        cause: LimitError,
    },
    /// A pattern of files leads out of the plugin's directory, or nowhere.
    #[error("`{path}`: {why}")]
    FilePattern {
        /// The key.
        path: String,
        /// What is wrong with it, and what to write.
        why: &'static str,
    },
    /// A value that cannot be meant.
    #[error("`{path}`: {why}")]
    Invalid {
        /// The key.
        path: String,
        /// What is wrong with it, and what to write.
        why: String,
    },
    /// The plugin runs again what failed in another one, and these two do not go together.
    #[error("plugin `{plugin}` cannot rerun what fails in `{other}` (`plumbline.reruns`): {why}")]
    Reruns {
        /// The plugin.
        plugin: PluginName,
        /// The other one.
        other: PluginName,
        /// What is wrong, and what to do.
        why: &'static str,
    },
    /// A chain of judges is too long, or names what cannot be there.
    #[error("`{path}`: {why}")]
    Verdict {
        /// The key.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The key has no meaning yet.
    #[error("`{0}` is reserved for a later version: leave it out or empty")]
    Reserved(String),
    /// Two plugins have one name.
    #[error("plugin name `{0}` is used twice: names must be unique in a run")]
    DuplicatePlugin(PluginName),
}

/// A limit that cannot be granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// More than the operator allows.
    #[error("limit `{limit}` asks for {}, but the cap is {}: ask for less, or have the operator raise the cap", .unit.show(*.request), .unit.show(*.cap))]
    OverCap {
        /// The limit.
        limit: &'static str,
        /// What was asked for.
        request: u64,
        /// The most that can be had.
        cap: u64,
        /// How both are shown.
        unit: LimitUnit,
    },
    /// Nothing can be done within it.
    #[error("limit `{limit}` is 0: a module could do nothing at all")]
    Zero {
        /// The limit.
        limit: &'static str,
    },
}

/// The largest definition that is read: 2 MiB. All plugins of a run share one ConfigMap of at most 1 MiB in a cluster.
pub const MAX_YAML_BYTES: usize = 2 << 20;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitUnit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Items, elements or levels.
    Number,
}

impl LimitUnit {
    pub(super) fn show(self, n: u64) -> String {
        match self {
            Self::Seconds => format!("{n} s"),
            // Rounded, two sizes might look the same although one is too much.
            Self::Bytes if parse_size(&Bytes(n).to_string()) != Ok(n) => format!("{n} B"),
            Self::Bytes => Bytes(n).to_string(),
            Self::Number => n.to_string(),
        }
    }
}
