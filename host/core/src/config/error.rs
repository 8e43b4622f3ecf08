//! Why a configuration is refused.

use crate::config::choice::UnknownChoice;
use crate::config::storage::StorageError;
use crate::size::Bytes;

/// Why a configuration is refused. Messages name the key by its path, such as `Limits.PodLogs.SinceTime`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is larger than any configuration.
    #[error("configuration has {}: at most {} are read", Bytes(*.bytes), Bytes(super::MAX_CONFIG_BYTES as u64))]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// The text is not JSON.
    #[error("configuration is not valid JSON: {0}")]
    Json(String),
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
        /// The key in one spelling.
        first: String,
        /// The key in another.
        second: String,
    },
    /// A value is none of those that the key has.
    #[error("`{path}`: {cause}")]
    Choice {
        /// The key.
        path: String,
        /// What is wrong with it.
        cause: UnknownChoice,
    },
    /// A storage is not one.
    #[error("`{path}`: {cause}")]
    Storage {
        /// The key.
        path: String,
        /// What is wrong with it.
        cause: StorageError,
    },
    /// Two keys exclude each other.
    #[error("`Limits.PodLogs.SinceTime` and `Limits.PodLogs.SinceSeconds` exclude each other: keep one")]
    TwoBeginnings,
}

/// The largest configuration that is read: 1 MiB, which is what a ConfigMap can hold.
pub const MAX_CONFIG_BYTES: usize = 1 << 20;
