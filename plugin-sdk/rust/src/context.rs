//! What a check reads and reaches: files, environment variables, objects of the cluster, and hosts.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::InputFile;
use crate::batches::{BatchSource, Batches};
use crate::input::Source;
use crate::network::{Attempts, Connection, MAX_TARGETS, NetworkError, Request, Response, Target};

/// Maximum number of bytes that [`Context::read`] reads: 16 MiB. Use [`Context::open`] for larger
/// files.
pub const MAX_READ: u64 = 16 << 20;

/// What a check may read and reach, and the function that reports its progress.
///
/// A path is that of the node, such as `/etc/kubernetes/kubelet.conf`. It must be in a directory
/// that the definition grants.
pub struct Context {
    host: Box<dyn Host>,
}

/// The host of a check: the sandbox, or a test.
pub(crate) trait Host {
    /// Opens a file, and returns its size.
    fn open(&mut self, path: &str) -> Result<(u64, Box<dyn Source>), FileError>;
    /// Returns the entries of a directory in any order.
    fn read_dir(&mut self, path: &str) -> Result<Vec<DirEntry>, FileError>;
    fn metadata(&mut self, path: &str) -> Result<Metadata, FileError>;
    fn attributes(&mut self, path: &str) -> Result<Attributes, FileError>;
    fn env(&mut self, name: &str) -> Option<String>;
    /// Returns the time since 1970.
    fn now(&mut self) -> Duration;
    fn sleep(&mut self, time: Duration);
    fn list(&mut self, query: &ObjectQuery) -> Result<Box<dyn BatchSource<Value>>, String>;
    fn get(&mut self, query: &ObjectQuery, name: &str) -> Result<Option<Value>, String>;
    fn send(&mut self, request: &Request) -> Result<Response, NetworkError>;
    fn resolve(&mut self, name: &str) -> Result<Vec<String>, NetworkError>;
    /// Tries at most [`MAX_TARGETS`] connections.
    fn connect(&mut self, targets: &[Target], attempts: Attempts) -> Vec<Result<Connection, NetworkError>>;
    fn report(&mut self, progress: Progress);
}

/// Error while reading a file or directory. Its text has the path and the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileError {
    /// The path is in none of the granted directories, or a granted directory does not exist on
    /// this node.
    NotGranted {
        /// The path.
        path: String,
    },
    /// The file or directory does not exist.
    NotFound {
        /// The path.
        path: String,
    },
    /// The host does not open it: a link out of the granted directory, a pipe, socket or device, a
    /// file with the memory of a process, or a file that the user of the process may not read.
    NotPermitted {
        /// The path.
        path: String,
    },
    /// The file has more than [`MAX_READ`] bytes.
    TooLarge {
        /// The path.
        path: String,
    },
    /// The file is not UTF-8.
    NotText {
        /// The path.
        path: String,
    },
    /// Reading failed for another reason.
    Other {
        /// The path.
        path: String,
        /// The reason.
        cause: String,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted { path } => write!(f, "failed to read `{path}`: no granted directory contains it"),
            Self::NotFound { path } => write!(f, "failed to read `{path}`: it does not exist"),
            Self::NotPermitted { path } => write!(f, "failed to read `{path}`: not permitted"),
            Self::TooLarge { path } => write!(f, "failed to read `{path}`: more than {} MiB", MAX_READ >> 20),
            Self::NotText { path } => write!(f, "failed to read `{path}`: not UTF-8"),
            Self::Other { path, cause } => write!(f, "failed to read `{path}`: {cause}"),
        }
    }
}

impl std::error::Error for FileError {}

impl From<FileError> for String {
    fn from(error: FileError) -> Self {
        error.to_string()
    }
}

/// The type of an entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device, which a check cannot open.
    Other,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DirEntry {
    /// The name, without the directory.
    pub name: String,
    /// The type. Links are not followed.
    pub file_type: FileType,
}

/// Facts about a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Metadata {
    /// The type, after following links.
    pub file_type: FileType,
    /// The size in bytes; 0 for most files of `/proc` and `/sys`.
    pub size: u64,
}

/// The owner and the mode of a file, by POSIX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// The type and the permissions, such as `0o100600` (`st_mode`).
    pub mode: u32,
    /// The user ID.
    pub uid: u32,
    /// The group ID.
    pub gid: u32,
}

impl Attributes {
    /// Returns the permissions, such as `0o600`.
    #[must_use]
    pub const fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }
}

/// Objects of the cluster to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectQuery {
    /// The API group and version, such as `v1` or `apps/v1`.
    pub api_version: String,
    /// The resource by its plural name, such as `nodes`.
    pub resource: String,
    /// The namespace. `None` for all of them, and for objects outside namespaces.
    pub namespace: Option<String>,
    /// The label selector. If empty, all objects.
    pub label_selector: String,
    /// The field selector. If empty, all objects.
    pub field_selector: String,
}

impl ObjectQuery {
    /// Selects all objects of a resource, such as `v1` and `nodes`.
    pub fn new(api_version: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { api_version: api_version.into(), resource: resource.into(), ..Self::default() }
    }

    /// Selects the objects of one namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Selects objects by their labels, such as `app=web`.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = selector.into();
        self
    }

    /// Selects objects by their fields, such as `spec.nodeName=node-1`.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.field_selector = selector.into();
        self
    }
}

/// The objects of a list. The host reads one page of it at a time. The error is one sentence of the
/// host, and no objects follow after it.
pub type Objects = Batches<Value>;

/// The progress of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of completed parts.
    pub completed: u64,
    /// The number of all parts, or 0 if it is not known.
    pub total: u64,
    /// What the check does now.
    pub message: String,
}

impl Context {
    pub(crate) fn new(host: Box<dyn Host>) -> Self {
        Self { host }
    }

    /// Opens a file, to read it as a stream.
    ///
    /// # Errors
    ///
    /// The file does not exist, or cannot be opened.
    pub fn open(&mut self, path: &str) -> Result<InputFile, FileError> {
        let (size, source) = self.host.open(path)?;
        Ok(InputFile::new(path.to_owned(), size, source))
    }

    /// Reads a file of at most [`MAX_READ`] bytes.
    ///
    /// # Errors
    ///
    /// The file does not exist, cannot be read, or is larger.
    pub fn read(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        let read = self.open(path)?.read_within(MAX_READ);
        let bytes = read.map_err(|error| FileError::Other { path: path.to_owned(), cause: error.to_string() })?;
        bytes.ok_or_else(|| FileError::TooLarge { path: path.to_owned() })
    }

    /// Reads a text file of at most [`MAX_READ`] bytes.
    ///
    /// # Errors
    ///
    /// The errors of [`Context::read`], and [`FileError::NotText`].
    pub fn read_to_string(&mut self, path: &str) -> Result<String, FileError> {
        String::from_utf8(self.read(path)?).map_err(|_| FileError::NotText { path: path.to_owned() })
    }

    /// Returns the entries of a directory, sorted by name.
    ///
    /// # Errors
    ///
    /// The directory does not exist, or cannot be read.
    pub fn read_dir(&mut self, path: &str) -> Result<Vec<DirEntry>, FileError> {
        let mut entries = self.host.read_dir(path)?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Returns facts about a file or directory.
    ///
    /// # Errors
    ///
    /// It does not exist, or a link leads out of the granted directory.
    pub fn metadata(&mut self, path: &str) -> Result<Metadata, FileError> {
        self.host.metadata(path)
    }

    /// Returns the owner and the mode of a file of any type, or of a directory.
    ///
    /// # Errors
    ///
    /// It does not exist, or a link leads out of the granted directory.
    pub fn attributes(&mut self, path: &str) -> Result<Attributes, FileError> {
        self.host.attributes(path)
    }

    /// Returns the value of an environment variable, or `None` if it is not set or not granted.
    pub fn env(&mut self, name: &str) -> Option<String> {
        self.host.env(name)
    }

    /// Returns the time since 1970-01-01 00:00 UTC, by the clock of the node.
    pub fn now(&mut self) -> Duration {
        self.host.now()
    }

    /// Waits. The time counts toward the time limit of the check.
    pub fn sleep(&mut self, time: Duration) {
        self.host.sleep(time);
    }

    /// Lists objects of the cluster.
    ///
    /// # Errors
    ///
    /// One sentence of the host, which names a missing grant.
    pub fn list(&mut self, query: &ObjectQuery) -> Result<Objects, String> {
        self.host.list(query).map(Objects::new)
    }

    /// Returns an object of the cluster, or `None` if it does not exist. The selectors of `query` are
    /// not used.
    ///
    /// # Errors
    ///
    /// One sentence of the host, which names a missing grant.
    pub fn get(&mut self, query: &ObjectQuery, name: &str) -> Result<Option<Value>, String> {
        self.host.get(query, name)
    }

    /// Sends an HTTP request and returns the response, whatever its status is.
    ///
    /// # Errors
    ///
    /// The definition does not grant the web server, or the response is incomplete.
    pub fn send(&mut self, request: &Request) -> Result<Response, NetworkError> {
        self.host.send(request)
    }

    /// Returns the addresses of a name, by the resolver of the machine or pod.
    ///
    /// # Errors
    ///
    /// The definition does not grant the name, or it has no address.
    pub fn resolve(&mut self, name: &str) -> Result<Vec<String>, NetworkError> {
        self.host.resolve(name)
    }

    /// Tries to open a TCP connection to each target, many at the same time, and closes it. Returns
    /// one result for each target, in the same order.
    pub fn connect(&mut self, targets: &[Target], attempts: Attempts) -> Vec<Result<Connection, NetworkError>> {
        targets.chunks(MAX_TARGETS).flat_map(|targets| self.host.connect(targets, attempts)).collect()
    }

    /// Reports that `completed` of `total` parts are done. The host skips reports that follow each
    /// other quickly.
    pub fn progress(&mut self, completed: u64, total: u64, message: impl Into<String>) {
        self.host.report(Progress { completed, total, message: message.into() });
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}

/// Returns the granted directory that contains `path`, and the path in it. Of several, the innermost
/// one.
pub(crate) fn locate<'a, 'd, T>(
    path: &'a str,
    directories: impl Iterator<Item = (&'d str, T)>,
) -> Result<(T, &'a str), FileError> {
    let found = directories.filter_map(|(name, directory)| Some((name.len(), directory, below(path, name)?)));
    let (_, directory, rest) =
        found.max_by_key(|(length, ..)| *length).ok_or_else(|| FileError::NotGranted { path: path.to_owned() })?;
    Ok((directory, rest))
}

/// Returns the part of `path` below `directory`, or `None` if it is not in it. The directory itself
/// is `.`.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(directory)?;
    match rest.strip_prefix('/').map(|rest| rest.trim_start_matches('/')) {
        Some("") => Some("."),
        Some(rest) => Some(rest),
        None => rest.is_empty().then_some("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_in_a_directory_by_whole_names() {
        for (path, directory, rest) in [
            ("/etc/kubernetes", "/etc/kubernetes", Some(".")),
            ("/etc/kubernetes/", "/etc/kubernetes", Some(".")),
            ("/etc/kubernetes//a/b", "/etc/kubernetes", Some("a/b")),
            ("/etc/kubernetes/../shadow", "/etc/kubernetes", Some("../shadow")),
            ("/etc/kubernetes-other", "/etc/kubernetes", None),
            ("/etc", "/etc/kubernetes", None),
            ("etc/kubernetes", "/etc/kubernetes", None),
        ] {
            assert_eq!(below(path, directory), rest, "{path}");
        }
    }
}
