//! Reads files below a root, with size limits.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use plumbline_core::text::Printable;
use rustix::fs::{Dir, Mode, OFlags, ResolveFlags, Stat, StatVfs};
use rustix::io::Errno;

/// Size limit for files with a value or a few lines, in bytes. The largest of them,
/// `/proc/meminfo`, has 2 KiB.
pub(crate) const SMALL: u64 = 64 << 10;

/// Size limit for tables that grow with the load of a machine, in bytes. A node with 1,000
/// containers has about 600 KiB of mounts.
pub(crate) const TABLE: u64 = 1 << 20;

/// Maximum number of directory entries to read. A node with 250 pods has about 500 network
/// interfaces.
const MAX_NAMES: usize = 16_384;

const EMPTY: &str = "is empty";

/// Error while reading a file. Paths are below the root, with a leading slash.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("failed to read {path}: {source}")]
    Io { path: String, source: io::Error },
    /// The path is not a regular file, but for example a pipe or a device.
    #[error("{0} is not a regular file")]
    NotAFile(String),
    #[error("{path} has more than {bound} bytes")]
    TooLarge { path: String, bound: u64 },
    /// The file does not have the expected content.
    #[error("{path}: {what}")]
    Malformed { path: String, what: String },
}

impl Unreadable {
    /// Returns true if the file does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Returns true if the file exists but is empty.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Malformed { what, .. } if what == EMPTY)
    }

    pub(crate) fn malformed(path: &str, what: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), what: what.into() }
    }

    fn io(path: &str) -> impl Fn(Errno) -> Self {
        move |errno| Self::Io { path: path.to_owned(), source: errno.into() }
    }
}

/// A file tree. Paths are absolute within it.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    root: PathBuf,
    /// Whether the root is not this machine's own. If so, links are resolved inside it, and
    /// `/proc/self` is not used.
    foreign: bool,
}

impl Source {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), foreign: root != Path::new("/") }
    }

    /// Returns true if the root is not this machine's own.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Returns the raw content of a file of at most `bound` bytes.
    pub(crate) fn bytes(&self, path: &str, bound: u64) -> Result<Vec<u8>, Unreadable> {
        match self.read(path, bound)? {
            (_, true) => Err(Unreadable::TooLarge { path: path.to_owned(), bound }),
            (bytes, false) => Ok(bytes),
        }
    }

    /// Returns the content of a file of at most `bound` bytes. Bytes that are not UTF-8 are
    /// replaced.
    pub(crate) fn text(&self, path: &str, bound: u64) -> Result<String, Unreadable> {
        Ok(String::from_utf8_lossy(&self.bytes(path, bound)?).into_owned())
    }

    /// Returns the first `bound` bytes of a file, and whether the file is longer.
    pub(crate) fn head(&self, path: &str, bound: u64) -> Result<(String, bool), Unreadable> {
        let (bytes, cut) = self.read(path, bound)?;
        Ok((String::from_utf8_lossy(&bytes).into_owned(), cut))
    }

    fn read(&self, path: &str, bound: u64) -> Result<(Vec<u8>, bool), Unreadable> {
        let io = |source| Unreadable::Io { path: path.to_owned(), source };
        // Opening a pipe would otherwise block until it has a writer.
        let file = File::from(self.open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?);
        if !file.metadata().map_err(io)?.is_file() {
            return Err(Unreadable::NotAFile(path.to_owned()));
        }
        let mut bytes = Vec::new();
        file.take(bound.saturating_add(1)).read_to_end(&mut bytes).map_err(io)?;
        let limit = usize::try_from(bound).unwrap_or(usize::MAX);
        let cut = bytes.len() > limit;
        bytes.truncate(limit);
        Ok((bytes, cut))
    }

    /// Returns the content of a file with one value, without surrounding white space.
    pub(crate) fn value(&self, path: &str) -> Result<String, Unreadable> {
        let text = self.text(path, SMALL)?;
        // Values of the device tree end with NUL.
        let value = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        if value.is_empty() { Err(Unreadable::malformed(path, EMPTY)) } else { Ok(value.to_owned()) }
    }

    /// Returns the content of a file with one number.
    pub(crate) fn number(&self, path: &str) -> Result<u64, Unreadable> {
        let value = self.value(path)?;
        value.parse().map_err(|_| Unreadable::malformed(path, format!("expected a number, found `{}`", brief(&value))))
    }

    /// Returns the names in a directory, sorted.
    pub(crate) fn names(&self, path: &str) -> Result<Vec<String>, Unreadable> {
        let io = Unreadable::io(path);
        let mut names = Vec::new();
        for entry in Dir::new(self.open(path, OFlags::RDONLY | OFlags::DIRECTORY)?).map_err(&io)? {
            let entry = entry.map_err(&io)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if names.len() >= MAX_NAMES {
                return Err(Unreadable::malformed(path, format!("has more than {MAX_NAMES} entries")));
            }
            names.push(String::from_utf8_lossy(name).into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns true if `path` exists. An inaccessible path counts as absent.
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.open(path, OFlags::PATH | OFlags::NOFOLLOW).is_ok()
    }

    /// Returns true if there is a directory at `path`, after following links.
    pub(crate) fn is_directory(&self, path: &str) -> bool {
        self.open(path, OFlags::PATH | OFlags::DIRECTORY).is_ok()
    }

    /// Returns the metadata of `path`, after following links.
    pub(crate) fn stat(&self, path: &str) -> Result<Stat, Unreadable> {
        rustix::fs::fstat(self.open(path, OFlags::PATH)?).map_err(Unreadable::io(path))
    }

    /// Returns size and use of the filesystem that contains `path`. May block forever if the
    /// filesystem's server is gone.
    pub(crate) fn filesystem(&self, path: &str) -> Result<StatVfs, Unreadable> {
        rustix::fs::fstatvfs(self.open(path, OFlags::PATH)?).map_err(Unreadable::io(path))
    }

    /// Returns the type number of the filesystem that contains `path`.
    pub(crate) fn filesystem_kind(&self, path: &str) -> Result<u64, Unreadable> {
        let filesystem = rustix::fs::fstatfs(self.open(path, OFlags::PATH)?).map_err(Unreadable::io(path))?;
        // The type of this field differs between architectures, and may be signed. The numbers have
        // 32 bits.
        Ok(u64::try_from(i128::from(filesystem.f_type) & 0xffff_ffff).unwrap_or_default())
    }

    /// Returns the last component of the target of the link at `path`.
    pub(crate) fn link_name(&self, path: &str) -> Option<String> {
        let link = self.open(path, OFlags::PATH | OFlags::NOFOLLOW).ok()?;
        let target = rustix::fs::readlinkat(link, "", Vec::new()).ok()?;
        let name = target.to_string_lossy().trim_end_matches('/').rsplit('/').next()?.to_owned();
        Some(name).filter(|name| !name.is_empty())
    }

    /// Returns the path of a `/proc` file about a process: this one, or the first process in a
    /// foreign root.
    ///
    /// In a foreign root, `/proc/self` would describe the reader's own namespaces.
    pub(crate) fn process_file(&self, name: &str) -> String {
        let process = if self.foreign { "1" } else { "self" };
        let path = format!("/proc/{process}/{name}");
        if self.exists(&path) { path } else { format!("/proc/{name}") }
    }

    /// Opens a path. In a foreign root, links cannot lead outside.
    fn open(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Unreadable> {
        let flags = flags | OFlags::CLOEXEC;
        let inside = self.root.join(path.trim_start_matches('/'));
        let open = || {
            if !self.foreign {
                return rustix::fs::open(&inside, flags, Mode::empty());
            }
            let root = rustix::fs::open(&self.root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            match rustix::fs::openat2(&root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
                // Kernels before 5.6 lack this call, and old seccomp profiles forbid it. Then a
                // path that is a link is rejected.
                Err(Errno::NOSYS | Errno::PERM) => rustix::fs::open(&inside, flags | OFlags::NOFOLLOW, Mode::empty()),
                opened => opened,
            }
        };
        open().map_err(Unreadable::io(path))
    }
}

/// Returns at most 60 characters of untrusted text for a message.
pub(crate) fn brief(text: &str) -> Printable {
    Printable::escaped(text, 60)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_over_the_limit_is_an_error_and_its_head_is_truncated() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("big"), vec![b'x'; 100]).unwrap();
        let source = Source::new(root.path());
        assert_eq!(source.text("/big", 99).unwrap_err().to_string(), "/big has more than 99 bytes");
        assert_eq!(source.head("/big", 10).unwrap(), ("xxxxxxxxxx".to_owned(), true));
        assert!(!source.head("/big", 100).unwrap().1);
    }

    #[test]
    fn an_endless_device_and_a_silent_pipe_are_refused_at_once() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let source = Source::new(root.path());
        assert_eq!(source.value("/pipe").unwrap_err().to_string(), "/pipe is not a regular file");
        let machine = Source::new(Path::new("/"));
        assert_eq!(machine.value("/dev/zero").unwrap_err().to_string(), "/dev/zero is not a regular file");
    }

    #[test]
    fn links_stay_inside_a_foreign_root() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("run")).unwrap();
        std::fs::write(root.path().join("run/value"), "inside\n").unwrap();
        symlink("/run/value", root.path().join("absolute")).unwrap();
        symlink(outside.path().join("secret"), root.path().join("escape")).unwrap();
        let source = Source::new(root.path());
        assert_eq!(source.value("/absolute").unwrap(), "inside");
        assert!(source.value("/escape").unwrap_err().is_missing());
    }

    #[test]
    fn values_say_what_is_wrong_with_them() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("empty"), " \n").unwrap();
        std::fs::write(root.path().join("word"), "many\n").unwrap();
        std::fs::write(root.path().join("tree"), b"Raspberry Pi 4\0").unwrap();
        let source = Source::new(root.path());
        assert_eq!(source.value("/empty").unwrap_err().to_string(), "/empty: is empty");
        assert_eq!(source.number("/word").unwrap_err().to_string(), "/word: expected a number, found `many`");
        assert_eq!(source.value("/tree").unwrap(), "Raspberry Pi 4");
        assert!(source.value("/none").unwrap_err().to_string().starts_with("failed to read /none: "));
    }
}
