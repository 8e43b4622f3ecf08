//! Runs a check on this machine, without a run around it, for its author.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plumbline_aggregator::{PlanError, PlannedCheck, PlannedPlugin, Source, TREE_FILE, post_process, prepare};
use plumbline_core::definition::Definition;
use plumbline_core::duration::parse_duration;
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_core::{CheckRun, GLOBAL};
use plumbline_sandbox::inspect;
use serde_json::{Map, Value, json};

use super::output::Output;
use super::{supervise, unwritten};
use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::modules::{self, LimitsFile};
use crate::process::Processed;
use crate::runtime::one_thread;
use crate::{files, sources};

/// The node of a check that runs on every node.
const THIS_NODE: &str = "localhost";

/// Which check runs on this machine, and with which rights.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct CheckOptions {
    /// The component of a check (`NAME.wasm`), which gets the rights that it declares; or the
    /// directory of a plugin, whose definition grants them
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// Set an option of the check; the value is YAML; repeatable
    #[arg(long = "option", value_name = "KEY=VALUE")]
    pub options: Vec<String>,
    /// Let the check read objects of the cluster of the current kubeconfig
    #[arg(long)]
    pub cluster: bool,
    /// Time limit of the check, such as `30s` or `2m` [default: the limit of the check]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// The file with limits.
    #[command(flatten)]
    pub limits: LimitsFile,
}

/// Runs a check on this machine, and post-processes its items as a run does.
///
/// # Errors
///
/// Returns an error if the check is unusable, needs a cluster and may not read it, or its results
/// cannot be written. A failure of the check is an item.
pub fn run_here(context: &Context, options: &CheckOptions) -> Result<Processed, AppError> {
    let (planned, check) = plan(options)?;
    let definition = &planned.source.definition;
    let (component, rights) =
        (definition.plumbline.component.as_deref().unwrap_or_default(), &definition.plumbline.grants);
    if !rights.kubernetes.is_empty() && !options.cluster {
        return Err(AppError::usage(format!("the check `{component}` reads objects of a cluster"))
            .cause(format!("its rights: {rights}"))
            .hint("`--cluster` lets it read them with the current kubeconfig"));
    }
    let bundle = planned.source.bundle.clone().unwrap_or_default();
    context.reporter.note(&format!("runs the check `{component}` on this machine, with these rights: {rights}"));
    let scratch = files::scratch()?;
    let node = if definition.driver.is_per_node() { THIS_NODE } else { GLOBAL };
    let results = scratch.path().join("results").join(node);
    let failed = |error: std::io::Error| unwritten(&results, &error);
    std::fs::create_dir_all(&results).map_err(failed)?;
    let mut limits = check.limits;
    if let Some(timeout) = options.timeout {
        limits.wall_seconds = limits.wall_seconds.min(timeout.as_secs().max(1));
    }
    let run = CheckRun::new(definition, bundle.join(component), 1, limits);
    let output = Output::create(&results, &run.plugin).map_err(failed)?;
    one_thread()?.block_on(supervise(run, Arc::new(output))).map_err(failed)?;
    let tree = scratch.path().join(TREE_FILE);
    let outcome = post_process(&planned.subject(), scratch.path(), &planned.post_processor, scratch.path(), &tree)
        .system_error(format_args!("failed to post-process the items of `{component}`"))?;
    Ok(Processed { plugin: planned.name().clone(), outcome, tree, scratch })
}

fn plan(options: &CheckOptions) -> Result<(PlannedPlugin, PlannedCheck), AppError> {
    let wrong = |error: PlanError| {
        let hint = error.hint();
        AppError::usage(format!("failed to prepare the check `{}`", options.path.display()))
            .because(&error)
            .hint_if(hint)
    };
    let mut source =
        if options.path.is_dir() { sources::from_file(&options.path)?.source } else { of_file(&options.path)? };
    Arc::make_mut(&mut source.definition).plumbline.options.extend(parse_options(&options.options)?);
    let limits = options.limits.load()?;
    let modules = modules::modules(&limits)?;
    // A component alone has no bundle: other modules in its directory do not read its items.
    let bundle = source.bundle.clone();
    if !options.path.is_dir() {
        source.bundle = None;
    }
    let mut planned = prepare(&modules, &limits.modules, source).map_err(wrong)?;
    planned.source.bundle = bundle;
    let mut planned = planned.with_check(&modules, &limits.modules).map_err(wrong)?;
    planned.ready().map_err(wrong)?;
    let Some(check) = planned.check.take() else {
        return Err(AppError::usage(format!("plugin `{}` does not run a check", planned.name()))
            .hint("its definition has no `plumbline.component`; `plumbline run --local -p DIR` runs other plugins"));
    };
    Ok((planned, check))
}

/// Returns a plugin that runs the component in a file, and grants it what it declares.
fn of_file(path: &Path) -> Result<Source, AppError> {
    let what = format!("failed to read the check `{}`", path.display());
    let bytes = files::read_bytes(path, MAX_COMPONENT_BYTES, &what)?;
    let wrong = |error: &dyn std::error::Error| {
        AppError::usage(format!("`{}` is not a check", path.display()))
            .because(error)
            .hint("pass a component `NAME.wasm` that `plumbline plugin build` wrote, or the directory of a plugin")
    };
    let info = inspect(&bytes).map_err(|error| wrong(&error))?;
    let name = info.name.clone().unwrap_or_else(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
    let definition = Definition::from_json(json!({
        "sonobuoy-config": {"plugin-name": name, "driver": "Process"},
        "plumbline": {
            "component": path.file_name().unwrap_or_default().to_string_lossy(),
            "grants": info.rights,
        },
    }));
    let definition = definition.map_err(|error| wrong(&error))?.definition;
    Ok(Source { definition: Arc::new(definition), bundle: sources::directory_of(path) })
}

fn parse_options(options: &[String]) -> Result<Map<String, Value>, AppError> {
    let parse = |option: &String| -> Result<(String, Value), AppError> {
        let wrong = || {
            AppError::usage(format!("invalid value for `--option`: `{option}`"))
                .hint("use `KEY=VALUE`, with the value as YAML")
        };
        let (key, value) = option.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(wrong)?;
        let value: Value = serde_saphyr::from_str(value).map_err(|error| wrong().because(&error))?;
        Ok((key.to_owned(), value))
    };
    options.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_yaml() {
        let parsed =
            parse_options(&["days=30".to_owned(), "registries=[a, b]".to_owned(), "x=a=b".to_owned()]).unwrap();
        assert_eq!(Value::Object(parsed), json!({"days": 30, "registries": ["a", "b"], "x": "a=b"}));
        for bad in ["days", "=3", "x=[1"] {
            assert!(parse_options(&[bad.to_owned()]).is_err(), "{bad}");
        }
    }
}
