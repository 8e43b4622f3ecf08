//! What callers give to a call, and what they get from it.

use std::fmt;
use std::io::{self, Read};
use std::time::Duration;

use plumbline_core::item::FlatItem;
use plumbline_core::{Check, ModuleLimits, Node, Ruling};
use serde_json::Value;

/// What a module is told about the plugin that it works for (`plugin-info` of the WIT).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PluginInfo {
    /// The plugin's name.
    pub name: String,
    /// `Job`, `DaemonSet` or `Process`.
    pub driver: String,
    /// The `result-format` of the definition, as written; empty when it names none.
    pub format: String,
    /// How many results the run expects of this plugin.
    pub expected_results: u32,
    /// The options that the definition gives its module: a JSON object. `null` stands for an empty one.
    pub options: Value,
}

/// A call of the role `post-processor`.
pub struct PostProcess<'a> {
    /// The plugin.
    pub plugin: &'a PluginInfo,
    /// The files of the result set, in lexical order of their paths.
    pub files: Vec<InputFile>,
    /// What the call may use. Memory and table elements are never more than the sandbox was configured for, and the stack is the
    /// sandbox's ([`SandboxConfig::stack`](crate::SandboxConfig::stack)), whatever stands here: one engine has one.
    pub limits: &'a ModuleLimits,
}

/// Opens a file; called when the module reads it for the first time, if it ever does.
pub type OpenFile = Box<dyn FnOnce() -> io::Result<Box<dyn Read + Send>> + Send>;

/// A file of a result set.
pub struct InputFile {
    /// Where it is, relative to the plugin's directory, `/`-separated.
    pub path: String,
    /// Its size in bytes; what the module is told, not a limit.
    pub size: u64,
    /// Opens it. The error reaches the module as a sentence, which it reports in the file's item.
    pub open: OpenFile,
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputFile").field("path", &self.path).field("size", &self.size).finish_non_exhaustive()
    }
}

impl fmt::Debug for PostProcess<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostProcess").field("plugin", &self.plugin).field("files", &self.files).finish_non_exhaustive()
    }
}

/// A call of the role `summarizer`.
pub struct Summarize<'a> {
    /// The plugin.
    pub plugin: &'a PluginInfo,
    /// The items of all its result sets. Dropped when the call ends, or when the module lets go of it.
    pub results: Box<dyn ResultSource>,
    /// What the call may use; as in [`PostProcess::limits`]. What is read counts as [`ModuleLimits::input_bytes`].
    pub limits: &'a ModuleLimits,
}

impl fmt::Debug for Summarize<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Summarize").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

/// An item of a plugin's tree (`entry` of the WIT).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry {
    /// Whose it is: the node's name, or `global`.
    pub set: String,
    /// The item; depth 0 is a root of the result set.
    pub item: FlatItem,
}

/// Gives the items of a plugin's result sets, set by set, in pre-order. Runs on the module's thread.
pub trait ResultSource: Send {
    /// The next one; `None` at the end, after which it is not asked again.
    ///
    /// # Errors
    /// When it cannot be read. The module is told, and it is not asked again.
    fn next(&mut self) -> io::Result<Option<Entry>>;
}

/// A call of the role `judge`.
pub struct Judge<'a> {
    /// The plugin; its options are those of the entry of the chain.
    pub plugin: &'a PluginInfo,
    /// The items of its finished tree. Dropped when the call ends, or when the module lets go of it.
    pub tree: Box<dyn TreeSource>,
    /// The files that the entry of the chain names, in the order in which the module is to see them.
    pub evidence: Vec<InputFile>,
    /// What the call may use; as in [`PostProcess::limits`]. Items and evidence that are read count as
    /// [`ModuleLimits::input_bytes`], each by itself; rulings and checks count as [`ModuleLimits::items`], their texts as
    /// [`ModuleLimits::output_bytes`].
    pub limits: &'a ModuleLimits,
}

impl fmt::Debug for Judge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("plugin", &self.plugin).field("evidence", &self.evidence).finish_non_exhaustive()
    }
}

/// An item of a finished tree (`judged-item` of the WIT); its number is counted by the sandbox.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TreeItem {
    /// Whose it is: the node's name, or `global`; empty for what a summarizer added.
    pub set: String,
    /// The item; depth 0 is a root of the result set.
    pub item: FlatItem,
    /// Whether it has no children: only then it can be ruled on.
    pub leaf: bool,
    /// What an earlier judge of the chain said of it.
    pub ruling: Option<Ruling>,
}

/// Gives the items of a plugin's finished tree: set by set, in pre-order, then those of the summarizer. Runs on the module's thread.
pub trait TreeSource: Send {
    /// The next one; `None` at the end, after which it is not asked again.
    ///
    /// # Errors
    /// When it cannot be read. The module is told, and it is not asked again.
    fn next(&mut self) -> io::Result<Option<TreeItem>>;
}

/// Takes what a judge says, already checked, in the order in which it is said. Runs on the caller's thread while the module goes on.
pub trait RulingSink {
    /// Takes a ruling on the item that [`TreeSource`] gave as number `index`, counted from 0: a leaf. A later ruling on an item takes
    /// the place of an earlier one.
    ///
    /// # Errors
    /// As for [`ItemSink::item`].
    fn ruling(&mut self, index: u64, ruling: Ruling) -> io::Result<()>;

    /// Takes a check. No other check of this call has its id.
    ///
    /// # Errors
    /// As for [`ItemSink::item`].
    fn check(&mut self, check: Check) -> io::Result<()>;
}

/// What a call gets to see beside its arguments.
pub(crate) enum Input {
    /// Nothing, and it emits nothing.
    Nothing,
    /// The files of a result set.
    Files(Vec<InputFile>),
    /// The items of all result sets.
    Results(Box<dyn ResultSource>),
    /// The finished tree, and evidence.
    Tree(Box<dyn TreeSource>, Vec<InputFile>),
}

/// A call of the role `expectations`.
#[derive(Debug, Clone, Copy)]
pub struct Expect<'a> {
    /// The plugin.
    pub plugin: &'a PluginInfo,
    /// The definition's `podSpec`; `None` when it has none.
    pub pod_spec: Option<&'a Value>,
    /// The nodes of the cluster, or this machine.
    pub nodes: &'a [Node],
    /// What the call may use; as in [`PostProcess::limits`].
    pub limits: &'a ModuleLimits,
}

/// Takes the items of a call, in pre-order, already checked. Runs on the caller's thread while the module goes on.
pub trait ItemSink {
    /// Takes one item.
    ///
    /// # Errors
    /// When the item cannot be kept, because a disk is full for instance. It ends the call as
    /// [`ModuleFailure::Host`](crate::ModuleFailure::Host).
    fn item(&mut self, item: FlatItem) -> io::Result<()>;
}

/// Keeps everything in memory; for small result sets.
impl ItemSink for Vec<FlatItem> {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        self.push(item);
        Ok(())
    }
}

/// How much a line of the log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For who writes the module.
    Debug,
    /// For who wants to know. Standard output comes like this, behind `stdout: `.
    Info,
    /// Something is odd, and the result is still good. Standard error comes like this, behind `stderr: `.
    Warning,
    /// Something is wrong with the result.
    Error,
}

/// Takes the log of a call: bounded, one line at a time, without line ends; other control characters are escaped, so that a line can
/// be shown on a terminal.
pub trait LogSink {
    /// Takes one line.
    fn line(&mut self, level: LogLevel, text: &str);
}

/// Throws the log away.
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

/// What a call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallStats {
    /// Wall clock, without waiting for a slot.
    pub wall: Duration,
    /// The most linear memory in use, in bytes.
    pub memory: u64,
    /// Bytes of files, or of other result sets' items, that were read.
    pub input_bytes: u64,
    /// Items emitted; of a judge, rulings and checks.
    pub items: u64,
    /// Bytes of these.
    pub output_bytes: u64,
    /// Bytes of the log that were dropped.
    pub log_dropped: u64,
}
