//! Putting a directory into the place of another.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Puts `new` into the place `place`. What was there is at `new` afterwards, for the caller to remove.
///
/// Where the system can, the two change places at once, so that a reader finds one of them at any time.
pub(super) fn put(new: &Path, place: &Path) -> io::Result<()> {
    if fs::symlink_metadata(place).is_err() {
        return fs::rename(new, place);
    }
    match renameat_with(CWD, new, CWD, place, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        // Some file systems cannot: then there is a moment without either.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            let aside = new.with_extension("old");
            fs::rename(place, &aside)?;
            match fs::rename(new, place) {
                Ok(()) => fs::rename(&aside, new),
                Err(error) => fs::rename(&aside, place).and(Err(error)),
            }
        }
        Err(error) => Err(error.into()),
    }
}
