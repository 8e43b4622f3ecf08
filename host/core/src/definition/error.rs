//! Errors in definitions.

use crate::definition::module_name::MAX_MODULE_NAME;
use crate::driver::UnknownDriver;
use crate::duration::DurationError;
use crate::name::{NameError, PluginName};
use crate::size::{Bytes, SizeError, parse_size};

/// Error while reading a definition. Messages name the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The definition is larger than [`MAX_YAML_BYTES`].
    #[error("definition has {}: at most {} are read", Bytes(*.bytes), Bytes(super::MAX_YAML_BYTES as u64))]
    TooLarge {
        /// The size in bytes.
        bytes: u64,
    },
    /// The definition is not UTF-8.
    #[error("definition is not UTF-8 text: invalid byte at offset {at}")]
    NotUtf8 {
        /// The offset of the first invalid byte.
        at: usize,
    },
    /// The definition is not valid YAML, or exceeds a limit on YAML expansion.
    #[error("definition is not valid YAML: {0}")]
    Yaml(String),
    /// The definition is empty.
    #[error("definition is empty")]
    Empty,
    /// The file contains more than one YAML document.
    #[error("definition has more than one YAML document: write one file per plugin")]
    SeveralDocuments,
    /// A required key is missing.
    #[error("`{0}` is missing, and there is no default")]
    Missing(String),
    /// A value has the wrong type.
    #[error("`{path}` must be {expected}: found {found}")]
    WrongType {
        /// The path of the key.
        path: String,
        /// The expected type.
        expected: &'static str,
        /// The value found.
        found: String,
    },
    /// A key is given twice, in different spellings.
    #[error("`{first}` and `{second}` are the same key: keep one")]
    Twice {
        /// The first spelling of the key.
        first: String,
        /// The second spelling of the key.
        second: String,
    },
    /// The name of the plugin is invalid.
    #[error("`sonobuoy-config.plugin-name`: {0}")]
    Name(#[from] NameError),
    /// The driver is unknown.
    #[error("`sonobuoy-config.driver`: {0}")]
    Driver(#[from] UnknownDriver),
    /// A key of `config-map` is not a valid key of a ConfigMap.
    #[error("`config-map` key `{0}` is not a file name: use letters, digits, `-`, `_` and `.`, at most 253 characters")]
    ConfigMapKey(String),
    /// A YAML or JSON file of `config-map` does not parse.
    #[error("`config-map` file `{key}` is not valid {format}: {cause}")]
    ConfigMapValue {
        /// The name of the file.
        key: String,
        /// `YAML` or `JSON`.
        format: &'static str,
        /// The reason.
        cause: String,
    },
    /// The name of a module is invalid.
    #[error(
        "`{path}`: `{name}` cannot name a module: use lower-case letters, digits, `-`, `_` and `.`, at most {MAX_MODULE_NAME} characters"
    )]
    ModuleName {
        /// The path of the key.
        path: String,
        /// The invalid name.
        name: String,
    },
    /// A duration is invalid.
    #[error("`{path}`: {cause}")]
    Duration {
        /// The path of the key.
        path: String,
        /// The reason.
        cause: DurationError,
    },
    /// A size is invalid.
    #[error("`{path}`: {cause}")]
    Size {
        /// The path of the key.
        path: String,
        /// The reason.
        cause: SizeError,
    },
    /// A limit of a module cannot be granted.
    #[error("`{path}`: {cause}")]
    Limit {
        /// The path of the key.
        path: String,
        /// The reason.
        cause: LimitError,
    },
    /// A file pattern is empty, or leads out of the plugin's directory.
    #[error("`{path}`: {why}")]
    FilePattern {
        /// The path of the key.
        path: String,
        /// The reason, and how to fix it.
        why: &'static str,
    },
    /// A value makes no sense.
    #[error("`{path}`: {why}")]
    Invalid {
        /// The path of the key.
        path: String,
        /// The reason, and how to fix it.
        why: String,
    },
    /// The plugin reruns the failed tests of another plugin, and the two are incompatible.
    #[error("plugin `{plugin}` cannot rerun what fails in `{other}` (`plumbline.reruns`): {why}")]
    Reruns {
        /// The plugin that reruns tests.
        plugin: PluginName,
        /// The plugin whose tests failed.
        other: PluginName,
        /// The reason, and how to fix it.
        why: &'static str,
    },
    /// A chain of judges is too long, or has an invalid entry.
    #[error("`{path}`: {why}")]
    Verdict {
        /// The path of the key.
        path: String,
        /// The reason.
        why: &'static str,
    },
    /// The key is reserved for a later version.
    #[error("`{0}` is reserved for a later version: leave it out or empty")]
    Reserved(String),
    /// Two plugins have the same name.
    #[error("plugin name `{0}` is used twice: names must be unique in a run")]
    DuplicatePlugin(PluginName),
}

/// Error for a limit that cannot be granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// The limit exceeds the operator's cap.
    #[error("limit `{limit}` asks for {}, but the cap is {}: ask for less, or have the operator raise the cap", .unit.show(*.request), .unit.show(*.cap))]
    OverCap {
        /// The name of the limit.
        limit: &'static str,
        /// The requested value.
        request: u64,
        /// The cap.
        cap: u64,
        /// The unit of both values.
        unit: LimitUnit,
    },
    /// The limit is zero, so a module could do nothing.
    #[error("limit `{limit}` is 0: a module could do nothing at all")]
    Zero {
        /// The name of the limit.
        limit: &'static str,
    },
}

/// The size limit of a definition: 2 MiB. In a cluster, all plugins of a run share one ConfigMap of
/// at most 1 MiB.
pub const MAX_YAML_BYTES: usize = 2 << 20;

/// The unit of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitUnit {
    /// The limit is in seconds.
    Seconds,
    /// The limit is in bytes.
    Bytes,
    /// The limit is a number of items, elements or levels.
    Number,
}

impl LimitUnit {
    pub(super) fn show(self, n: u64) -> String {
        match self {
            Self::Seconds => format!("{n} s"),
            // After rounding, two different sizes could look the same.
            Self::Bytes if parse_size(&Bytes(n).to_string()) != Ok(n) => format!("{n} B"),
            Self::Bytes => Bytes(n).to_string(),
            Self::Number => n.to_string(),
        }
    }
}
