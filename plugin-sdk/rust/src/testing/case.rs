//! The input of a native run.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::context::Granted;
use super::log;
use super::run::{Run, problem_of};
use crate::batches::BatchSource;
use crate::input::Source;
use crate::results::Entry;
use crate::{
    Expectations, Expected, InputFile, Item, Node, Output, PluginInfo, PostProcessor, Results, Ruling, Summarizer,
};

/// The input of a module: the plugin, the files, the nodes, the results.
#[derive(Debug, Clone)]
pub struct Case {
    plugin: PluginInfo,
    options: Map<String, Value>,
    files: Vec<(String, Content)>,
    chunk: Option<u32>,
    pod_spec: Option<Value>,
    nodes: Vec<Node>,
    pub(super) results: Vec<Entry>,
    pub(super) broken_results: Option<String>,
    /// The rulings of earlier judges, by the number of the item.
    pub(super) ruled: BTreeMap<u64, Ruling>,
    /// What a check may read.
    pub(super) granted: Granted,
}

#[derive(Clone)]
enum Content {
    Bytes(Vec<u8>),
    /// These bytes, followed by an error.
    Broken(Vec<u8>, String),
    Disk(PathBuf),
    /// A number of bytes, generated again for each run.
    Generated(u64, Rc<dyn Fn() -> Box<dyn Read>>),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Broken(bytes, error) => write!(f, "{} bytes, then `{error}`", bytes.len()),
            Self::Disk(path) => write!(f, "{}", path.display()),
            Self::Generated(size, _) => write!(f, "{size} bytes, generated"),
        }
    }
}

impl Default for Case {
    fn default() -> Self {
        Self::new()
    }
}

impl Case {
    /// Creates a case for a plugin `test` with the driver `Job`, without options, files or nodes.
    #[must_use]
    pub fn new() -> Self {
        Self {
            plugin: PluginInfo {
                name: "test".to_owned(),
                driver: "Job".to_owned(),
                format: String::new(),
                expected_results: 1,
                options: Value::Null,
            },
            options: Map::new(),
            files: Vec::new(),
            chunk: None,
            pod_spec: None,
            nodes: Vec::new(),
            results: Vec::new(),
            broken_results: None,
            ruled: BTreeMap::new(),
            granted: Granted::default(),
        }
    }

    /// Sets the name of the plugin.
    #[must_use]
    pub fn plugin(mut self, name: impl Into<String>) -> Self {
        self.plugin.name = name.into();
        self
    }

    /// Sets the driver: `Job`, `DaemonSet` or `Process`.
    #[must_use]
    pub fn driver(mut self, driver: impl Into<String>) -> Self {
        self.plugin.driver = driver.into();
        self
    }

    /// Sets the `result-format`.
    #[must_use]
    pub fn format(mut self, format: impl Into<String>) -> Self {
        self.plugin.format = format.into();
        self
    }

    /// Sets the number of results that the run expects from the plugin.
    #[must_use]
    pub fn expected_results(mut self, count: u32) -> Self {
        self.plugin.expected_results = count;
        self
    }

    /// Adds an option of the definition.
    #[must_use]
    pub fn option(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.insert(key.into(), value.into());
        self
    }

    /// Adds a file. The path is the one in the archive, such as `results/global/a.xml`. The module
    /// receives files in the order in which you add them.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((path.into(), Content::Bytes(content.into())));
        self
    }

    /// Adds a file whose reading fails with `error` after `content`.
    #[must_use]
    pub fn broken_file(
        mut self,
        path: impl Into<String>,
        content: impl Into<Vec<u8>>,
        error: impl Into<String>,
    ) -> Self {
        self.files.push((path.into(), Content::Broken(content.into(), error.into())));
        self
    }

    /// Adds a file from disk. `path` is its path in the archive. The harness opens the file when
    /// the module first reads it.
    #[must_use]
    pub fn file_from(mut self, path: impl Into<String>, disk: impl Into<PathBuf>) -> Self {
        self.files.push((path.into(), Content::Disk(disk.into())));
        self
    }

    /// Adds a file that `make` generates while the module reads it, for files larger than memory.
    /// `size` is the size that the module sees.
    #[must_use]
    pub fn generated_file<R: Read + 'static>(
        mut self,
        path: impl Into<String>,
        size: u64,
        make: impl Fn() -> R + 'static,
    ) -> Self {
        self.files.push((path.into(), Content::Generated(size, Rc::new(move || Box::new(make())))));
        self
    }

    /// Adds the files below the plugin's directory `root` whose relative path `select` accepts, in
    /// lexical order as the host does.
    ///
    /// # Errors
    ///
    /// A directory cannot be read.
    pub fn directory(mut self, root: impl AsRef<Path>, select: impl Fn(&str) -> bool) -> io::Result<Self> {
        let mut found = Vec::new();
        walk(root.as_ref(), "", &mut found)?;
        found.sort();
        for (path, disk) in found {
            if select(&path) {
                self.files.push((path, Content::Disk(disk)));
            }
        }
        Ok(self)
    }

    /// Limits each read to `bytes`. Use it to test that the output does not depend on where the
    /// host splits a file.
    #[must_use]
    pub fn chunk(mut self, bytes: u32) -> Self {
        self.chunk = Some(bytes.max(1));
        self
    }

    /// Sets the definition's `podSpec`.
    #[must_use]
    pub fn pod_spec(mut self, pod_spec: impl Into<Value>) -> Self {
        self.pod_spec = Some(pod_spec.into());
        self
    }

    /// Adds a node of the cluster.
    #[must_use]
    pub fn node(mut self, node: Node) -> Self {
        self.nodes.push(node);
        self
    }

    /// Adds the items of a result set (the name of a node, or `global`), for a summarizer or a
    /// judge.
    ///
    /// To test a summarizer on real items, pass those of a [`Run`] of the post-processor. The
    /// module receives sets in the order in which you add them. Items keep the status that they
    /// have here: unlike the host, the harness does not roll statuses up.
    #[must_use]
    pub fn results(mut self, set: impl Into<String>, items: impl IntoIterator<Item = Item>) -> Self {
        let set = set.into();
        self.results.extend(items.into_iter().map(|item| Entry { set: set.clone(), item }));
        self
    }

    /// Makes reading fail with `error` after the added results.
    #[must_use]
    pub fn broken_results(mut self, error: impl Into<String>) -> Self {
        self.broken_results = Some(error.into());
        self
    }

    /// Runs a summarizer.
    ///
    /// # Panics
    ///
    /// Where the host would end the call: an item that breaks a rule.
    #[must_use]
    pub fn summarize<S: Summarizer>(&self) -> Run {
        self.gather(|out| {
            let source = Given { entries: self.results.clone().into_iter(), error: self.broken_results.clone() };
            S::summarize(&self.info(), Results::new(Box::new(source)), out)
        })
    }

    /// Runs a post-processor.
    ///
    /// # Panics
    ///
    /// Where the host would end the call: an item that breaks a rule.
    #[must_use]
    pub fn run<P: PostProcessor>(&self) -> Run {
        self.gather(|out| P::process(&self.info(), self.inputs(), out))
    }

    /// Collects what `call` emits, and checks it as the host does.
    #[expect(clippy::panic, reason = "a failed test, as the documentation of the callers says")]
    pub(super) fn gather(&self, call: impl FnOnce(&mut Output) -> Result<(), String>) -> Run {
        let ((items, outcome), log) = log::gather(|| {
            let (sender, emitted) = std::sync::mpsc::channel();
            let mut out = Output::new(Box::new(move |batch| {
                // Ignore the error: the receiver lives until everything is collected.
                let _ = sender.send(std::mem::take(batch));
            }));
            let outcome = call(&mut out);
            drop(out);
            (emitted.into_iter().flatten().collect::<Vec<_>>(), outcome)
        });
        let mut previous = None;
        for item in &items {
            if let Some(problem) = problem_of(item, previous) {
                panic!("the host would end the call: {problem}");
            }
            previous = Some(item.depth);
        }
        Run { items, outcome, log, progress: Vec::new() }
    }

    /// Runs the expectations of a module.
    ///
    /// # Errors
    ///
    /// The module's error, or a result that is listed twice or for an unknown node, which the host
    /// rejects.
    pub fn expected<E: Expectations>(&self) -> Result<Vec<Expected>, String> {
        let (expected, _log) = log::gather(|| E::expected_results(&self.info(), self.pod_spec.as_ref(), &self.nodes));
        let expected = expected?;
        let mut seen = std::collections::BTreeSet::new();
        for result in &expected {
            if !seen.insert(result) {
                return Err(format!("{result:?} is listed twice"));
            }
            if let Expected::Node(name) = result
                && !self.nodes.iter().any(|node| node.name == *name)
            {
                return Err(format!("node `{name}` is not one of the nodes given"));
            }
        }
        Ok(expected)
    }

    pub(super) fn info(&self) -> PluginInfo {
        PluginInfo { options: Value::Object(self.options.clone()), ..self.plugin.clone() }
    }

    pub(super) fn inputs(&self) -> Vec<InputFile> {
        self.files.iter().map(|(path, content)| self.input(path, content)).collect()
    }

    fn input(&self, path: &str, content: &Content) -> InputFile {
        let (size, source) = match content {
            Content::Bytes(bytes) => (bytes.len() as u64, Native::new(io::Cursor::new(bytes.clone()), None)),
            Content::Broken(bytes, error) => {
                (bytes.len() as u64, Native::new(io::Cursor::new(bytes.clone()), Some(error.clone())))
            }
            Content::Disk(disk) => match fs::File::open(disk).and_then(|file| Ok((file.metadata()?.len(), file))) {
                Ok((size, file)) => (size, Native::new(file, None)),
                Err(error) => (0, Native::new(io::empty(), Some(error.to_string()))),
            },
            Content::Generated(size, make) => (*size, Native::new(make(), None)),
        };
        InputFile::new(path.to_owned(), size, Box::new(Native { chunk: self.chunk, ..source }))
    }
}

fn walk(directory: &Path, prefix: &str, found: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), &format!("{path}/"), found)?;
        } else {
            found.push((path, entry.path()));
        }
    }
    Ok(())
}

/// What a module reads, a few entries at a time, so that it sees more than one batch. The error comes
/// after them.
pub(super) struct Given<T> {
    pub(super) entries: std::vec::IntoIter<T>,
    pub(super) error: Option<String>,
}

impl<T> BatchSource<T> for Given<T> {
    fn next(&mut self, max: u32) -> Result<Vec<T>, String> {
        let batch: Vec<T> = self.entries.by_ref().take(max.clamp(1, 100) as usize).collect();
        match &self.error {
            Some(error) if batch.is_empty() => Err(error.clone()),
            _ => Ok(batch),
        }
    }
}

pub(super) struct Native {
    reader: Box<dyn Read>,
    error: Option<String>,
    chunk: Option<u32>,
}

impl Native {
    pub(super) fn new(reader: impl Read + 'static, error: Option<String>) -> Self {
        Self { reader: Box::new(reader), error, chunk: None }
    }
}

impl Source for Native {
    fn read(&mut self, max: u32) -> Result<Vec<u8>, String> {
        let max = self.chunk.map_or(max, |chunk| chunk.min(max));
        let mut bytes = Vec::with_capacity(max as usize);
        self.reader.by_ref().take(max.into()).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        match &self.error {
            Some(error) if bytes.is_empty() => Err(error.clone()),
            _ => Ok(bytes),
        }
    }
}
