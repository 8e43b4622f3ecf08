//! How a plugin differs from the one that is locked, in sentences.

use crate::digest::Digest;

/// How a plugin differs from what is locked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockMismatch {
    /// There is no such plugin in the lock.
    #[error("plugin `{name}` (`{origin}`) is not in the lock file, which has {}", listed(known))]
    Unknown {
        /// The plugin.
        name: String,
        /// What was asked for.
        origin: String,
        /// The plugins of the lock.
        known: Vec<String>,
    },
    /// It was a bundle, and is a definition alone, or the other way round.
    #[error("plugin `{name}` is locked as a {}, and `{origin}` is a {}", kind(*.bundle), kind(!*.bundle))]
    Kind {
        /// The plugin.
        name: String,
        /// What was asked for.
        origin: String,
        /// Whether a bundle was locked.
        bundle: bool,
    },
    /// Its definition is another.
    #[error(
        "plugin `{name}`: the definition `{origin}` is not the locked one: it has {actual}, and {locked} is locked"
    )]
    Definition {
        /// The plugin.
        name: String,
        /// What was asked for.
        origin: String,
        /// The digest that is locked.
        locked: Digest,
        /// The digest that it has.
        actual: Digest,
    },
    /// Its bundle is another.
    #[error(transparent)]
    Bundle(Box<BundleMismatch>),
}

/// How a bundle differs from the one that is locked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "plugin `{name}`: the bundle `{origin}` is not the locked one: it has {actual}, and {locked} is locked; {}",
    differences(modules)
)]
pub struct BundleMismatch {
    /// The plugin.
    pub name: String,
    /// What was asked for.
    pub origin: String,
    /// The digest that is locked.
    pub locked: Digest,
    /// The digest that it has.
    pub actual: Digest,
    /// What is different about its modules, one part of a sentence each; empty if they are the same.
    pub modules: Vec<String>,
}

impl LockMismatch {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "lock the whole set again: `plumbline plugin lock -p REF -p REF`",
            _ => "look at what changed; if it is right, lock the set again: `plumbline plugin lock -p REF -p REF`",
        }
    }
}

fn differences(modules: &[String]) -> String {
    if modules.is_empty() { "its modules are the locked ones".to_owned() } else { modules.join("; ") }
}

fn kind(bundle: bool) -> &'static str {
    if bundle { "bundle" } else { "definition without a bundle" }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
