//! The archive to upload.

use std::path::PathBuf;

/// A finished archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Path of the file.
    pub path: PathBuf,
    /// Name at the destination.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 as 64 lower-case hexadecimal digits.
    pub sha256: String,
}
