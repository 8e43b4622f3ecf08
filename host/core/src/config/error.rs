//! Errors in configurations.

use crate::config::choice::UnknownChoice;
use crate::config::storage::StorageError;
use crate::size::Bytes;

/// Error while reading a configuration. Messages name the key by its path, such as
/// `Limits.PodLogs.SinceTime`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The configuration is larger than [`MAX_CONFIG_BYTES`].
    #[error("configuration has {}: at most {} are read", Bytes(*.bytes), Bytes(super::MAX_CONFIG_BYTES as u64))]
    TooLarge {
        /// The size in bytes.
        bytes: u64,
    },
    /// The configuration is not valid JSON.
    #[error("configuration is not valid JSON: {0}")]
    Json(String),
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
        /// One spelling of the key.
        first: String,
        /// The other spelling of the key.
        second: String,
    },
    /// The key does not accept the value.
    #[error("`{path}`: {cause}")]
    Choice {
        /// The path of the key.
        path: String,
        /// The reason.
        cause: UnknownChoice,
    },
    /// The value does not describe a storage.
    #[error("`{path}`: {cause}")]
    Storage {
        /// The path of the key.
        path: String,
        /// The reason.
        cause: StorageError,
    },
    /// Two mutually exclusive keys are both set.
    #[error("`Limits.PodLogs.SinceTime` and `Limits.PodLogs.SinceSeconds` exclude each other: keep one")]
    ConflictingSince,
}

/// The size limit of a configuration: 1 MiB, the limit of a ConfigMap.
pub const MAX_CONFIG_BYTES: usize = 1 << 20;
