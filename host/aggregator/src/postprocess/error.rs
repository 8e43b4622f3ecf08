//! Errors of post-processing, and who caused them.

use std::io::{self, ErrorKind};

/// An error of this machine that prevents the tree. Errors in results and modules become items of
/// the tree instead.
#[derive(Debug, thiserror::Error)]
pub enum PostProcessError {
    /// Reading results or writing the tree failed.
    #[error("{what}: {source}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// A default pattern of the module is not a glob.
    #[error("module `{module}` has a default pattern that is not a glob: {source}")]
    Pattern {
        /// Name of the module.
        module: String,
        /// The underlying error.
        source: globset::Error,
    },
}

/// Returns a function that adds what failed to an I/O error.
pub(super) fn io_error(what: impl Into<String>) -> impl FnOnce(io::Error) -> PostProcessError {
    move |source| PostProcessError::Io { what: what.into(), source }
}

/// Returns whether data or a module caused `error`. Errors of the operating system are errors of
/// this machine, except for a path that is too long.
pub(crate) fn is_of_data(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Other | ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::InvalidFilename
    )
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn only_a_failure_of_this_machine_ends_a_run() {
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::IO, Errno::ROFS, Errno::NOMEM, Errno::MFILE, Errno::ACCESS] {
            assert!(!is_of_data(&errno.into()), "{errno}");
        }
        assert!(is_of_data(&Errno::NAMETOOLONG.into()));
        assert!(is_of_data(&io::Error::other("more than 10000 different statuses")));
    }

    /// The crate for temporary files wraps errors of the system.
    #[test]
    fn a_missing_scratch_directory_is_the_fault_of_this_machine() {
        assert!(!is_of_data(&tempfile::tempfile_in("/does/not/exist").unwrap_err()));
    }
}
