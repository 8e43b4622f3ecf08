//! The result trees of an archive: as the archive has them, or processed again.

mod read;
mod verdict;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_aggregator::{Detections, ModuleError, Modules, Source, post_process, prepare};
use plumbline_archive::layout::PLUGINS_DIR;
use plumbline_archive::results::{ReadLimits, ResultsArchive};
use plumbline_core::definition::Definition;
use plumbline_core::{Driver, Item, PluginName};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::context::{Context, Reporter};
use crate::error::AppError;
use crate::limits::Limits;
use crate::report::text::size;
use crate::{modules, sources};

use read::read_tree_of;

pub use read::read_tree;

/// The largest `definition.json`, in bytes. Old ones contain the whole view of the aggregator, and
/// are far larger than a definition.
const MAX_DEFINITION: u64 = 16 << 20;

/// Replaces a plugin's name that old versions allowed and definitions may not have today, such as
/// `systemd_logs`.
const STAND_IN: &str = "plugin";

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

/// A tree that was processed from an archive's files.
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
    modules: Option<Modules>,
}

impl Trees {
    /// Opens the archive at `path`.
    ///
    /// # Errors
    /// It cannot be read as an archive.
    pub fn open(context: &Context, path: &Path, reprocess: Reprocess) -> Result<Self, AppError> {
        Self::open_as(context, path, &path.display().to_string(), reprocess)
    }

    /// Opens the archive at `path`, which is `name` in messages.
    ///
    /// # Errors
    /// It cannot be read as an archive.
    pub fn open_as(context: &Context, path: &Path, name: &str, reprocess: Reprocess) -> Result<Self, AppError> {
        let archive = ResultsArchive::open(path)
            .map_err(|error| AppError::usage(format!("failed to read archive `{name}`")).because(&error))?;
        Ok(Self {
            reporter: Arc::clone(&context.reporter),
            path: path.to_owned(),
            name: name.to_owned(),
            archive,
            reprocess,
            computed: BTreeMap::new(),
            scratch: None,
            modules: None,
        })
    }

    /// The archive's name, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The archive.
    pub fn archive(&mut self) -> &mut ResultsArchive {
        &mut self.archive
    }

    /// The names of the plugins, in the archive's order.
    #[must_use]
    pub fn plugins(&self) -> Vec<String> {
        self.archive.info().plugins.clone()
    }

    /// Reads the tree of `plugin`, which is processed if the archive does not have it.
    ///
    /// # Errors
    /// The tree cannot be read or processed.
    pub fn item(&mut self, plugin: &str) -> Result<Item, AppError> {
        let (path, reporter) = (self.name.clone(), Arc::clone(&self.reporter));
        let is_made = self.reprocess.always;
        let read = |from: &mut dyn Read, bytes: u64| {
            let (root, left_out) = read_tree_of(from, bytes).map_err(|error| {
                let error = AppError::usage(format!("failed to read the result tree of plugin `{plugin}` in `{path}`"))
                    .because(&error);
                // Processing a tree again that was just processed changes nothing.
                if is_made { error } else { error.hint("`--reprocess` computes it again from the archive's files") }
            })?;
            if left_out > 0 {
                reporter.warning(&format!(
                    "the result tree of plugin `{plugin}` has {}: {left_out} details of it are left out; `--mode dump` prints all of it",
                    size(bytes)
                ));
            }
            Ok(root)
        };
        self.with_tree(plugin, read)
    }

    /// Copies the text of the tree of `plugin` to `out`.
    ///
    /// # Errors
    /// As for [`Trees::item`], and if `out` cannot be written.
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
        if !self.reprocess.always
            && let Some(member) = self.archive.tree(plugin)
        {
            let mut reader = self
                .archive
                .file(&member)
                .map_err(|error| AppError::usage(format!("failed to read archive `{}`", self.name)).because(&error))?;
            let bytes = reader.size();
            return read(&mut reader, bytes);
        }
        let path = self.computed(plugin)?.file;
        let mut file = File::open(&path)
            .map_err(|error| AppError::system(format!("failed to read `{}`", path.display())).because(&error))?;
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        read(&mut file, bytes)
    }

    /// Processes `plugin`, and returns the formats that were detected in its files. `None` if its
    /// definition names the format.
    ///
    /// # Errors
    /// The plugin cannot be processed.
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
            return Err(AppError::usage(format!("archive `{}` has no files of plugin `{plugin}`", self.name)));
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
                let failed = AppError::usage(format!("failed to reprocess plugin `{plugin}`")).because(&error);
                error.hint().into_iter().fold(failed, AppError::hint)
            })?;
        for warning in planned.warnings() {
            self.reporter.warning(&format!("plugin `{plugin}`: {warning}"));
        }
        let scratch = self.scratch()?;
        let files = tempfile::tempdir_in(&scratch).map_err(no_room)?;
        self.archive.extract_plugin(plugin, files.path(), &ReadLimits::default().extract()).map_err(|error| {
            AppError::usage(format!("the files of plugin `{plugin}` cannot be taken out of `{}`", self.name))
                .because(&error)
        })?;
        let tree = scratch.join(format!("{}.yaml", self.computed.len()));
        let mut subject = planned.subject();
        // The name in the archive, which may be invalid today.
        plugin.clone_into(&mut subject.plugin.name);
        let outcome = post_process(&subject, files.path(), &planned.post_processor, &scratch, &tree)
            .map_err(|error| AppError::system(format!("failed to reprocess plugin `{plugin}`")).because(&error))?;
        let computed = Computed { file: tree, detections: outcome.detections };
        self.computed.insert(plugin.to_owned(), computed.clone());
        Ok(computed)
    }

    fn modules(&mut self) -> Result<Modules, AppError> {
        Ok(match &self.modules {
            Some(modules) => modules.clone(),
            None => self.modules.insert(modules::modules(&self.reprocess.limits)?).clone(),
        })
    }

    /// A directory for temporary files.
    fn scratch(&mut self) -> Result<PathBuf, AppError> {
        Ok(match &self.scratch {
            Some(scratch) => scratch.path().to_owned(),
            None => self.scratch.insert(tempfile::tempdir().map_err(no_room)?).path().to_owned(),
        })
    }

    /// The definition of the options, or that of the archive, or a minimal one whose format is the
    /// plugin's name.
    fn source(&mut self, plugin: &str) -> Result<Source, AppError> {
        if let Some(path) = &self.reprocess.definition {
            let mut source = sources::from_file(path)?.source;
            let mut definition = (*source.definition).clone();
            if let Ok(name) = plugin.parse() {
                definition.name = name;
            }
            source.definition = Arc::new(definition);
            return Ok(source);
        }
        let cannot = |error: &dyn std::error::Error| {
            AppError::usage(format!("invalid definition of plugin `{plugin}` in the archive"))
                .because(error)
                .hint("give one with `--reprocess --plugin NAME --definition FILE`")
        };
        let mut document = match self.archive.definition(plugin) {
            Some(member) => {
                let bytes = self.archive.read(&member, MAX_DEFINITION).map_err(|error| cannot(&error))?;
                serde_json::from_slice(&bytes).map_err(|error| cannot(&error))?
            }
            None => {
                let nodes = self.archive.files_below(&format!("plugins/{plugin}/results")).count();
                let driver = if nodes > 1 && plugin != "e2e" { Driver::DaemonSet } else { Driver::Job };
                json!({"sonobuoy-config": {"plugin-name": plugin, "driver": driver, "result-format": plugin}, "spec": {}})
            }
        };
        if plugin.parse::<PluginName>().is_err()
            && let Some(name) = name_in(&mut document)
        {
            *name = STAND_IN.into();
        }
        let parsed = Definition::from_json(document).map_err(|error| cannot(&error))?;
        Ok(Source { definition: Arc::new(parsed.definition), bundle: None })
    }

    /// Removes unknown modules from the definition of an archived plugin. An archive does not
    /// contain the modules of bundles, and Sonobuoy accepts any format and only lists the files of
    /// one that it does not know.
    fn without_unknown_modules(&self, plugin: &str, modules: &Modules, definition: &mut Definition) {
        let is_unknown = |error: &ModuleError| matches!(error, ModuleError::Unknown { .. });
        let warn = |error: &ModuleError, so: &str| self.reporter.warning(&format!("plugin `{plugin}`: {error}; {so}"));
        if let Some(format) = definition.result_format.as_deref()
            && let Some(error) = modules.post_processor(None, format).err().filter(is_unknown)
        {
            warn(&error, "its files are listed and not read");
            definition.result_format = None;
        }
        if let Some(name) = definition.plumbline.summarizer.as_deref()
            && let Some(error) = modules.summarizer(None, name).err().filter(is_unknown)
        {
            warn(&error, "its results are not summarized");
            definition.plumbline.summarizer = None;
        }
    }
}

fn no_room(error: io::Error) -> AppError {
    AppError::system("failed to create a directory for temporary files").because(&error)
}

/// The plugin's name in the `definition.json` of an archive.
fn name_in(document: &mut Value) -> Option<&mut Value> {
    let definition = match document.get("Definition") {
        Some(_) => document.get_mut("Definition")?,
        None => document,
    };
    definition.get_mut("sonobuoy-config")?.get_mut("plugin-name")
}
