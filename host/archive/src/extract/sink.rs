//! Writes members into a directory, whatever their names are.

use std::fs::File;
use std::io;

use cap_std::fs::{Dir, DirBuilder, OpenOptions};

use super::error::{ExtractError, MemberError};
use crate::member::MemberName;

/// File modes before the umask: results are readable by all users, and never set-uid, set-gid or
/// sticky.
#[cfg(unix)]
mod mode {
    pub(super) const DIR: u32 = 0o755;
    pub(super) const FILE: u32 = 0o644;
    pub(super) const EXECUTABLE: u32 = 0o755;
}

/// Creates files and directories inside one directory.
///
/// Each step opens one component relative to the directory before it, and no step follows a link. A
/// link in the way is a conflict, wherever it points. This type never creates links, so any link
/// was put there by someone else.
pub(crate) struct Sink {
    root: Dir,
    /// The directory of the previous member, cached because consecutive members share directories.
    at: Option<(String, Dir)>,
    /// The number of created directories.
    directories: u64,
}

impl Sink {
    pub(crate) fn new(root: Dir) -> Self {
        Self { root, at: None, directories: 0 }
    }

    /// Returns the number of created directories, including those that only occur in names of
    /// files.
    pub(crate) fn directories(&self) -> u64 {
        self.directories
    }

    /// Creates a directory and its missing parents.
    pub(crate) fn dir(&mut self, name: &MemberName) -> Result<(), ExtractError> {
        self.enter(name.as_str(), name)
    }

    /// Creates a file to write to. An existing file with the same name is replaced: as in tar, the
    /// last member with a name wins.
    pub(crate) fn file(&mut self, name: &MemberName, executable: bool) -> Result<File, ExtractError> {
        let Some((parent, base)) = name.split() else {
            return Err(ExtractError::Hostile { member: name.to_string(), why: MemberError::Unnamed });
        };
        self.enter(parent, name)?;
        let dir = self.at.as_ref().map_or(&self.root, |(_, dir)| dir);
        let options = new_file(executable);
        let file = match dir.open_with(base, &options) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let there = dir.symlink_metadata(base).map_err(|source| write_error(name, source))?;
                if !there.is_file() {
                    return Err(conflict(name));
                }
                dir.remove_file(base).and_then(|()| dir.open_with(base, &options))
            }
            result => result,
        };
        file.map(cap_std::fs::File::into_std).map_err(|source| write_error(name, source))
    }

    /// Makes `path` the current directory and creates its missing parts. Errors refer to the member
    /// `name`.
    fn enter(&mut self, path: &str, name: &MemberName) -> Result<(), ExtractError> {
        if self.at.as_ref().is_some_and(|(at, _)| at == path) {
            return Ok(());
        }
        let mut dir = self.root.try_clone().map_err(|source| write_error(name, source))?;
        for component in path.split('/').filter(|component| !component.is_empty()) {
            match dir.create_dir_with(component, &new_dir()) {
                Ok(()) => self.directories += 1,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let there = dir.symlink_metadata(component).map_err(|source| write_error(name, source))?;
                    if !there.is_dir() {
                        return Err(conflict(name));
                    }
                }
                Err(source) => return Err(write_error(name, source)),
            }
            dir = dir.open_dir(component).map_err(|source| write_error(name, source))?;
        }
        self.at = Some((path.to_owned(), dir));
        Ok(())
    }
}

fn new_file(executable: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    // Exclusive creation does not follow links either.
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.mode(if executable { mode::EXECUTABLE } else { mode::FILE });
    }
    #[cfg(not(unix))]
    let _ = executable;
    options
}

fn new_dir() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes to set"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use cap_std::fs::DirBuilderExt;
        builder.mode(mode::DIR);
    }
    builder
}

fn conflict(name: &MemberName) -> ExtractError {
    ExtractError::Hostile { member: crate::member::shown(name.as_str().as_bytes()), why: MemberError::Conflict }
}

pub(crate) fn write_error(name: &MemberName, source: io::Error) -> ExtractError {
    ExtractError::Write { member: crate::member::shown(name.as_str().as_bytes()), source }
}
