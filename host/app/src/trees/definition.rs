//! The definition with which a plugin of an archive is processed again.

use std::sync::Arc;

use plumbline_aggregator::{ModuleError, Modules, Source};
use plumbline_core::definition::Definition;
use plumbline_core::{Driver, PluginName};
use serde_json::{Value, json};

use crate::error::AppError;
use crate::sources;
use crate::trees::Trees;

/// The largest `definition.json`, in bytes. Old ones contain the whole view of the aggregator, and
/// are far larger than a definition.
const MAX_DEFINITION: u64 = 16 << 20;

/// Replaces a plugin's name that old versions allowed and definitions may not have today, such as
/// `systemd_logs`.
const STAND_IN: &str = "plugin";

impl Trees {
    /// The definition of the options, or that of the archive, or a minimal one whose format is the
    /// plugin's name.
    pub(super) fn source(&mut self, plugin: &str) -> Result<Source, AppError> {
        if let Some(path) = &self.reprocess.definition {
            let mut source = sources::from_file(path)?.source;
            let mut definition = (*source.definition).clone();
            if let Ok(name) = plugin.parse() {
                definition.name = name;
            }
            source.definition = Arc::new(definition);
            return Ok(source);
        }
        let mut document = match self.archived_definition(plugin)? {
            Some(document) => document,
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
        let parsed = Definition::from_json(document).map_err(|error| invalid_definition(plugin, &error))?;
        Ok(Source { definition: Arc::new(parsed.definition), bundle: None })
    }

    /// The `definition.json` of a plugin, if the archive has it.
    pub(super) fn archived_definition(&mut self, plugin: &str) -> Result<Option<Value>, AppError> {
        let Some(member) = self.archive.definition(plugin) else { return Ok(None) };
        let bytes = self.archive.read(&member, MAX_DEFINITION).map_err(|error| invalid_definition(plugin, &error))?;
        serde_json::from_slice(&bytes).map(Some).map_err(|error| invalid_definition(plugin, &error))
    }

    /// Removes unknown modules from the definition of an archived plugin. An archive does not
    /// contain the modules of bundles, and Sonobuoy accepts any format and only lists the files of
    /// one that it does not know.
    pub(super) fn without_unknown_modules(&self, plugin: &str, modules: &Modules, definition: &mut Definition) {
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

/// The error for the definition of an archived plugin.
fn invalid_definition(plugin: &str, error: &dyn std::error::Error) -> AppError {
    AppError::usage(format!("invalid definition of plugin `{plugin}` in the archive"))
        .because(error)
        .hint("pass one with `--reprocess --plugin NAME --definition FILE`")
}

/// The plugin's name in the `definition.json` of an archive.
fn name_in(document: &mut Value) -> Option<&mut Value> {
    let definition = match document.get("Definition") {
        Some(_) => document.get_mut("Definition")?,
        None => document,
    };
    definition.get_mut("sonobuoy-config")?.get_mut("plugin-name")
}
