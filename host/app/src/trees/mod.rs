//! The result trees of an archive: as the archive has them, or processed again.

pub(crate) mod cluster;
mod definition;
mod facts;
mod items;
mod verdict;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_aggregator::{CauseFinder, Detections, LeanLimits, Modules, post_process, prepare, read_lean};
use plumbline_archive::layout::PLUGINS_DIR;
use plumbline_archive::member::StreamError;
use plumbline_archive::results::{ReadError, ReadLimits, ResultsArchive};
use plumbline_core::{Digest, Item};
use tempfile::TempDir;

use crate::context::{Context, Reporter};
use crate::error::{AppError, Explain as _};
use crate::modules::{self, Limits};
use crate::report::text::size;
use crate::timeline::Timeline;
use crate::{files, sources, timeline};

pub use facts::TreeFacts;
pub(crate) use facts::{bare, mark_unread};
pub(crate) use items::{Items, MAX_TEXT, Position, WHOLE_TEXT};
pub(crate) use verdict::contradiction;

/// A hint for trees that are too large to be held in memory.
const READ_IN_PARTS: &str =
    "`plumbline results` with `--output json`, `--output html` or `--mode dump` reads the tree item by item";

/// A hint for archives that are damaged.
const RETRIEVE_AGAIN: &str = "check that the archive is complete, or retrieve it again";

/// How results are processed again.
#[derive(Debug, Clone, Default)]
pub struct Reprocess {
    /// Process every plugin, even if the archive has its tree.
    pub always: bool,
    /// A definition to use instead of that in the archive.
    pub definition: Option<PathBuf>,
    /// The limits of modules.
    pub limits: Limits,
}

#[derive(Debug, Clone)]
struct Computed {
    file: PathBuf,
    /// The formats that were detected in the plugin's files. `None` if its definition names the
    /// format.
    detections: Option<Detections>,
}

/// An open archive with its result trees.
pub struct Trees {
    reporter: Arc<dyn Reporter>,
    path: PathBuf,
    /// The archive's name for messages.
    name: String,
    archive: ResultsArchive,
    reprocess: Reprocess,
    computed: BTreeMap<String, Computed>,
    scratch: Option<TempDir>,
    /// Temporary files, which are removed with this.
    kept: Vec<TempDir>,
    modules: Option<Modules>,
    timeline: Option<Arc<Timeline>>,
    /// The largest tree that is read completely, in bytes.
    whole_bytes: u64,
    /// The limits on larger trees, which are read without most of their details.
    lean: LeanLimits,
}

impl Trees {
    /// Opens the archive at `path`.
    pub fn open(context: &Context, path: &Path, reprocess: Reprocess) -> Result<Self, AppError> {
        Self::open_as(context, path, &path.display().to_string(), reprocess)
    }

    /// Opens the archive at `path`, which is `name` in messages.
    pub fn open_as(context: &Context, path: &Path, name: &str, reprocess: Reprocess) -> Result<Self, AppError> {
        let archive = ResultsArchive::open(path).map_err(|error| cannot_open(name, &error))?;
        Ok(Self::of_archive(context, archive, path, name, reprocess))
    }

    /// Opens the archive in `file`, which was opened at `path`.
    pub(crate) fn of_file(context: &Context, file: File, path: &Path) -> Result<Self, AppError> {
        let name = path.display().to_string();
        let opened = ResultsArchive::of_file(file, path, &ReadLimits::default());
        let archive = opened.map_err(|error| cannot_open(&name, &error))?;
        Ok(Self::of_archive(context, archive, path, &name, Reprocess::default()))
    }

    fn of_archive(context: &Context, archive: ResultsArchive, path: &Path, name: &str, reprocess: Reprocess) -> Self {
        let trailing = archive.info().trailing;
        if trailing > 0 {
            let unread = format!("`{name}` has {} after the end of the archive, which are not read", size(trailing));
            context.reporter.warning(&unread);
        }
        Self {
            reporter: Arc::clone(&context.reporter),
            path: path.to_owned(),
            name: name.to_owned(),
            archive,
            reprocess,
            computed: BTreeMap::new(),
            scratch: None,
            kept: Vec::new(),
            modules: None,
            timeline: None,
            whole_bytes: MAX_BYTES,
            lean: LeanLimits::default(),
        }
    }

    /// Keeps temporary files as long as this.
    pub(crate) fn keep(&mut self, dir: TempDir) {
        self.kept.push(dir);
    }

    /// Lowers the limits on trees that are read as a whole.
    #[cfg(test)]
    pub(crate) fn hold_at_most(&mut self, whole_bytes: u64, items: usize) {
        (self.whole_bytes, self.lean.items) = (whole_bytes, items);
    }

    /// The archive's name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file name of the archive. Reports may be published, so they do not have the directories of
    /// this machine.
    pub(crate) fn file_name(&self) -> String {
        let file = Path::new(&self.name).file_name();
        file.map_or_else(|| self.name.clone(), |file| file.to_string_lossy().into_owned())
    }

    /// The path of the archive on this machine.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The ID of the run, if the archive has it.
    fn run(&self) -> Option<&str> {
        self.archive.info().run.as_deref()
    }

    /// Returns whether `other` is the same archive, a copy, or another archive of the same run, such as an
    /// unpacked one.
    pub(crate) fn is_of_same_run(&self, other: &Self) -> io::Result<bool> {
        let (file, others) = (fs::metadata(&self.path)?, fs::metadata(&other.path)?);
        if (file.dev(), file.ino()) == (others.dev(), others.ino()) {
            return Ok(true);
        }
        if self.run().is_some() && self.run() == other.run() {
            // Manifests of Sonobuoy have an ID, which all runs that use one share.
            return Ok(match (self.archive.info().started, other.archive.info().started) {
                (None, None) => self.archive.files().eq(other.archive.files()),
                (started, others) => started == others,
            });
        }
        if !file.is_file() || !others.is_file() || file.len() != others.len() {
            return Ok(false);
        }
        let digest = |path: &Path| File::open(path).and_then(Digest::of_reader);
        Ok(digest(&self.path)? == digest(&other.path)?)
    }

    /// The archive.
    pub fn archive(&mut self) -> &mut ResultsArchive {
        &mut self.archive
    }

    /// The cluster timeline. What cannot be read of it is reported, because the results are complete
    /// without it.
    pub fn timeline(&mut self) -> Arc<Timeline> {
        if let Some(timeline) = &self.timeline {
            return Arc::clone(timeline);
        }
        let read = timeline::read(&mut self.archive);
        let warn = |what: String| self.reporter.warning(&format!("the cluster timeline of `{}` {what}", self.name));
        let timeline = read.unwrap_or_else(|error| {
            warn(format!("cannot be read: {error}"));
            Timeline::default()
        });
        if timeline.unread > 0 {
            warn(format!("is incomplete: {} lines are invalid or above the limits", timeline.unread));
        }
        Arc::clone(self.timeline.insert(Arc::new(timeline)))
    }

    /// The names of the plugins, in the archive's order.
    pub fn plugins(&self) -> Vec<String> {
        self.archive.info().plugins.clone()
    }

    /// Reads the tree of `plugin`, which is processed if the archive does not have it. Its root is
    /// never better than the items below it.
    pub fn item(&mut self, plugin: &str) -> Result<Item, AppError> {
        let path = self.name.clone();
        let (is_made, is_own, whole, lean) = (self.reprocess.always, self.is_own(), self.whole_bytes, self.lean);
        let read = |from: &mut dyn Read, bytes: u64| {
            let (mut root, left_out) = read_tree_of(from, bytes, whole, &lean).map_err(|error| {
                let error = AppError::usage(format!("failed to read the result tree of plugin `{plugin}` in `{path}`"))
                    .because(&error);
                if is_own && bytes > whole {
                    return error.hint(READ_IN_PARTS);
                }
                // Processing a tree again that was just processed changes nothing.
                if is_made { error } else { error.hint("compute it again from the archive's files with `--reprocess`") }
            })?;
            facts::correct_root(&mut root);
            Ok((root, left_out))
        };
        let (root, left_out) = self.with_tree(plugin, read)?;
        self.report_left_out(plugin, left_out);
        Ok(root)
    }

    /// Reads the tree of `plugin` as [`Trees::item`] does, with the statuses that leaves have for a
    /// verdict: what Sonobuoy did not read has not passed.
    pub(crate) fn judged_item(&mut self, plugin: &str) -> Result<Item, AppError> {
        let mut root = self.item(plugin)?;
        self.mark_unread(plugin, &mut root);
        Ok(root)
    }

    /// Gives the leaves of the tree of `plugin` the statuses that they have for a verdict.
    pub(crate) fn mark_unread(&self, plugin: &str, root: &mut Item) {
        if self.is_sonobuoys(plugin) {
            mark_unread(root);
        }
    }

    /// Returns whether Sonobuoy made the tree of `plugin`. In a tree that is processed here, a module read
    /// every file whose item passed.
    fn is_sonobuoys(&self, plugin: &str) -> bool {
        self.archive.info().plumbline_version.is_none() && self.archived(plugin).is_some()
    }

    /// Reports that this number of details of the tree of `plugin` is not in the output.
    pub(crate) fn report_left_out(&self, plugin: &str, left_out: u64) {
        if left_out > 0 {
            self.reporter.warning(&format!(
                "the result tree of plugin `{plugin}` has {}: {left_out} details are omitted; see all with `--mode dump`",
                size(self.bytes(plugin).unwrap_or_default())
            ));
        }
    }

    /// Returns whether Plumbline wrote the trees, so that they can be read item by item.
    fn is_own(&self) -> bool {
        self.reprocess.always || self.archive.info().plumbline_version.is_some()
    }

    /// Returns whether the tree of `plugin` is too large to be read completely. The plugin is
    /// processed if the archive does not have its tree.
    pub fn is_large(&mut self, plugin: &str) -> Result<bool, AppError> {
        if self.archived(plugin).is_none() {
            self.computed(plugin)?;
        }
        Ok(self.bytes(plugin).is_some_and(|bytes| bytes > self.whole_bytes))
    }

    /// Returns the size of the tree of `plugin`, if the archive has it or it was processed.
    fn bytes(&self, plugin: &str) -> Option<u64> {
        match self.archived(plugin) {
            Some(member) => self.archive.size(&member),
            None => self.computed.get(plugin).and_then(|computed| computed.file.metadata().ok()).map(|file| file.len()),
        }
    }

    /// Returns the name of the tree of `plugin` in the archive, if it is not processed again.
    fn archived(&self, plugin: &str) -> Option<String> {
        if self.reprocess.always { None } else { self.archive.tree(plugin) }
    }

    /// Copies the text of the tree of `plugin` to `out`.
    pub fn copy(&mut self, plugin: &str, out: &mut impl Write) -> Result<(), AppError> {
        let copy = |from: &mut dyn Read, _: u64| {
            io::copy(from, out).map(drop).map_err(|error| {
                AppError::printing(format!("failed to copy the result tree of plugin `{plugin}`"), &error)
            })
        };
        self.with_tree(plugin, copy)
    }

    fn with_tree<T>(
        &mut self,
        plugin: &str,
        read: impl FnOnce(&mut dyn Read, u64) -> Result<T, AppError>,
    ) -> Result<T, AppError> {
        if let Some(member) = self.archived(plugin) {
            let mut reader = self
                .archive
                .file(&member)
                .usage_error(format_args!("failed to read archive `{}`", self.name))
                .hint(RETRIEVE_AGAIN)?;
            let bytes = reader.size();
            return read(&mut reader, bytes);
        }
        let path = self.computed(plugin)?.file;
        let mut file = File::open(&path).system_error(format_args!("failed to read `{}`", path.display()))?;
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        read(&mut file, bytes)
    }

    /// Processes `plugin`, and returns the formats that were detected in its files. `None` if its
    /// definition names the format.
    pub fn detections(&mut self, plugin: &str) -> Result<Option<Detections>, AppError> {
        Ok(self.computed(plugin)?.detections)
    }

    /// The tree of `plugin`, processed from the archive's files with the modules of this version.
    fn computed(&mut self, plugin: &str) -> Result<Computed, AppError> {
        if let Some(computed) = self.computed.get(plugin) {
            return Ok(computed.clone());
        }
        // A damaged or forged list can name thousands of plugins without files.
        if self.archive.files_below(&format!("{PLUGINS_DIR}/{plugin}")).next().is_none() {
            return Err(AppError::usage(format!("archive `{}` has no files of plugin `{plugin}`", self.name))
                .hint("choose a plugin with results, as `plumbline results ARCHIVE` lists them"));
        }
        if !self.reprocess.always {
            let what = format!("plugin `{plugin}` has no result tree in this archive: it is computed now");
            self.reporter.progress(&what);
        }
        let modules = self.modules()?;
        let mut source = self.source(plugin)?;
        // The tree does not depend on judges, so a missing judge must not prevent it.
        Arc::make_mut(&mut source.definition).plumbline.verdict.clear();
        if self.reprocess.definition.is_none() {
            self.without_unknown_modules(plugin, &modules, Arc::make_mut(&mut source.definition));
        }
        let planned = prepare(&modules, &self.reprocess.limits.modules, source)
            .and_then(|planned| planned.ready().map(|()| planned))
            .map_err(|error| {
                let what = format!("failed to reprocess plugin `{plugin}`");
                AppError::usage(what).because(&error).hint_if(error.hint())
            })?;
        for warning in planned.warnings() {
            self.reporter.warning(&format!("plugin `{plugin}`: {warning}"));
        }
        let scratch = self.scratch()?;
        let files = tempfile::tempdir_in(&scratch).system_error(files::NO_ROOM)?;
        self.archive
            .extract_plugin(plugin, files.path(), &ReadLimits::default().extract())
            .usage_error(format_args!("failed to extract the files of plugin `{plugin}` from `{}`", self.name))
            .hint(RETRIEVE_AGAIN)?;
        let tree = scratch.join(format!("{}.yaml", self.computed.len()));
        let mut subject = planned.subject();
        // The name in the archive, which may be invalid today.
        plugin.clone_into(&mut subject.plugin.name);
        let outcome = post_process(&subject, files.path(), &planned.post_processor, &scratch, &tree)
            .system_error(format_args!("failed to reprocess plugin `{plugin}`"))?;
        let computed = Computed { file: tree, detections: outcome.detections };
        self.computed.insert(plugin.to_owned(), computed.clone());
        Ok(computed)
    }

    /// Returns what finds the causes of failures: the module `causes` next to the definition of the
    /// options, or the built-in one.
    pub(crate) fn cause_finder(&mut self) -> Result<Option<CauseFinder>, AppError> {
        let source = self.reprocess.definition.as_deref().map(sources::from_file).transpose()?;
        let bundle = source.and_then(|resolved| resolved.source.bundle);
        let modules = self.modules()?;
        CauseFinder::new(&modules, bundle.as_deref(), &self.reprocess.limits.modules.default).map_err(|error| {
            AppError::usage("failed to load the module that finds causes").because(&error).hint_if(error.hint())
        })
    }

    fn modules(&mut self) -> Result<Modules, AppError> {
        Ok(match &self.modules {
            Some(modules) => modules.clone(),
            None => self.modules.insert(modules::modules(&self.reprocess.limits)?).clone(),
        })
    }

    fn scratch(&mut self) -> Result<PathBuf, AppError> {
        Ok(match &self.scratch {
            Some(scratch) => scratch.path().to_owned(),
            None => self.scratch.insert(files::scratch()?).path().to_owned(),
        })
    }
}

/// The error for the archive `name`, which cannot be opened.
fn cannot_open(name: &str, error: &ReadError) -> AppError {
    let failed = AppError::usage(format!("failed to read archive `{name}`"));
    match error {
        ReadError::Open(_, source) if source.kind() == io::ErrorKind::NotFound => {
            failed.because(source).hint("check the path; `plumbline status --local` lists the runs on this machine")
        }
        ReadError::Stream { source: StreamError::NotGzip, .. } => {
            AppError::usage(format!("`{name}` is not an archive"))
                .cause("it is neither a gzip stream nor a tar archive")
                .hint("pass the archive (`.tar.gz`) that a run has written")
        }
        ReadError::Stream { source, .. } => failed.because(source).hint(RETRIEVE_AGAIN),
        other => failed.because(other).hint(RETRIEVE_AGAIN),
    }
}

/// The largest tree that is read completely, in bytes. Reading takes several times as much memory.
const MAX_BYTES: u64 = 1 << 30;

/// Reads a tree of `bytes` bytes: completely up to `whole` bytes, otherwise without the details of
/// passed items ([`read_lean`]). Returns the tree and the number of details that were left out.
fn read_tree_of(from: impl Read, bytes: u64, whole: u64, limits: &LeanLimits) -> io::Result<(Item, u64)> {
    if bytes <= whole {
        return Ok((read_tree(from)?, 0));
    }
    let lean = read_lean(BufReader::new(from), limits)?;
    Ok((lean.root, lean.left_out))
}

/// Reads a tree: YAML, of which JSON is a part.
pub fn read_tree(from: impl Read) -> io::Result<Item> {
    let mut text = String::new();
    let read = from.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("the result tree is larger than {} GiB", MAX_BYTES >> 30)));
    }
    Item::parse(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_other_tools_is_read() {
        let yaml = "name: systemd-logs\nstatus: passed\nmeta:\n  type: summary\nitems:\n- name: n1\n  status: passed\n  items:\n  \
                    - name: '1.0'\n    status: failed\n    details:\n      n: 1.5\n      list: [a, {b: c}]\n";
        let item = read_tree(yaml.as_bytes()).unwrap();
        assert_eq!(item.items[0].items[0].details["list"][1]["b"], "c");
        assert_eq!(item.items[0].items[0].details["n"], 1.5);
        assert_eq!(read_tree(serde_json::to_string(&item).unwrap().as_bytes()).unwrap(), item);
    }

    #[test]
    fn a_tree_larger_than_what_is_held_is_read_without_details() {
        let yaml = "name: p\nstatus: failed\nmeta:\n  type: summary\nitems:\n- name: a\n  status: passed\n  details:\n    x: \"1\"\n- name: b\n  status: failed\n  details:\n    failure: why\n";
        let read = |text: &str| read_tree_of(text.as_bytes(), MAX_BYTES + 1, MAX_BYTES, &LeanLimits::default());
        let (root, left_out) = read(yaml).unwrap();
        assert_eq!((left_out, root.items.len()), (1, 2));
        assert_eq!(root.items[1].details["failure"], "why");
        assert!(read("- foreign").is_err());
    }

    #[test]
    fn rubbish_is_an_error() {
        for bad in ["- a", "name: [", "\u{0}"] {
            assert!(read_tree(bad.as_bytes()).is_err(), "{bad:?}");
        }
        let bomb = "name: &a [x, x]\nitems: [*a, *a]\n";
        assert!(read_tree(bomb.as_bytes()).is_err());
    }

    #[test]
    fn a_hundred_thousand_items_are_read() {
        let mut yaml = String::from("name: p\nstatus: passed\nitems:\n");
        for n in 0..100_000 {
            yaml.push_str(&format!("- name: \"test {n}\"\n  status: passed\n"));
        }
        assert_eq!(read_tree(yaml.as_bytes()).unwrap().items.len(), 100_000);
    }
}
