//! Why an archive is not where it should be.

pub(crate) use plumbline_core::chain;

/// Why an archive could not be sent. The archive itself is where it was.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The address says nothing that could be sent to.
    #[error("`{url}` is not an address for an archive: {why}")]
    Address {
        /// The address, without credentials.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The archive cannot be read.
    #[error("failed to read `{path}`: {source}")]
    Read {
        /// The archive.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The storage did not take it, after every attempt.
    #[error("failed to send the archive to `{address}` ({attempts} attempts): {cause}")]
    Refused {
        /// Where it was to go.
        address: String,
        /// How often it was tried.
        attempts: usize,
        /// What the other end said last.
        cause: String,
        /// Whether another attempt could help.
        transient: bool,
    },
}
