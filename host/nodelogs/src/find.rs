//! The files of a machine's journal, found and opened below a root, whatever links there say.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Dir, Mode, OFlags, ResolveFlags};

/// Files that are looked at. journald itself keeps at most 100 of one kind.
pub const MAX_FILES: usize = 4096;

/// Where the journal is: on disk, and until there is one, in memory.
pub(crate) const DIRECTORIES: [&str; 2] = ["var/log/journal", "run/log/journal"];

/// The root of a machine.
#[derive(Debug)]
pub(crate) struct Root {
    fd: OwnedFd,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Paths of files below the root, sorted.
    pub(crate) files: Vec<String>,
    /// What could not be looked into, and why.
    pub(crate) troubles: Vec<(String, io::Error)>,
    /// Whether there were more than [`MAX_FILES`].
    pub(crate) more: bool,
}

impl Root {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { fd: rustix::fs::open(root, flags, Mode::empty())? })
    }

    /// A regular file below the root, for reading.
    pub(crate) fn file(&self, path: &str) -> io::Result<File> {
        // Not blocking: it may be a pipe.
        let file = File::from(self.at(path, OFlags::RDONLY | OFlags::NONBLOCK)?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other("it is not a regular file")),
        }
    }

    /// Links are resolved as the machine itself would resolve them: an absolute one begins at the root. Kernels before 5.6 cannot do that;
    /// there they are followed as they come, which on a machine with such links leads nowhere.
    fn at(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(&self.fd, path, flags, Mode::empty(), resolve) {
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
                Ok(rustix::fs::openat(&self.fd, path, flags, Mode::empty())?)
            }
            opened => Ok(opened?),
        }
    }

    /// The journal's files: of this machine, where it says which one it is, else of all that have left some.
    pub(crate) fn journal(&self) -> Listing {
        let mut listing = Listing::default();
        let machine = self.machine_id();
        for directory in DIRECTORIES {
            let Some(names) = self.names(directory, &mut listing) else { continue };
            let own = machine.as_ref().filter(|id| names.contains(id));
            for name in &names {
                let path = format!("{directory}/{name}");
                if is_journal(name) {
                    listing.add(path);
                } else if is_id(name) && own.is_none_or(|id| id == name) {
                    for file in self.names(&path, &mut listing).unwrap_or_default() {
                        if is_journal(&file) {
                            listing.add(format!("{path}/{file}"));
                        }
                    }
                }
            }
        }
        listing.files.sort();
        listing
    }

    fn machine_id(&self) -> Option<String> {
        let mut text = String::new();
        self.file("etc/machine-id").ok()?.take(64).read_to_string(&mut text).ok()?;
        let id = text.trim();
        is_id(id).then(|| id.to_owned())
    }

    /// The names in a directory. One that is not there has none, and is no trouble.
    fn names(&self, directory: &str, listing: &mut Listing) -> Option<Vec<String>> {
        let read = || -> io::Result<Vec<String>> {
            let fd = self.at(directory, OFlags::RDONLY | OFlags::DIRECTORY)?;
            let mut names = Vec::new();
            for entry in Dir::read_from(&fd)?.take(2 * MAX_FILES) {
                if let Ok(name) = entry?.file_name().to_str() {
                    names.push(name.to_owned());
                }
            }
            Ok(names)
        };
        match read() {
            Ok(names) => Some(names),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => None,
            Err(error) => {
                listing.troubles.push((format!("/{directory}"), error));
                None
            }
        }
    }
}

impl Listing {
    fn add(&mut self, path: String) {
        if self.files.len() < MAX_FILES {
            self.files.push(path);
        } else {
            self.more = true;
        }
    }
}

/// With `~` at its end: put aside by journald because it was not closed well. It has entries all the same.
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
    const OTHER: &str = "fedcba9876543210fedcba9876543210";

    fn root(files: &[String]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{ID}\n")).unwrap();
        }
        dir
    }

    fn found(dir: &tempfile::TempDir) -> Vec<String> {
        Root::open(dir.path()).unwrap().journal().files
    }

    #[test]
    fn the_machines_own_files_on_disk_and_in_memory() {
        let dir = root(&[
            format!("var/log/journal/{ID}/system.journal"),
            format!("var/log/journal/{ID}/user-1000@1.journal~"),
            format!("var/log/journal/{ID}/notes.txt"),
            format!("var/log/journal/{OTHER}/system.journal"),
            "var/log/journal/lost+found/x.journal".to_owned(),
            format!("run/log/journal/{OTHER}/system.journal"),
        ]);
        let all = [
            format!("run/log/journal/{OTHER}/system.journal"),
            format!("var/log/journal/{ID}/system.journal"),
            format!("var/log/journal/{ID}/user-1000@1.journal~"),
            format!("var/log/journal/{OTHER}/system.journal"),
        ];
        assert_eq!(found(&dir), all, "nobody says which machine this is");
        fs::create_dir(dir.path().join("etc")).unwrap();
        fs::write(dir.path().join("etc/machine-id"), ID).unwrap();
        assert_eq!(found(&dir), all[..3], "in memory there is only the other's");
    }

    #[test]
    fn absolute_links_begin_at_the_root() {
        let dir = root(&[format!("data/journal/{ID}/system.journal")]);
        fs::create_dir_all(dir.path().join("var/log")).unwrap();
        symlink("/data/journal", dir.path().join("var/log/journal")).unwrap();
        assert_eq!(found(&dir), [format!("var/log/journal/{ID}/system.journal")]);
        let root = Root::open(dir.path()).unwrap();
        assert!(root.file(&format!("var/log/journal/{ID}/system.journal")).is_ok());
        symlink("../../../../../../../../etc/passwd", dir.path().join("out")).unwrap();
        assert!(root.file("out").is_err(), "nothing outside can be reached");
        assert!(root.file("data").is_err(), "a directory is no file");
    }

    #[test]
    fn a_machine_without_a_journal_has_no_files_and_no_troubles() {
        let listing = Root::open(root(&[]).path()).unwrap().journal();
        assert!(listing.files.is_empty() && listing.troubles.is_empty() && !listing.more);
    }
}
