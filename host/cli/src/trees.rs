//! The result trees of an archive: as they stand there, or computed anew.

mod judge;
mod unread;

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

use crate::error::CliError;
use crate::limits::Limits;
use crate::tree::read_tree_of;
use crate::ui::say;
use crate::{built_in, output, sources};

/// Bytes of a `definition.json`: far more than a definition may have, because old ones carry the whole aggregator's view.
const MAX_DEFINITION: u64 = 16 << 20;

/// Stands in a definition for a plugin's name that old versions allowed and no definition may have today, such as `systemd_logs`.
const STAND_IN: &str = "plugin";

/// How trees are computed anew.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reprocess {
    /// For every plugin, even where the archive has a tree.
    pub(crate) always: bool,
    /// A definition in place of the archive's.
    pub(crate) definition: Option<PathBuf>,
    /// What modules may use.
    pub(crate) limits: Limits,
}

/// A tree that was computed from an archive's files.
#[derive(Debug, Clone)]
struct Computed {
    file: PathBuf,
    /// What was detected in the plugin's files; `None`: its definition names their format.
    detections: Option<Detections>,
}

/// The trees of an archive.
pub(crate) struct Trees {
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
    pub(crate) fn open(path: &Path, reprocess: Reprocess) -> Result<Self, CliError> {
        Self::open_as(path, &path.display().to_string(), reprocess)
    }

    /// Opens the archive at `path`, which messages call `name`.
    pub(crate) fn open_as(path: &Path, name: &str, reprocess: Reprocess) -> Result<Self, CliError> {
        let archive = ResultsArchive::open(path)
            .map_err(|error| CliError::usage(format!("failed to read archive `{name}`")).because(&error))?;
        Ok(Self {
            path: path.to_owned(),
            name: name.to_owned(),
            archive,
            reprocess,
            computed: BTreeMap::new(),
            scratch: None,
            modules: None,
        })
    }

    /// The archive's name for messages.
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    /// The archive itself.
    pub(crate) fn archive(&mut self) -> &mut ResultsArchive {
        &mut self.archive
    }

    /// The plugins, in the archive's order.
    pub(crate) fn plugins(&self) -> Vec<String> {
        self.archive.info().plugins.clone()
    }

    /// The tree of `plugin`.
    pub(crate) fn item(&mut self, plugin: &str) -> Result<Item, CliError> {
        let path = self.name.clone();
        let is_made = self.reprocess.always;
        let read = |from: &mut dyn Read, bytes: u64| {
            let (root, left_out) = read_tree_of(from, bytes).map_err(|error| {
                let error = CliError::usage(format!("failed to read the result tree of plugin `{plugin}` in `{path}`"))
                    .because(&error);
                // A tree that was just computed would come out the same.
                if is_made { error } else { error.hint("`--reprocess` computes it again from the archive's files") }
            })?;
            if left_out > 0 {
                say(&format!(
                    "warning: the result tree of plugin `{plugin}` has {}: {left_out} details of it are left out; `--mode dump` prints all of it",
                    output::size(bytes)
                ));
            }
            Ok(root)
        };
        self.with_tree(plugin, read)
    }

    /// Copies the tree of `plugin` to `out`, as it stands.
    pub(crate) fn copy(&mut self, plugin: &str, out: &mut impl Write) -> Result<(), CliError> {
        let copy = |from: &mut dyn Read, _: u64| {
            io::copy(from, out).map(drop).map_err(|error| {
                CliError::printing(format!("failed to copy the result tree of plugin `{plugin}`"), &error)
            })
        };
        self.with_tree(plugin, copy)
    }

    fn with_tree<T>(
        &mut self,
        plugin: &str,
        read: impl FnOnce(&mut dyn Read, u64) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        if !self.reprocess.always
            && let Some(member) = self.archive.tree(plugin)
        {
            let mut reader = self
                .archive
                .file(&member)
                .map_err(|error| CliError::usage(format!("failed to read archive `{}`", self.name)).because(&error))?;
            let bytes = reader.size();
            return read(&mut reader, bytes);
        }
        let path = self.computed(plugin)?.file;
        let mut file = File::open(&path)
            .map_err(|error| CliError::system(format!("failed to read `{}`", path.display())).because(&error))?;
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        read(&mut file, bytes)
    }

    /// What was detected in the files of `plugin`, whose tree is computed for it; `None`: its definition names their format.
    pub(crate) fn detections(&mut self, plugin: &str) -> Result<Option<Detections>, CliError> {
        Ok(self.computed(plugin)?.detections)
    }

    /// The tree of `plugin`, computed from the archive's files with the modules of this version.
    fn computed(&mut self, plugin: &str) -> Result<Computed, CliError> {
        if let Some(computed) = self.computed.get(plugin) {
            return Ok(computed.clone());
        }
        // Only a damaged or forged list names a plugin of which there is nothing, and it may name thousands.
        if self.archive.files_below(&format!("{PLUGINS_DIR}/{plugin}")).next().is_none() {
            return Err(CliError::usage(format!("archive `{}` has no files of plugin `{plugin}`", self.name)));
        }
        if !self.reprocess.always {
            say(&format!("plugin `{plugin}` has no result tree in this archive: it is computed now"));
        }
        let modules = self.modules()?;
        let mut source = self.source(plugin)?;
        // Judges come after the tree, and one of them that is missing is no reason not to have it.
        Arc::make_mut(&mut source.definition).plumbline.verdict.clear();
        if self.reprocess.definition.is_none() {
            without_unknown_modules(plugin, &modules, Arc::make_mut(&mut source.definition));
        }
        let planned = prepare(&modules, &self.reprocess.limits.modules, source)
            .and_then(|planned| planned.ready().map(|()| planned))
            .map_err(|error| {
                let told = CliError::usage(format!("failed to reprocess plugin `{plugin}`")).because(&error);
                error.hint().into_iter().fold(told, CliError::hint)
            })?;
        for warning in planned.warnings() {
            say(&format!("warning: plugin `{plugin}`: {warning}"));
        }
        let scratch = self.scratch()?;
        let files = tempfile::tempdir_in(&scratch).map_err(no_room)?;
        self.archive.extract_plugin(plugin, files.path(), &ReadLimits::default().extract()).map_err(|error| {
            CliError::usage(format!("the files of plugin `{plugin}` cannot be taken out of `{}`", self.name))
                .because(&error)
        })?;
        let tree = scratch.join(format!("{}.yaml", self.computed.len()));
        let mut subject = planned.subject();
        // The name that the archive knows, which today may be none.
        plugin.clone_into(&mut subject.plugin.name);
        let outcome = post_process(&subject, files.path(), &planned.post_processor, &scratch, &tree)
            .map_err(|error| CliError::system(format!("failed to reprocess plugin `{plugin}`")).because(&error))?;
        let computed = Computed { file: tree, detections: outcome.detections };
        self.computed.insert(plugin.to_owned(), computed.clone());
        Ok(computed)
    }

    fn modules(&mut self) -> Result<Modules, CliError> {
        Ok(match &self.modules {
            Some(modules) => modules.clone(),
            None => self.modules.insert(built_in::modules(&self.reprocess.limits)?).clone(),
        })
    }

    /// A directory for temporary files.
    fn scratch(&mut self) -> Result<PathBuf, CliError> {
        Ok(match &self.scratch {
            Some(scratch) => scratch.path().to_owned(),
            None => self.scratch.insert(tempfile::tempdir().map_err(no_room)?).path().to_owned(),
        })
    }

    /// The definition that was named, the archive's, or the least one: then the plugin's name says the format, if anything does.
    fn source(&mut self, plugin: &str) -> Result<Source, CliError> {
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
            CliError::usage(format!("invalid definition of plugin `{plugin}` in the archive"))
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
}

/// Takes modules out of the definition of an archived plugin that only its bundle had, because an archive holds no modules. Sonobuoy
/// accepts any format, and lists files of one that it does not know. So its archives hold definitions with such formats.
fn without_unknown_modules(plugin: &str, modules: &Modules, definition: &mut Definition) {
    let is_unknown = |error: &ModuleError| matches!(error, ModuleError::Unknown { .. });
    let warn = |error: &ModuleError, so: &str| say(&format!("warning: plugin `{plugin}`: {error}; {so}"));
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

fn no_room(error: io::Error) -> CliError {
    CliError::system("failed to create a directory for temporary files").because(&error)
}

/// Where the plugin's name stands in the `definition.json` of an archive.
fn name_in(document: &mut Value) -> Option<&mut Value> {
    let definition = match document.get("Definition") {
        Some(_) => document.get_mut("Definition")?,
        None => document,
    };
    definition.get_mut("sonobuoy-config")?.get_mut("plugin-name")
}
