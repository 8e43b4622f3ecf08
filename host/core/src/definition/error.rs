//! Errors and warnings in definitions.

use std::fmt;

use crate::name::{MAX_MODULE_NAME, NameError, PluginName};
use crate::size::Bytes;
use crate::text::closest;

/// Error while reading a definition. Messages name the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The definition is larger than [`MAX_YAML_BYTES`].
    #[error("definition has {}, more than the limit of {}", Bytes(*.bytes), Bytes(MAX_YAML_BYTES as u64))]
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
    #[error("required key `{0}` is missing")]
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
    /// A key of Plumbline is misspelled.
    #[error("`{path}` is not a known key: did you mean `{meant}`?")]
    Misspelled {
        /// The path of the key.
        path: String,
        /// The known key.
        meant: &'static str,
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
        "`{path}`: invalid module name `{name}`: use lower-case letters, digits, `-`, `_` and `.`, at most {MAX_MODULE_NAME} characters"
    )]
    ModuleName {
        /// The path of the key.
        path: String,
        /// The invalid name.
        name: String,
    },
    /// A value makes no sense.
    #[error("`{path}` is invalid: {why}")]
    Invalid {
        /// The path of the key.
        path: String,
        /// The reason, and how to fix it.
        why: String,
    },
    /// The plugin reruns the failed tests of another plugin, and the two are incompatible.
    #[error("plugin `{plugin}` cannot rerun failed tests of `{other}` (`plumbline.reruns`): {why}")]
    Reruns {
        /// The plugin that reruns tests.
        plugin: PluginName,
        /// The plugin whose tests failed.
        other: PluginName,
        /// The reason, and how to fix it.
        why: &'static str,
    },
    /// The key is reserved for a later version.
    #[error("`{0}` is reserved for a later version: leave it out or empty")]
    Reserved(String),
    /// Two plugins have the same name.
    #[error("plugin name `{0}` is used twice: names must be unique in a run")]
    DuplicatePlugin(PluginName),
}

/// Error for an unknown driver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown driver `{0}`: use `Job`, `DaemonSet` or `Process`")]
pub struct UnknownDriver(pub String);

/// The size limit of a definition: 2 MiB. In a cluster, all plugins of a run share one ConfigMap of
/// at most 1 MiB.
pub const MAX_YAML_BYTES: usize = 2 << 20;

/// The maximum number of warnings per definition. A hundred are enough to see what is wrong.
pub const MAX_WARNINGS: usize = 100;

/// A suspicious part of a definition that does not make it invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The keys from the top, joined by dots, such as `sonobuoy-config.result-type`.
    pub path: String,
    /// The warning, with the path.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A list of at most [`MAX_WARNINGS`] warnings, and one that says that there are more.
#[derive(Debug, Default)]
pub(super) struct Warnings(pub(super) Vec<Warning>);

impl Warnings {
    /// Warns of the value at `path`. `what` follows the path in the message.
    pub(super) fn add(&mut self, path: &str, what: impl fmt::Display) {
        let path = cut(path);
        let text = format!("`{path}`{what}");
        self.push(Warning { path, text });
    }

    /// Warns that a number or boolean stands in place of a string. A cluster rejects it.
    pub(super) fn not_text(&mut self, path: &str) {
        self.add(path, " is not text: put the value in quotes");
    }

    /// Warns of a key that occurs twice, of which the last one applies. `parser` says where.
    pub(super) fn duplicate_key(&mut self, parser: &str) {
        let text = format!("a key is listed twice and the last one counts: {parser}");
        self.push(Warning { path: String::new(), text });
    }

    /// Warns that `key` at `path` is not among `known`.
    pub(super) fn unknown_key(&mut self, path: &str, key: &str, known: impl Iterator<Item = &'static str>) {
        // The search takes time per key, so skip it for warnings that are not shown.
        let closest = if self.0.len() < MAX_WARNINGS { closest(key, known) } else { None };
        let meant = closest.map(|closest| format!(": did you mean `{closest}`?")).unwrap_or_default();
        self.add(path, format_args!(" is not a known key and is ignored{meant}"));
    }

    fn push(&mut self, warning: Warning) {
        match self.0.len() {
            0..MAX_WARNINGS => self.0.push(warning),
            MAX_WARNINGS => {
                let text = "more warnings are not shown".to_owned();
                self.0.push(Warning { path: String::new(), text });
            }
            _ => {}
        }
    }
}

/// Shortens a path for display, since keys may be as long as the document.
pub(super) fn cut(path: &str) -> String {
    crate::text::shortened(path, 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_bounded() {
        let mut warnings = Warnings::default();
        for i in 0..1_000 {
            warnings.unknown_key(&format!("key-{i}"), "key", ["kex"].into_iter());
        }
        let warnings = warnings.0;
        assert_eq!(warnings.len(), MAX_WARNINGS + 1);
        assert_eq!(warnings[MAX_WARNINGS].to_string(), "more warnings are not shown");
    }
}
