//! Shows the results in archives and result files: reads them, judges them, and sends them to a
//! [`View`].

mod compare;
mod input;
mod tree;
mod views;

use std::path::{Path, PathBuf};

use plumbline_conformance::chain::Chain;
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::{Item, Status, text};

use crate::context::Context;
use crate::error::AppError;
use crate::judges::{JudgeOptions, chain, judged_plugin, rehearse_chain};
use crate::limits::Limits;
use crate::trees::{Reprocess, Trees};

pub use compare::{CompareOptions, Comparison, compare};
pub use input::{Input, open_input};
pub use tree::{HEALTH, ResultTree, ShownResults};
pub use views::{Collected, Html, JsonArray, View, YamlDocuments};

/// The most names of plugins in an error, and the most errors about plugins of one archive.
const MAX_LISTED: usize = 20;

/// Which results are shown.
#[derive(Debug, Clone, Default)]
pub struct ResultsOptions {
    /// Archives, directories and result files.
    pub inputs: Vec<PathBuf>,
    /// The plugin to show. By default, every plugin.
    pub plugin: Option<String>,
    /// The item of the tree to show. By default, the whole tree.
    pub node: Option<String>,
    /// Whether results are processed again.
    pub reprocess: bool,
    /// The definition to process results with.
    pub definition: Option<PathBuf>,
    /// The format of result files. By default, it is detected.
    pub result_format: Option<String>,
    /// The file with limits.
    pub limits: Option<PathBuf>,
    /// Further judges.
    pub judges: JudgeOptions,
}

/// Sends the results of every input to `view`, and adds them to `seen`. If there are several
/// inputs, one that cannot be read is reported, and the others are shown.
///
/// # Errors
/// An option is wrong, no input can be read, or `view` failed.
pub fn show(
    context: &Context,
    options: &ResultsOptions,
    seen: &mut ShownResults,
    view: &mut dyn View,
) -> Result<(), AppError> {
    let several = options.inputs.len() > 1;
    let (mut shown, mut failed) = (false, false);
    for path in &options.inputs {
        match one_input(context, options, path, several, seen, view) {
            Ok(()) => shown = true,
            Err(error) if several && error.is_usage() => {
                context.reporter.error(&error);
                seen.missing(&path.to_string_lossy());
                failed = true;
            }
            Err(error) => return Err(error),
        }
    }
    if failed && !shown { Err(AppError::usage("none of the inputs can be read")) } else { Ok(()) }
}

fn one_input(
    context: &Context,
    options: &ResultsOptions,
    path: &Path,
    several: bool,
    seen: &mut ShownResults,
    view: &mut dyn View,
) -> Result<(), AppError> {
    let limits = Limits::load(options.limits.as_deref())?;
    let reprocess = Reprocess { always: options.reprocess, definition: options.definition.clone(), limits };
    let mut input = open_input(context, path, reprocess, options.result_format.as_deref())?;
    let plugins = selected(&input, options)?;
    let more = more(context, &plugins, options)?;
    let name = input.name.clone();
    let in_name = several.then_some(name.as_str());
    view.begin(in_name, &mut input.trees)?;
    let mut unread = 0;
    for plugin in &plugins {
        let tree = match load(&mut input.trees, plugin, options, more.as_ref()) {
            Ok((item, verdict)) => ResultTree { input: in_name, plugin, item, verdict, is_unreadable: false },
            Err(error) if plugins.len() > 1 && error.is_usage() => {
                unread += 1;
                if unread <= MAX_LISTED {
                    context.reporter.error(&error);
                }
                ResultTree {
                    input: in_name,
                    plugin,
                    item: unreadable(plugin, &error),
                    verdict: None,
                    is_unreadable: true,
                }
            }
            Err(error) => return Err(error),
        };
        seen.add(&name, &tree, input.trees.verdict_counts(plugin, &tree.item));
        view.tree(&mut input.trees, tree)?;
    }
    if unread > MAX_LISTED {
        context.reporter.progress(&format!("… {} more plugins cannot be read", unread - MAX_LISTED));
    }
    view.end(&mut input.trees)
}

/// Reads the tree of `plugin` and its verdict.
fn load(
    trees: &mut Trees,
    plugin: &str,
    options: &ResultsOptions,
    more: Option<&(String, Chain)>,
) -> Result<(Item, Option<PluginVerdict>), AppError> {
    // The verdict is before the tree in the archive, which is read forward. It is about the whole
    // plugin.
    let verdict = match (&options.node, more) {
        (Some(_), _) => None,
        (None, Some((judged, chain))) if judged == plugin => trees.verdict(plugin, chain)?,
        (None, _) => trees.verdict(plugin, &Chain::default())?,
    };
    let root = trees.item(plugin)?;
    let Some(node) = &options.node else { return Ok((root, verdict)) };
    let item = root.find(node).cloned().ok_or_else(|| {
        AppError::usage(format!("plugin `{plugin}` has no item `{node}`")).hint("`--mode dump` shows all of its items")
    })?;
    root.dismantle();
    Ok((item, verdict))
}

/// The tree of a plugin that cannot be read.
fn unreadable(plugin: &str, error: &AppError) -> Item {
    Item {
        name: plugin.to_owned(),
        status: Status::Unknown,
        meta: [("error".to_owned(), error.to_string())].into(),
        ..Item::default()
    }
}

fn selected(input: &Input, options: &ResultsOptions) -> Result<Vec<String>, AppError> {
    let all = input.trees.plugins();
    let name = &input.name;
    match &options.plugin {
        Some(plugin) if plugin == HEALTH => Ok(Vec::new()),
        Some(plugin) if all.contains(plugin) => Ok(vec![plugin.clone()]),
        Some(plugin) => {
            let all: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
            let known = match all.is_empty() {
                true => "it has none".to_owned(),
                false => format!("it has {}", text::listed(&all, MAX_LISTED, ", ")),
            };
            Err(AppError::usage(format!("archive `{name}` has no plugin `{plugin}`")).hint(known))
        }
        None if all.is_empty() => Err(AppError::usage(format!("archive `{name}` has no plugins"))),
        None => Ok(all),
    }
}

/// The plugin that further judges judge, and these judges.
fn more(context: &Context, plugins: &[String], options: &ResultsOptions) -> Result<Option<(String, Chain)>, AppError> {
    let judge = &options.judges;
    let Some(option) = judge.given() else { return Ok(None) };
    if options.node.is_some() {
        return Err(AppError::usage(format!(
            "`{option}` judges the whole of a plugin, and `--node` shows a part of it"
        )));
    }
    let plugin = judged_plugin(judge, plugins)?;
    let limits = Limits::load(options.limits.as_deref())?;
    let chain = chain(context, judge, &plugin, &limits)?;
    rehearse_chain(&chain, &plugin, &limits)?;
    Ok(Some((plugin, chain)))
}
