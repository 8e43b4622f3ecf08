//! Errors while uploading an archive.

pub(crate) use plumbline_core::chain;

/// Error while uploading an archive. The local archive is not affected.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The URL is not a valid destination.
    #[error("`{url}` is not a destination for an archive: {why}")]
    Address {
        /// The URL, without credentials.
        url: String,
        /// What is wrong with the URL.
        why: String,
    },
    /// The archive is not readable.
    #[error("failed to read `{path}`: {source}")]
    Read {
        /// Path of the archive.
        path: String,
        /// The underlying I/O error.
        source: std::io::Error,
    },
    /// The upload failed after all attempts.
    #[error("failed to send the archive to `{address}` ({attempts} attempts): {cause}")]
    Refused {
        /// URL of the destination.
        address: String,
        /// Maximum number of attempts.
        attempts: usize,
        /// Last error of the server or connection.
        cause: String,
        /// Whether another attempt could help.
        transient: bool,
    },
}
