//! Typed names of plugins, nodes, results and runs, so that they cannot be mixed up. They are
//! validated on input, and code can rely on the types.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The node name that represents the whole cluster in a result key.
pub const GLOBAL: &str = "global";

/// The maximum length of a Kubernetes object name in bytes (DNS-1123 subdomain, RFC 1123).
const MAX_SUBDOMAIN: usize = 253;

/// Error while parsing a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is not a DNS-1123 subdomain.
    #[error(
        "{what} `{text}` is not a valid name: use lower-case letters, digits, `-` and `.`, begin and end with a letter or digit, at most 253 characters"
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
    #[error("`{0}` is not a run id: expected a UUID")]
    NotARunId(String),
}

fn is_subdomain(text: &str) -> bool {
    fn edge(b: u8) -> bool {
        b.is_ascii_lowercase() || b.is_ascii_digit()
    }
    !text.is_empty()
        && text.len() <= MAX_SUBDOMAIN
        && text.split('.').all(|label| {
            let bytes = label.as_bytes();
            matches!((bytes.first(), bytes.last()), (Some(&a), Some(&z)) if edge(a) && edge(z))
                && bytes.iter().all(|&b| edge(b) || b == b'-')
        })
}

fn cut(text: &str) -> String {
    text.chars().take(300).collect()
}

macro_rules! text_newtype {
    ($name:ident) => {
        impl $name {
            /// Returns the name as a string.
            #[must_use]
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
        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    };
}

/// The name of a plugin: a DNS-1123 subdomain, unique in a run. `sonobuoy` and `plumbline` are
/// reserved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PluginName(String);
text_newtype!(PluginName);

impl FromStr for PluginName {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        if !is_subdomain(text) {
            return Err(NameError::NotASubdomain { what: "plugin name", text: cut(text) });
        }
        if text == "sonobuoy" || text == "plumbline" {
            return Err(NameError::Reserved(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// The name of a node, or [`GLOBAL`]. It is a DNS-1123 subdomain, so it is safe as one segment of a
/// path or URL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeName(String);
text_newtype!(NodeName);

impl NodeName {
    /// Returns the name that represents the whole cluster.
    #[must_use]
    pub fn global() -> Self {
        Self(GLOBAL.to_owned())
    }

    /// Returns whether this name represents the whole cluster.
    #[must_use]
    pub fn is_global(&self) -> bool {
        self.0 == GLOBAL
    }
}

impl FromStr for NodeName {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        if is_subdomain(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError::NotASubdomain { what: "node name", text: cut(text) })
        }
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
    #[must_use]
    pub fn new(plugin: PluginName, node: NodeName) -> Self {
        Self { plugin, node }
    }

    /// Creates the key of `plugin`'s cluster-wide result.
    #[must_use]
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
        let (plugin, node) = text.split_once('/').ok_or_else(|| NameError::NotAKey(cut(text)))?;
        Ok(Self { plugin: plugin.parse()?, node: node.parse()? })
    }
}

impl TryFrom<String> for ResultKey {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<ResultKey> for String {
    fn from(key: ResultKey) -> String {
        key.to_string()
    }
}

/// The ID of a run: a random UUID. Users see its first six hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(uuid::Uuid);

impl RunId {
    /// Creates a random ID.
    #[must_use]
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4())
    }

    /// Returns the short form for users: six hexadecimal digits.
    #[must_use]
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
        uuid::Uuid::parse_str(text).map(Self).map_err(|_| NameError::NotARunId(cut(text)))
    }
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
}
