//! The archive that is delivered.

use std::path::PathBuf;

/// A finished archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// The file.
    pub path: PathBuf,
    /// Its name at the destination.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its digest: 64 lower-case hexadecimal digits.
    pub sha256: String,
}
