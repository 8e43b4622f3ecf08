//! Runs a check natively.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::case::{Given, Native};
use super::{Case, Run};
use crate::batches::BatchSource;
use crate::context::{Attributes, DirEntry, FileError, FileType, Host, Metadata, ObjectQuery, Progress, locate};
use crate::input::Source;
use crate::network::{Attempts, Connection, NetworkError, Request, Response, Target};
use crate::{Checker, Context};

/// What a check may read in a case.
#[derive(Debug, Clone, Default)]
pub(super) struct Granted {
    /// Directories of the node, and where they are on disk.
    directories: Vec<(String, PathBuf)>,
    /// Files of the node.
    files: BTreeMap<String, Vec<u8>>,
    /// Owners and modes by path.
    attributes: BTreeMap<String, Attributes>,
    env: BTreeMap<String, String>,
    /// The time since 1970. `None` for that of this machine.
    now: Option<Duration>,
    /// Objects by API version and resource. The error of a list comes after its objects.
    objects: BTreeMap<(String, String), (Vec<Value>, Option<String>)>,
    /// Answers of web servers by method and URL.
    responses: BTreeMap<(String, String), Result<Response, NetworkError>>,
    /// Addresses by name.
    names: BTreeMap<String, Result<Vec<String>, NetworkError>>,
    connections: BTreeMap<Target, Result<Connection, NetworkError>>,
}

impl Case {
    /// Grants a directory of the node to a check. Its files are those below `disk`, such as
    /// `tests/files/etc/kubernetes`.
    #[must_use]
    pub fn node_directory(mut self, path: impl Into<String>, disk: impl Into<PathBuf>) -> Self {
        self.granted.directories.push((path.into(), disk.into()));
        self
    }

    /// Adds a file of the node for a check, without a directory.
    #[must_use]
    pub fn node_file(mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        self.granted.files.insert(path.into(), content.into());
        self
    }

    /// Sets the owner and the mode of a file or directory. Those of all others belong to root, with
    /// the permissions `0o644` or `0o755`.
    #[must_use]
    pub fn attributes(mut self, path: impl Into<String>, attributes: Attributes) -> Self {
        self.granted.attributes.insert(path.into(), attributes);
        self
    }

    /// Sets an environment variable that a check sees.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.granted.env.insert(name.into(), value.into());
        self
    }

    /// Sets the clock of the node, as the time since 1970. It advances when the check sleeps.
    #[must_use]
    pub fn now(mut self, now: Duration) -> Self {
        self.granted.now = Some(now);
        self
    }

    /// Grants a resource of the cluster to a check, and adds objects to it, such as those of a
    /// recorded list. The check gets those whose `metadata.namespace` is the namespace of its
    /// query. Selectors select everything: add only the objects that they would select.
    #[must_use]
    pub fn objects(
        mut self,
        api_version: impl Into<String>,
        resource: impl Into<String>,
        objects: impl IntoIterator<Item = Value>,
    ) -> Self {
        self.granted.objects.entry((api_version.into(), resource.into())).or_default().0.extend(objects);
        self
    }

    /// Makes reading a resource fail with `error` after its objects.
    #[must_use]
    pub fn broken_objects(
        mut self,
        api_version: impl Into<String>,
        resource: impl Into<String>,
        error: impl Into<String>,
    ) -> Self {
        self.granted.objects.entry((api_version.into(), resource.into())).or_default().1 = Some(error.into());
        self
    }

    /// Grants a request to a check, and sets its result. Every other request is denied.
    #[must_use]
    pub fn response(
        mut self,
        method: impl Into<String>,
        url: impl Into<String>,
        result: Result<Response, NetworkError>,
    ) -> Self {
        self.granted.responses.insert((method.into(), url.into()), result);
        self
    }

    /// Grants a name to a check, and sets its addresses. Every other name is denied.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>, result: Result<Vec<String>, NetworkError>) -> Self {
        self.granted.names.insert(name.into(), result);
        self
    }

    /// Grants a connection attempt to a check, and sets its result. Every other one is denied.
    #[must_use]
    pub fn connection(mut self, host: impl Into<String>, port: u16, result: Result<Connection, NetworkError>) -> Self {
        self.granted.connections.insert(Target::new(host, port), result);
        self
    }

    /// Runs a check.
    ///
    /// # Panics
    ///
    /// Where the host would end the call: an item that breaks a rule.
    #[must_use]
    pub fn check<C: Checker>(&self) -> Run {
        let progress = Rc::new(RefCell::new(Vec::new()));
        let mut run = self.gather(|out| {
            let host = Fake { granted: self.granted.clone(), progress: Rc::clone(&progress) };
            C::run(&self.info(), &mut Context::new(Box::new(host)), out)
        });
        run.progress = progress.take();
        run
    }
}

struct Fake {
    granted: Granted,
    progress: Rc<RefCell<Vec<Progress>>>,
}

impl Fake {
    /// Returns where `path` is on disk. As in the sandbox, it leads nowhere outside the directory.
    fn locate(&self, path: &str) -> Result<PathBuf, FileError> {
        let (disk, rest) = locate(path, self.granted.directories.iter().map(|(name, disk)| (name.as_str(), disk)))?;
        let real = |path_on_disk: &Path| path_on_disk.canonicalize().map_err(|error| failed(path, &error));
        let (root, target) = (real(disk)?, real(&disk.join(rest))?);
        if target.starts_with(root) { Ok(target) } else { Err(FileError::NotPermitted { path: path.to_owned() }) }
    }

    fn found(&self, query: &ObjectQuery) -> Result<Given<Value>, String> {
        let ObjectQuery { api_version, resource, namespace, .. } = query;
        let Some((objects, error)) = self.granted.objects.get(&(api_version.clone(), resource.clone())) else {
            return Err(format!("the case grants no `{resource}` of `{api_version}`: add them with `Case::objects`"));
        };
        let in_namespace = |object: &&Value| {
            namespace.as_deref().is_none_or(|namespace| metadata(object, "namespace") == Some(namespace))
        };
        let objects: Vec<Value> = objects.iter().filter(in_namespace).cloned().collect();
        Ok(Given { entries: objects.into_iter(), error: error.clone() })
    }
}

fn metadata<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get(key)?.as_str()
}

impl Host for Fake {
    fn open(&mut self, path: &str) -> Result<(u64, Box<dyn Source>), FileError> {
        if let Some(content) = self.granted.files.get(path) {
            return Ok((content.len() as u64, Box::new(Native::new(io::Cursor::new(content.clone()), None))));
        }
        let disk = self.locate(path)?;
        let found = disk.metadata().map_err(|error| failed(path, &error))?;
        if found.is_dir() {
            return Err(FileError::Other { path: path.to_owned(), cause: "Is a directory".to_owned() });
        }
        if !found.is_file() {
            return Err(FileError::NotPermitted { path: path.to_owned() });
        }
        let file = fs::File::open(disk).map_err(|error| failed(path, &error))?;
        Ok((found.len(), Box::new(Native::new(file, None))))
    }

    fn read_dir(&mut self, path: &str) -> Result<Vec<DirEntry>, FileError> {
        let failed = |error: io::Error| failed(path, &error);
        let entry = |entry: io::Result<fs::DirEntry>| {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Ok(DirEntry { name, file_type: file_type(entry.file_type()?) })
        };
        fs::read_dir(self.locate(path)?).map_err(failed)?.map(entry).collect::<io::Result<_>>().map_err(failed)
    }

    fn metadata(&mut self, path: &str) -> Result<Metadata, FileError> {
        if let Some(content) = self.granted.files.get(path) {
            return Ok(Metadata { file_type: FileType::File, size: content.len() as u64 });
        }
        let found = self.locate(path)?.metadata().map_err(|error| failed(path, &error))?;
        Ok(Metadata { file_type: file_type(found.file_type()), size: found.len() })
    }

    fn attributes(&mut self, path: &str) -> Result<Attributes, FileError> {
        if let Some(attributes) = self.granted.attributes.get(path) {
            return Ok(*attributes);
        }
        let mode = match self.metadata(path)?.file_type {
            FileType::Directory => 0o040_755,
            _ => 0o100_644,
        };
        Ok(Attributes { mode, uid: 0, gid: 0 })
    }

    fn now(&mut self) -> Duration {
        // A clock before 1970 is not set.
        self.granted.now.unwrap_or_else(|| SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default())
    }

    fn sleep(&mut self, time: Duration) {
        // Tests do not wait. The clock of a case that has one advances.
        if let Some(now) = &mut self.granted.now {
            *now = now.saturating_add(time);
        }
    }

    fn env(&mut self, name: &str) -> Option<String> {
        self.granted.env.get(name).cloned()
    }

    fn list(&mut self, query: &ObjectQuery) -> Result<Box<dyn BatchSource<Value>>, String> {
        Ok(Box::new(self.found(query)?))
    }

    fn get(&mut self, query: &ObjectQuery, name: &str) -> Result<Option<Value>, String> {
        let mut found = self.found(query)?;
        match (found.entries.find(|object| metadata(object, "name") == Some(name)), found.error) {
            (None, Some(error)) => Err(error),
            (object, _) => Ok(object),
        }
    }

    fn send(&mut self, request: &Request) -> Result<Response, NetworkError> {
        let Request { method, url, .. } = request;
        let found = self.granted.responses.get(&(method.clone(), url.clone())).cloned();
        found.unwrap_or_else(|| Err(denied(&format!("{method} {url}"), "response")))
    }

    fn resolve(&mut self, name: &str) -> Result<Vec<String>, NetworkError> {
        self.granted.names.get(name).cloned().unwrap_or_else(|| Err(denied(name, "name")))
    }

    fn connect(&mut self, targets: &[Target], _: Attempts) -> Vec<Result<Connection, NetworkError>> {
        let result = |target: &Target| {
            let found = self.granted.connections.get(target).cloned();
            found.unwrap_or_else(|| Err(denied(&format!("{}:{}", target.host, target.port), "connection")))
        };
        targets.iter().map(result).collect()
    }

    fn report(&mut self, progress: Progress) {
        self.progress.borrow_mut().push(progress);
    }
}

fn denied(what: &str, function: &str) -> NetworkError {
    NetworkError::Denied(format!("the case does not grant `{what}`: add it with `Case::{function}`"))
}

fn failed(path: &str, error: &io::Error) -> FileError {
    let path = path.to_owned();
    match error.kind() {
        ErrorKind::NotFound => FileError::NotFound { path },
        ErrorKind::PermissionDenied => FileError::NotPermitted { path },
        _ => FileError::Other { path, cause: error.to_string() },
    }
}

fn file_type(found: fs::FileType) -> FileType {
    if found.is_file() {
        FileType::File
    } else if found.is_dir() {
        FileType::Directory
    } else if found.is_symlink() {
        FileType::Link
    } else {
        FileType::Other
    }
}
