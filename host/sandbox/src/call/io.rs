//! The inputs and outputs of calls.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::time::Duration;

use plumbline_core::item::FlatItem;
use plumbline_core::{Check, ModuleLimits, Node, Ruling};
use serde_json::Value;
use wasmtime_wasi::WasiCtxBuilder;

use crate::call::network::Network;
use crate::wasi::{Attributes, Directories, Directory};

/// What a module knows about the plugin that it works for (`plugin-info` in the WIT).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PluginInfo {
    /// The name of the plugin.
    pub name: String,
    /// `Job`, `DaemonSet` or `Process`.
    pub driver: String,
    /// The `result-format` of the definition as written, empty if there is none.
    pub format: String,
    /// The number of results that the run expects from this plugin.
    pub expected_results: u32,
    /// The options that the definition passes to its modules: a JSON object. `null` means an empty
    /// object.
    pub options: Value,
}

/// A call of the role `post-processor`.
pub struct PostProcess<'a> {
    /// The plugin.
    pub plugin: &'a PluginInfo,
    /// The files of the result set, in lexical order of their paths.
    pub files: Vec<InputFile>,
    /// The limits of the call. Memory and table elements never exceed the sandbox configuration.
    /// The stack is always that of the sandbox
    /// ([`SandboxConfig::stack`](crate::SandboxConfig::stack)), because an engine has only one
    /// size.
    pub limits: &'a ModuleLimits,
}

/// Opens a file. Called when the module first reads the file, if at all.
pub type OpenFile = Box<dyn FnOnce() -> io::Result<Box<dyn Read + Send>> + Send>;

/// A file of a result set.
pub struct InputFile {
    /// The path relative to the plugin's directory, with `/` as separator.
    pub path: String,
    /// The size in bytes that the module sees. It is not a limit.
    pub size: u64,
    /// Opens the file. An error is passed to the module as text, which reports it in the item of
    /// the file.
    pub open: OpenFile,
}

/// A call of the role `summarizer`.
pub struct Summarize<'a> {
    /// The plugin.
    pub plugin: &'a PluginInfo,
    /// The items of all result sets. Dropped when the call ends, or when the module drops it.
    pub results: Box<dyn ResultSource>,
    /// The limits of the call, as in [`PostProcess::limits`]. What is read counts as
    /// [`ModuleLimits::input_bytes`].
    pub limits: &'a ModuleLimits,
}

/// An item of a plugin's tree (`entry` in the WIT).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry {
    /// The result set: the name of a node, or `global`.
    pub set: String,
    /// The item. Depth 0 is a root of the result set.
    pub item: FlatItem,
}

/// Yields the items of a plugin's result sets in pre-order, one set after the other. Runs on the
/// module's thread.
pub trait ResultSource: Send {
    /// Returns the next entry, or `None` at the end. It is not called again after that.
    ///
    /// # Errors
    /// Returns an error if the entry cannot be read. The error is passed to the module, and this
    /// function is not called again.
    fn next(&mut self) -> io::Result<Option<Entry>>;
}

/// A call of the role `judge`.
pub struct Judge<'a> {
    /// The plugin. Its options are those of the entry in the chain.
    pub plugin: &'a PluginInfo,
    /// The items of the finished tree. Dropped when the call ends, or when the module drops it.
    pub tree: Box<dyn TreeSource>,
    /// The files that the entry in the chain selects, in the order for the module.
    pub evidence: Vec<InputFile>,
    /// The limits of the call, as in [`PostProcess::limits`]. Items and evidence that are read each
    /// count separately as [`ModuleLimits::input_bytes`]. Rulings and checks count as
    /// [`ModuleLimits::items`], and their strings as [`ModuleLimits::output_bytes`].
    pub limits: &'a ModuleLimits,
}

/// An item of a finished tree (`judged-item` in the WIT). The sandbox counts its number.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TreeItem {
    /// The result set: the name of a node, or `global`. Empty for items that a summarizer added.
    pub set: String,
    /// The item. Depth 0 is a root of the result set.
    pub item: FlatItem,
    /// Whether the item has no children. Only leaves can be ruled on.
    pub leaf: bool,
    /// The ruling of an earlier judge in the chain.
    pub ruling: Option<Ruling>,
}

/// Yields the items of a plugin's finished tree: one set after the other in pre-order, then those
/// of the summarizer. Runs on the module's thread.
pub trait TreeSource: Send {
    /// Returns the next item, or `None` at the end. It is not called again after that.
    ///
    /// # Errors
    /// Returns an error if the item cannot be read. The error is passed to the module, and this
    /// function is not called again.
    fn next(&mut self) -> io::Result<Option<TreeItem>>;
}

/// Receives the checked output of a judge in order. Runs on the caller's thread while the module
/// continues.
pub trait RulingSink {
    /// Receives a ruling on a leaf. `index` is its position in the output of [`TreeSource`],
    /// counted from 0. A later ruling on an item replaces an earlier one.
    fn ruling(&mut self, index: u64, ruling: Ruling) -> io::Result<()>;

    /// Receives a check. Its ID is unique in the call.
    fn check(&mut self, check: Check) -> io::Result<()>;
}

/// A call of the role `check`.
pub struct RunCheck<'a> {
    /// The plugin.
    pub plugin: &'a PluginInfo,
    /// The directories that the check may read.
    pub directories: Vec<Directory>,
    /// The environment variables that the check sees.
    pub env: Vec<(String, String)>,
    /// The time since 1970 that the check sees. `None` for the clock of this machine.
    pub now: Option<Duration>,
    /// Reads objects of the cluster. `None` if the check may not read any.
    pub cluster: Option<Box<dyn ClusterReader>>,
    /// Reaches other hosts. `None` if the check may not reach any.
    pub network: Option<Box<dyn Network>>,
    /// Owners and modes by path, in place of those on disk. Files that are not listed belong to root.
    pub owners: Option<BTreeMap<String, Attributes>>,
    /// The limits of the call, as in [`PostProcess::limits`]. What is read from directories, the
    /// cluster and the network counts as [`ModuleLimits::input_bytes`].
    pub limits: &'a ModuleLimits,
}

/// Objects to read from the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectQuery {
    /// The API group and version, such as `apps/v1`.
    pub api_version: String,
    /// The resource by its plural name.
    pub resource: String,
    /// The namespace. `None` for all of them, and for objects outside namespaces.
    pub namespace: Option<String>,
    /// The label selector. If empty, all objects.
    pub label_selector: String,
    /// The field selector. If empty, all objects.
    pub field_selector: String,
}

/// One page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectPage {
    /// The objects as JSON documents.
    pub objects: Vec<String>,
    /// The token for the next page. `None` after the last page.
    pub next: Option<String>,
}

/// Reads objects of the cluster for a check. It decides what the check may read, holds the
/// credentials, and limits rates. Runs on the module's thread.
pub trait ClusterReader: Send {
    /// Returns the page of a list that starts at `token`, or the first page.
    ///
    /// # Errors
    /// Returns one sentence with the cause, which is passed to the check.
    fn list(&mut self, query: &ObjectQuery, token: Option<&str>) -> Result<ObjectPage, String>;

    /// Returns an object as a JSON document, or `None` if it does not exist. The selectors of
    /// `query` are empty.
    ///
    /// # Errors
    /// Returns one sentence with the cause, which is passed to the check.
    fn get(&mut self, query: &ObjectQuery, name: &str) -> Result<Option<String>, String>;
}

/// The progress that a check reports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckProgress {
    /// The number of completed parts.
    pub completed: u64,
    /// The number of all parts, as far as known.
    pub total: u64,
    /// What the check does now.
    pub message: String,
}

/// Receives the output of a check in order. Runs on the caller's thread while the check continues.
pub trait CheckSink: ItemSink {
    /// Receives progress. A check may report more often than anybody wants to know.
    fn progress(&mut self, progress: CheckProgress) -> io::Result<()>;
}

/// The input of a call other than its arguments.
pub(crate) enum Input {
    Nothing,
    Files(Vec<InputFile>),
    Results(Box<dyn ResultSource>),
    /// The finished tree, and evidence.
    Tree(Box<dyn TreeSource>, Vec<InputFile>),
    /// What a check may read.
    Check(Box<Granted>),
}

/// What a check may read and reach.
pub(crate) struct Granted {
    /// Directories and environment variables.
    pub(crate) wasi: WasiCtxBuilder,
    pub(crate) directories: Directories,
    pub(crate) cluster: Option<Box<dyn ClusterReader>>,
    pub(crate) network: Option<Box<dyn Network>>,
}

/// A call of the role `expectations`.
#[derive(Debug, Clone, Copy)]
pub struct Expect<'a> {
    /// The plugin.
    pub plugin: &'a PluginInfo,
    /// The definition's `podSpec`, or `None` if it has none.
    pub pod_spec: Option<&'a Value>,
    /// The nodes of the cluster, or this machine.
    pub nodes: &'a [Node],
    /// The limits of the call, as in [`PostProcess::limits`].
    pub limits: &'a ModuleLimits,
}

/// Receives the checked items of a call in pre-order. Runs on the caller's thread while the module
/// continues.
pub trait ItemSink {
    /// Receives one item.
    ///
    /// # Errors
    /// Returns an error if the item cannot be stored, for example because a disk is full. It ends
    /// the call as [`ModuleFailure::Host`](crate::ModuleFailure::Host).
    fn item(&mut self, item: FlatItem) -> io::Result<()>;
}

/// Keeps all items in memory, for small result sets.
impl ItemSink for Vec<FlatItem> {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        self.push(item);
        Ok(())
    }
}

/// The level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For authors of modules.
    Debug,
    /// For interested users. Standard output is logged at this level, with the prefix `stdout: `.
    Info,
    /// Something is suspicious, but the result is valid. Standard error is logged at this level,
    /// with the prefix `stderr: `.
    Warning,
    /// Something is wrong with the result.
    Error,
}

/// Receives the size-limited log of a call, one line at a time without line ends. Other control
/// characters are escaped, so that a line is safe to print on a terminal.
pub trait LogSink {
    /// Receives one line.
    fn line(&mut self, level: LogLevel, text: &str);
}

/// Discards the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLog;

impl LogSink for NoLog {
    fn line(&mut self, _: LogLevel, _: &str) {}
}

impl LogSink for Vec<(LogLevel, String)> {
    fn line(&mut self, level: LogLevel, text: &str) {
        self.push((level, text.to_owned()));
    }
}

/// The resources that a call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallStats {
    /// The wall-clock time, without waiting for a slot.
    pub wall: Duration,
    /// The peak of linear memory, in bytes.
    pub memory: u64,
    /// The number of bytes read from files, from items of result sets, from the cluster, or from the
    /// network.
    pub input_bytes: u64,
    /// The number of emitted items, or for a judge, of rulings and checks.
    pub items: u64,
    /// Their size in bytes.
    pub output_bytes: u64,
    /// The number of dropped bytes of the log.
    pub log_dropped: u64,
}
