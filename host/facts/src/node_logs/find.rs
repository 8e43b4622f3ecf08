//! Finds a journal below a root.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Dir, Mode, OFlags, ResolveFlags};

/// Maximum number of names to read from a directory. journald keeps at most 100 files of one kind.
const MAX_NAMES: usize = 8192;
/// The directories of the journal, on disk and in memory.
const DIRECTORIES: [&str; 2] = ["var/log/journal", "run/log/journal"];

/// The root directory of a machine.
#[derive(Debug)]
pub(crate) struct Root {
    fd: OwnedFd,
}

impl Root {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { fd: rustix::fs::open(root, flags, Mode::empty())? })
    }

    /// Returns true if there is a journal file. The error names the directory that could not be
    /// read.
    pub(crate) fn has_journal(&self) -> Result<bool, (String, io::Error)> {
        for directory in DIRECTORIES {
            for name in self.names(directory)? {
                if is_journal(&name) {
                    return Ok(true);
                }
                if is_id(&name) && self.names(&format!("{directory}/{name}"))?.iter().any(|name| is_journal(name)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns the names in a directory, or none if it does not exist.
    fn names(&self, directory: &str) -> Result<Vec<String>, (String, io::Error)> {
        let read = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in Dir::read_from(&self.directory(directory)?)?.take(MAX_NAMES) {
                if let Ok(name) = entry?.file_name().to_str() {
                    names.push(name.to_owned());
                }
            }
            Ok(names)
        };
        match read() {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Vec::new())
            }
            names => names.map_err(|error| (format!("/{directory}"), error)),
        }
    }

    /// Opens a directory and resolves links as the machine does: an absolute link starts at the
    /// root.
    ///
    /// Kernels before 5.6 cannot do that. There, links are followed as usual.
    fn directory(&self, path: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(&self.fd, path, flags, Mode::empty(), resolve) {
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
                Ok(rustix::fs::openat(&self.fd, path, flags, Mode::empty())?)
            }
            opened => Ok(opened?),
        }
    }
}

/// Returns true for a journal file. journald appends `~` to a file that was not closed properly.
fn is_journal(name: &str) -> bool {
    name.strip_suffix('~').unwrap_or(name).ends_with(".journal")
}

fn is_id(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    fn root(file: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        dir
    }

    #[test]
    fn a_journal_is_found_on_disk_and_in_memory() {
        for (file, found) in [
            (format!("var/log/journal/{ID}/system.journal"), true),
            (format!("run/log/journal/{ID}/user-1000@1.journal~"), true),
            ("var/log/journal/remote.journal".to_owned(), true),
            (format!("var/log/journal/{ID}/notes.txt"), false),
            ("var/log/journal/lost+found/x.journal".to_owned(), false),
            ("etc/machine-id".to_owned(), false),
        ] {
            let dir = root(&file);
            assert_eq!(Root::open(dir.path()).unwrap().has_journal().unwrap(), found, "{file}");
        }
    }

    #[test]
    fn absolute_links_start_at_the_root() {
        let dir = root(&format!("data/journal/{ID}/system.journal"));
        fs::create_dir_all(dir.path().join("var/log")).unwrap();
        symlink("/data/journal", dir.path().join("var/log/journal")).unwrap();
        assert!(Root::open(dir.path()).unwrap().has_journal().unwrap());
    }
}
