//! Typed names of plugins, nodes, results and runs, so that they cannot be mixed up. They are
//! validated on input, and code can rely on the types. Also nodes as expectations modules see them,
//! and the rules for the names of modules and of files.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text::first_chars;

/// The node name that represents the whole cluster in a result key.
pub const GLOBAL: &str = "global";

/// The maximum length of a Kubernetes object name in bytes (DNS-1123 subdomain, RFC 1123).
const MAX_SUBDOMAIN: usize = 253;

/// The maximum length of a module name in bytes.
pub const MAX_MODULE_NAME: usize = 63;

/// The number of characters of an invalid name that a message repeats.
const MAX_SHOWN: usize = 300;

/// Error while parsing a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is not a DNS-1123 subdomain.
    #[error(
        "{what} `{text}` is not valid: use at most 253 lower-case letters, digits, `-` and `.`, and begin and end with a letter or digit"
    )]
    NotASubdomain {
        /// The kind of name.
        what: &'static str,
        /// The text, cut to 300 characters.
        text: String,
    },
    /// The name is reserved.
    #[error("plugin name `{0}` is reserved: choose another")]
    Reserved(String),
    /// The text is not `PLUGIN/NODE`.
    #[error("`{0}` is not a result key: expected `PLUGIN/NODE`")]
    NotAKey(String),
    /// The text is not a UUID.
    #[error("`{0}` is not a run ID: expected a UUID")]
    NotARunId(String),
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= MAX_SUBDOMAIN && text.split('.').all(|label| is_label(label, "-"))
}

/// Returns whether `text` has a lower-case letter or digit at both ends, and between them only such
/// characters and those of `inner`.
pub(crate) fn is_label(text: &str, inner: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(edge) && text.ends_with(edge) && text.chars().all(|c| edge(c) || inner.contains(c))
}

/// Returns whether `text` is a valid module name: lower-case letters, digits, `-`, `_` and `.`,
/// with a letter or digit at both ends.
///
/// The limit is [`MAX_MODULE_NAME`] bytes. A valid name is safe as the stem of a file name
/// (`NAME.wasm`).
pub fn is_module_name(text: &str) -> bool {
    text.len() <= MAX_MODULE_NAME && is_label(text, "-_.")
}

/// Returns whether Kubernetes accepts `key` as a key of a ConfigMap.
pub(crate) fn is_file_name(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= 253
        && key != "."
        && !key.starts_with("..")
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn not_a_subdomain(what: &'static str, text: &str) -> NameError {
    NameError::NotASubdomain { what, text: first_chars(text, MAX_SHOWN).to_owned() }
}

/// Implements what serde needs for a type that `FromStr` reads and `Display` writes.
macro_rules! serde_text {
    ($name:ident, $error:ty) => {
        impl TryFrom<String> for $name {
            type Error = $error;
            fn try_from(text: String) -> Result<Self, $error> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
    };
}
pub(crate) use serde_text;

macro_rules! text_newtype {
    ($name:ident) => {
        impl $name {
            /// Returns the name as a string.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
        serde_text!($name, NameError);
    };
}

/// The name of a plugin: a DNS-1123 subdomain, unique in a run. `sonobuoy` and `plumbline` are
/// reserved. Clones share the text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PluginName(Arc<str>);
text_newtype!(PluginName);

impl FromStr for PluginName {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        if !is_subdomain(text) {
            return Err(not_a_subdomain("plugin name", text));
        }
        if text == "sonobuoy" || text == "plumbline" {
            return Err(NameError::Reserved(text.to_owned()));
        }
        Ok(Self(text.into()))
    }
}

/// The name of a node, or [`GLOBAL`]. It is a DNS-1123 subdomain, so it is safe as one segment of a
/// path or URL. Clones share the text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeName(Arc<str>);
text_newtype!(NodeName);

impl NodeName {
    /// Returns the name that represents the whole cluster.
    pub fn global() -> Self {
        Self(GLOBAL.into())
    }

    /// Returns whether this name represents the whole cluster.
    pub fn is_global(&self) -> bool {
        self.as_str() == GLOBAL
    }
}

impl FromStr for NodeName {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        if is_subdomain(text) { Ok(Self(text.into())) } else { Err(not_a_subdomain("node name", text)) }
    }
}

/// The key of one result of one plugin, from one node or for the whole cluster. Written
/// `PLUGIN/NODE`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ResultKey {
    /// The name of the plugin.
    pub plugin: PluginName,
    /// The name of the node, or [`GLOBAL`].
    pub node: NodeName,
}

impl ResultKey {
    /// Creates the key of `plugin`'s result on `node`.
    pub fn new(plugin: PluginName, node: NodeName) -> Self {
        Self { plugin, node }
    }

    /// Creates the key of `plugin`'s cluster-wide result.
    pub fn global(plugin: PluginName) -> Self {
        Self { plugin, node: NodeName::global() }
    }
}

impl fmt::Display for ResultKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.plugin, self.node)
    }
}

impl FromStr for ResultKey {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        let (plugin, node) =
            text.split_once('/').ok_or_else(|| NameError::NotAKey(first_chars(text, MAX_SHOWN).to_owned()))?;
        Ok(Self { plugin: plugin.parse()?, node: node.parse()? })
    }
}

serde_text!(ResultKey, NameError);

/// The ID of a run: a random UUID. Users see its first six hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(uuid::Uuid);

impl RunId {
    /// Creates a random ID.
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4())
    }

    /// Returns the short form for users: six hexadecimal digits.
    pub fn short(&self) -> String {
        self.0.simple().to_string().chars().take(6).collect()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for RunId {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        uuid::Uuid::parse_str(text).map(Self).map_err(|_| NameError::NotARunId(first_chars(text, MAX_SHOWN).to_owned()))
    }
}

/// A taint of a node (Kubernetes core/v1 `Taint`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// The key of the taint.
    pub key: String,
    /// The value of the taint. May be empty.
    #[serde(default)]
    pub value: String,
    /// The effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// A node of the cluster, or this machine in a local run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The name of the node.
    pub name: NodeName,
    /// The labels of the node.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The taints of the node.
    #[serde(default)]
    pub taints: Vec<Taint>,
    /// Whether the condition `Ready` is `True`.
    pub ready: bool,
    /// Whether the node is cordoned.
    #[serde(default)]
    pub unschedulable: bool,
    /// The operating system, such as `linux` or `windows`. Empty if unknown.
    #[serde(default)]
    pub os: String,
    /// The CPU architecture, such as `amd64` or `arm64`. Empty if unknown.
    #[serde(default)]
    pub arch: String,
}

/// Returns the session ID of a plugin in a run: 16 lower-case hexadecimal digits.
///
/// The same input always yields the same ID, so that a restarted aggregator finds the objects that
/// it created before. Every plugin of a run has a different ID, because selectors of two DaemonSets
/// must not overlap.
pub fn session_id(run: &RunId, plugin: &PluginName) -> String {
    // FNV-1a with 64 bits is enough: the IDs only have to differ and are not a security measure.
    let bytes = run.to_string().into_bytes().into_iter().chain([0]).chain(plugin.as_str().bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_names_follow_dns_1123() {
        for good in ["e2e", "systemd-logs", "a.b-c.d", "0"] {
            assert!(good.parse::<PluginName>().is_ok(), "{good}");
        }
        for bad in ["", "E2E", "-a", "a-", "a..b", ".a", "a/b", "a_b", "sonobuoy", "plumbline", &"a".repeat(254)] {
            assert!(bad.parse::<PluginName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn module_names_are_safe_as_file_stems() {
        for good in ["junit", "e2e", "go-json", "a.b_c", "7"] {
            assert!(is_module_name(good), "{good}");
        }
        for bad in ["", "JUnit", "../junit", "a/b", "-a", "a.", ".a", "a b", "ünit", &"a".repeat(64)] {
            assert!(!is_module_name(bad), "{bad}");
        }
    }

    #[test]
    fn keys_round_trip() {
        let key: ResultKey = "e2e/global".parse().unwrap();
        assert!(key.node.is_global());
        assert_eq!(key.to_string().parse::<ResultKey>().unwrap(), key);
        assert!("e2e".parse::<ResultKey>().is_err());
        assert!("e2e/../x".parse::<ResultKey>().is_err());
    }

    #[test]
    fn run_ids_round_trip() {
        let id = RunId::random();
        assert_eq!(id.to_string().parse::<RunId>().unwrap(), id);
        assert_eq!(id.short().len(), 6);
    }

    #[test]
    fn one_for_each_plugin_of_each_run() {
        let run: RunId = "7f3a9c00-0000-4000-8000-000000000001".parse().unwrap();
        let other = RunId::random();
        let (e2e, logs) = ("e2e".parse().unwrap(), "systemd-logs".parse().unwrap());
        let id = session_id(&run, &e2e);
        assert_eq!(id.len(), 16);
        assert_eq!(id, session_id(&run, &e2e));
        assert_ne!(id, session_id(&run, &logs));
        assert_ne!(id, session_id(&other, &e2e));
    }
}
