//! Post-processes the results of a plugin in a directory.

use std::path::PathBuf;
use std::sync::Arc;

use plumbline_aggregator::{LimitPolicy, Modules, Outcome, PlannedPlugin, Source, TREE_FILE, post_process, prepare};
use plumbline_core::definition::Definition;
use plumbline_core::{Driver, PluginName};
use serde_json::json;
use tempfile::TempDir;

use crate::context::Context;
use crate::error::AppError;
use crate::limits::Limits;
use crate::modules;
use crate::sources::{self, ResolvedPlugin, SourceKind};

/// Which results are processed, and as those of which plugin. Options override the definition.
#[derive(Debug, Clone, Default)]
pub struct ProcessOptions {
    /// The directory, as that of a plugin in an archive.
    pub dir: PathBuf,
    /// The file with the definition. By default, the other options make one.
    pub definition: Option<PathBuf>,
    /// The name of the plugin.
    pub name: Option<String>,
    /// The driver.
    pub driver: Option<Driver>,
    /// The format of the results.
    pub result_format: Option<String>,
    /// The files with results.
    pub result_files: Vec<String>,
    /// The post-processor.
    pub module: Option<PathBuf>,
    /// The file with limits.
    pub limits: Option<PathBuf>,
}

/// The processed results of a plugin.
pub struct Processed {
    /// The name of the plugin.
    pub plugin: PluginName,
    /// The total, and the failures.
    pub outcome: Outcome,
    /// The file with the result tree.
    pub tree: PathBuf,
    /// The directory of this file, which is removed with this.
    pub scratch: TempDir,
}

/// Post-processes a directory, which does not change.
///
/// # Errors
/// The options do not describe a plugin, or its modules cannot be used.
pub fn process(context: &Context, options: &ProcessOptions) -> Result<Processed, AppError> {
    let found = definition(options)?;
    found.warnings.iter().for_each(|warning| context.reporter.warning(&format!("`{}`: {warning}", found.origin)));
    if !options.dir.join("results").is_dir() && !options.dir.join("errors").is_dir() {
        return Err(AppError::usage(format!(
            "directory `{}` has neither `results` nor `errors` below it",
            options.dir.display()
        ))
        .hint("results are laid out as in an archive: `results/global/FILE`, or `results/NODE/FILE` per node"));
    }
    let limits = Limits::load(options.limits.as_deref())?;
    let modules = modules::modules(&limits)?;
    let plugin = plan(&modules, &limits.modules, found.source, options)?;
    plugin.warnings().into_iter().for_each(|warning| context.reporter.warning(&warning.to_string()));
    let scratch = tempfile::tempdir()
        .map_err(|error| AppError::system("failed to create a directory for temporary files").because(&error))?;
    let tree = scratch.path().join(TREE_FILE);
    let outcome = post_process(&plugin.subject(), &options.dir, &plugin.post_processor, scratch.path(), &tree)
        .map_err(|error| {
            AppError::system(format!("failed to post-process `{}`", options.dir.display())).because(&error)
        })?;
    Ok(Processed { plugin: plugin.name().clone(), outcome, tree, scratch })
}

/// The definition of the options, or a minimal one, with the other options applied.
fn definition(options: &ProcessOptions) -> Result<ResolvedPlugin, AppError> {
    let mut found = match &options.definition {
        Some(path) => sources::from_file(path)?,
        None => {
            let name = options.name.as_deref().unwrap_or_default();
            let least = json!({
                "sonobuoy-config": {"plugin-name": name, "driver": options.driver.unwrap_or(Driver::Job)},
                "spec": {},
            });
            let parsed = Definition::from_json(least)
                .map_err(|error| AppError::usage("these options describe no plugin").because(&error))?;
            let source = Source { definition: Arc::new(parsed.definition), bundle: None };
            ResolvedPlugin {
                source,
                directory: None,
                warnings: parsed.warnings,
                origin: name.to_owned(),
                digest: None,
                kind: SourceKind::Named,
                signatures: None,
                pinned: None,
            }
        }
    };
    let mut definition = (*found.source.definition).clone();
    if let Some(name) = &options.name {
        definition.name = name.parse().map_err(|error| AppError::usage("`--name` is not valid").because(&error))?;
    }
    if let Some(driver) = options.driver {
        definition.driver = driver;
    }
    if let Some(format) = &options.result_format {
        definition.result_format = Some(format.clone());
    }
    if !options.result_files.is_empty() {
        definition.result_files.clone_from(&options.result_files);
    }
    found.source.definition = Arc::new(definition);
    Ok(found)
}

fn plan(
    modules: &Modules,
    limits: &LimitPolicy,
    source: Source,
    options: &ProcessOptions,
) -> Result<PlannedPlugin, AppError> {
    let mut plugin = prepare(modules, limits, source).map_err(|error| {
        let told = AppError::usage("the plugin cannot be used").because(&error);
        error.hint().into_iter().fold(told, AppError::hint)
    })?;
    if let Some(path) = &options.module {
        plugin.post_processor = modules
            .post_processor_in(path)
            .map_err(|error| AppError::usage("what `--module` names cannot be used").because(&error))?;
    }
    plugin.ready().map_err(|error| AppError::usage("the plugin cannot be used").because(&error))?;
    Ok(plugin)
}
