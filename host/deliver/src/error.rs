//! Why an archive is not where it should be.

/// Why an archive could not be sent. The archive itself is where it was.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The address says nothing that could be sent to.
    #[error("`{url}` is no address for an archive: {why}")]
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

/// An error and what caused it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let told = cause.to_string();
        if !text.contains(&told) {
            text.push_str(": ");
            text.push_str(&told);
        }
        next = cause.source();
    }
    text
}
