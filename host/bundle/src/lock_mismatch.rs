//! Differences between a plugin and the lock file, as sentences.

use crate::digest::Digest;

/// How a plugin differs from the locked one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockMismatch {
    /// The lock has no such plugin.
    #[error("plugin `{name}` (`{origin}`) is not in the lock file, which has {}", listed(known))]
    Unknown {
        /// Name of the plugin.
        name: String,
        /// The source that the user requested.
        origin: String,
        /// Names of the plugins in the lock.
        known: Vec<String>,
    },
    /// A bundle is locked and a bare definition was found, or the other way round.
    #[error("plugin `{name}` is locked as a {}, and `{origin}` is a {}", kind(*.bundle), kind(!*.bundle))]
    Kind {
        /// Name of the plugin.
        name: String,
        /// The source that the user requested.
        origin: String,
        /// Whether a bundle is locked.
        bundle: bool,
    },
    /// The definition has a different digest.
    #[error(
        "plugin `{name}`: the definition `{origin}` is not the locked one: it has {actual}, and {locked} is locked"
    )]
    Definition {
        /// Name of the plugin.
        name: String,
        /// The source that the user requested.
        origin: String,
        /// The locked digest.
        locked: Digest,
        /// The digest that was found.
        actual: Digest,
    },
    /// The bundle has a different digest.
    #[error(transparent)]
    Bundle(Box<BundleMismatch>),
}

/// How a bundle differs from the locked one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "plugin `{name}`: the bundle `{origin}` is not the locked one: it has {actual}, and {locked} is locked; {}",
    differences(modules)
)]
pub struct BundleMismatch {
    /// Name of the plugin.
    pub name: String,
    /// The source that the user requested.
    pub origin: String,
    /// The locked digest.
    pub locked: Digest,
    /// The digest that was found.
    pub actual: Digest,
    /// Differences of the modules, one phrase each. Empty if the modules are the same.
    pub modules: Vec<String>,
}

impl LockMismatch {
    /// Returns a hint with the fix.
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
