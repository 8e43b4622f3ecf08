//! Writes the files of a survey: complete documents, and lists that become one file or one for each
//! namespace. Files are written in a scratch directory, and moved to their final path when they are
//! complete.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value};

use super::discovery::Resource;
use super::list::Sink;
use super::selection::NamespaceFilter;
use crate::names::is_safe_name;
use crate::pod_view::text_at;

/// The scratch directory, below the directory of the survey. It is on the same file system, so that
/// files can be moved.
const SCRATCH: &str = ".query.part";

/// The scratch directory. It is removed with its incomplete files when the last owner drops it.
pub(super) struct Scratch {
    out: PathBuf,
    dir: PathBuf,
    next: AtomicU64,
}

impl Scratch {
    /// Creates the scratch directory below `out`, which is created too. The remains of a killed
    /// survey are removed.
    pub(super) fn new(out: &Path) -> io::Result<Arc<Self>> {
        let dir = out.join(SCRATCH);
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir_all(&dir)?,
        }
        Ok(Arc::new(Self { out: out.to_owned(), dir, next: AtomicU64::new(0) }))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.join(self.next.fetch_add(1, Ordering::Relaxed).to_string())
    }

    pub(super) fn place(&self, relative: &str) -> PathBuf {
        self.out.join(relative)
    }

    pub(super) fn put(&self, from: &Path, relative: &str) -> io::Result<()> {
        let to = self.place(relative);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::rename(from, to)
    }

    pub(super) fn write(&self, relative: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path();
        fs::write(&path, bytes)?;
        self.put(&path, relative)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            tracing::warn!("failed to remove `{}`: {error}", self.dir.display());
        }
    }
}

/// Maximum number of open files of one list. The server sorts by namespace, so this is enough.
/// Other servers cause files to be reopened.
const MAX_OPEN: usize = 4;

#[derive(Debug, Clone)]
pub(super) enum Destination {
    /// The directory `resources/cluster/`.
    Cluster,
    /// `resources/ns/NAMESPACE/` for this namespace.
    Namespace(String),
    /// `resources/ns/NAMESPACE/` for each object's namespace, if the filter selects it.
    EachNamespace(NamespaceFilter),
}

/// The files of one list. A list over all namespaces becomes one file for each.
pub(super) struct ListFiles {
    scratch: Arc<Scratch>,
    resource: Resource,
    place: Destination,
    parts: BTreeMap<String, Part>,
    /// The directories with open files, most recently used last.
    open: VecDeque<String>,
    left_out: LeftOut,
}

struct Part {
    path: PathBuf,
    file: Option<BufWriter<File>>,
}

/// Objects that were requested but not written.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) count: u64,
    pub(super) first: String,
}

impl ListFiles {
    pub(super) fn new(scratch: Arc<Scratch>, resource: Resource, place: Destination) -> Self {
        Self { scratch, resource, place, parts: BTreeMap::new(), open: VecDeque::new(), left_out: LeftOut::default() }
    }

    /// Completes all files and moves them to their final paths. Returns their number, and what was
    /// left out.
    ///
    /// A list without objects has no file.
    pub(super) fn finish(mut self, metadata: &Map<String, Value>) -> io::Result<(usize, LeftOut)> {
        let mut metadata = metadata.clone();
        // The pages are joined, so the continue token has no meaning any more.
        metadata.retain(|key, _| key != "continue" && key != "remainingItemCount");
        let kind = Value::String(format!("{}List", self.resource.kind));
        let tail = format!("],\"kind\":{kind},\"metadata\":{}}}\n", Value::Object(metadata));
        let directories: Vec<String> = self.parts.keys().cloned().collect();
        for directory in &directories {
            let (file, _) = self.file(directory)?;
            file.write_all(tail.as_bytes())?;
            self.close(directory)?;
        }
        for (directory, part) in &self.parts {
            self.scratch.put(&part.path, &format!("{directory}/{}", self.resource.file_name()))?;
        }
        Ok((directories.len(), self.left_out))
    }

    /// Returns the file of a directory, which is opened if necessary, and whether it is new.
    fn file(&mut self, directory: &str) -> io::Result<(&mut BufWriter<File>, bool)> {
        let is_open = self.parts.get(directory).is_some_and(|part| part.file.is_some());
        if is_open {
            self.open.retain(|other| other != directory);
        } else if self.open.len() >= MAX_OPEN
            && let Some(oldest) = self.open.pop_front()
        {
            self.close(&oldest)?;
        }
        self.open.push_back(directory.to_owned());
        let new = !self.parts.contains_key(directory);
        let scratch = &self.scratch;
        let part = self.parts.entry(directory.to_owned()).or_insert_with(|| Part { path: scratch.path(), file: None });
        if part.file.is_none() {
            part.file = Some(BufWriter::new(OpenOptions::new().create(true).append(true).open(&part.path)?));
        }
        match part.file.as_mut() {
            Some(file) => Ok((file, new)),
            None => Err(io::Error::other("a file that was opened is closed")),
        }
    }

    fn close(&mut self, directory: &str) -> io::Result<()> {
        self.open.retain(|other| other != directory);
        match self.parts.get_mut(directory).and_then(|part| part.file.take()) {
            Some(mut file) => file.flush(),
            None => Ok(()),
        }
    }

    /// Returns the directory of an object, or `None` if it is left out.
    fn directory(&mut self, item: &Value) -> Option<String> {
        match &self.place {
            Destination::Cluster => Some("resources/cluster".to_owned()),
            Destination::Namespace(namespace) => Some(format!("resources/ns/{namespace}")),
            Destination::EachNamespace(filter) => {
                let namespace = text_at(item, "/metadata/namespace");
                if is_safe_name(namespace) {
                    return filter.takes(namespace).then(|| format!("resources/ns/{namespace}"));
                }
                if self.left_out.count == 0 {
                    self.left_out.first = format!("the namespace {namespace:?} of an object is not a name");
                }
                self.left_out.count += 1;
                None
            }
        }
    }
}

impl Sink for ListFiles {
    fn item(&mut self, mut item: Value) -> io::Result<()> {
        let Some(directory) = self.directory(&item) else { return Ok(()) };
        complete(&mut item, &self.resource)?;
        let head = format!("{{\"apiVersion\":{},\"items\":[\n", Value::String(self.resource.at.name()));
        let (file, new) = self.file(&directory)?;
        file.write_all(if new { head.as_bytes() } else { b",\n" })?;
        serde_json::to_writer(file, &item)?;
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.open.clear();
        self.left_out = LeftOut::default();
        for part in std::mem::take(&mut self.parts).into_values() {
            fs::remove_file(&part.path)?;
        }
        Ok(())
    }
}

/// Removes the managed fields, which may be half of an object, and adds the fields that lists omit
/// in their items.
fn complete(item: &mut Value, resource: &Resource) -> io::Result<()> {
    let object = item
        .as_object_mut()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "an item of the list is not an object"))?;
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object.entry("apiVersion").or_insert_with(|| resource.at.name().into());
    object.entry("kind").or_insert_with(|| resource.kind.clone().into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::query::discovery::GroupVersion;

    fn pods() -> Resource {
        Resource {
            at: GroupVersion { group: String::new(), version: "v1".to_owned() },
            plural: "pods".to_owned(),
            kind: "Pod".to_owned(),
            namespaced: true,
        }
    }

    fn pod(namespace: &str, name: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": namespace, "managedFields": [1]}})
    }

    #[test]
    fn one_list_becomes_a_file_per_namespace() {
        let out = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(out.path()).unwrap();
        let filter = NamespaceFilter::matching("^n").unwrap();
        let mut files = ListFiles::new(Arc::clone(&scratch), pods(), Destination::EachNamespace(filter));
        // There are more namespaces than open files, in mixed order, twice.
        for name in ["a", "b"] {
            for namespace in 0..10 {
                files.item(pod(&format!("n{namespace}"), name)).unwrap();
            }
            files.item(pod("other", name)).unwrap();
            files.item(pod("../../etc", name)).unwrap();
            assert!(files.open.len() <= MAX_OPEN);
        }
        let metadata = json!({"resourceVersion": "7", "continue": "x"});
        let (written, left_out) = files.finish(metadata.as_object().unwrap()).unwrap();
        assert_eq!((written, left_out.count), (10, 2));
        assert!(left_out.first.contains("../../etc"), "{}", left_out.first);
        let text = fs::read_to_string(out.path().join("resources/ns/n3/core_v1_pods.json")).unwrap();
        let expected = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "7"}, "items": [
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n3"}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b", "namespace": "n3"}}]});
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        assert!(!out.path().join("resources/ns/other").exists());
        drop(scratch);
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_unfinished_list_leaves_no_file() {
        let out = tempfile::tempdir().unwrap();
        let mut files = ListFiles::new(Scratch::new(out.path()).unwrap(), pods(), Destination::Cluster);
        files.item(pod("", "a")).unwrap();
        files.restart().unwrap();
        files.item(pod("", "b")).unwrap();
        assert!(files.item(json!(3)).is_err());
        drop(files);
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
    }
}
