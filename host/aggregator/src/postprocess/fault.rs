//! Classification of errors. An error of this machine ends the run. An error of data or of a module
//! becomes a result of its plugin.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

use plumbline_core::{FlatItem, Status};

/// Returns whether data or a module caused `error`. Errors of the operating system are errors of
/// this machine, except for a path that is too long.
pub(crate) fn is_of_data(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Other | ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::InvalidFilename
    )
}

/// Returns the item with status `unknown` for results that could not be read. The reason becomes
/// its name.
pub(super) fn fault_item(reason: String, depth: u32) -> FlatItem {
    FlatItem {
        depth,
        meta: BTreeMap::from([("error".to_owned(), reason.clone())]),
        name: reason,
        status: Some(Status::Unknown),
        ..FlatItem::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

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
