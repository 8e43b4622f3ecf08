//! `plumbline results`

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::judges::{chain, judged_plugin, rehearse_chain};
use plumbline_app::limits::Limits;
use plumbline_app::trees::{Reprocess, Trees};
use plumbline_conformance::chain::Chain;
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::{Item, Status, text};

use super::results_diff;
use super::results_input::{self, Input};
use super::results_text::Text;
use super::results_tree::{HEALTH, Seen, Tree, printed};
use super::results_views::{Collected, Html, JsonArray, View, YamlDocuments};
use crate::args::RegistryArgs;
use crate::args::{ExitCodes, Global, ResultsArgs, ResultsCommand, ResultsFormat};
use crate::context::context;
use crate::error::PrintError as _;
use crate::error::verdict_code;
use crate::logging;
use crate::output::Foreign;
use crate::ui::say;
use plumbline_app::Context;
use plumbline_app::judges::JudgeOptions;

/// Names of plugins that an error lists, and errors about plugins of one archive.
const MAX_LISTED: usize = 20;

/// Shows the results in archives and result files.
pub(crate) fn results(args: &ResultsArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    if let Some(ResultsCommand::Diff(diff)) = &args.command {
        return results_diff::diff(diff, global);
    }
    let mut out = BufWriter::new(Foreign::stdout());
    let mut seen = Seen::default();
    let shown = show(args, &mut seen, &mut out);
    match shown {
        Ok(()) => printed(out.flush())?,
        // Half a document helps nobody.
        Err(error) => {
            let _ = out.into_parts();
            return Err(error);
        }
    }
    Ok(match global.exit_code {
        ExitCodes::Compat => ExitCode::SUCCESS,
        ExitCodes::Strict if args.plugin.as_deref() == Some(HEALTH) && !seen.is_incomplete() => ExitCode::SUCCESS,
        ExitCodes::Strict => verdict_code(seen.verdict()),
    })
}

fn show(args: &ResultsArgs, seen: &mut Seen, out: &mut impl Write) -> Result<(), AppError> {
    let Some(format) = args.format.or_else(|| args.mode.format()) else {
        return each_input(args, seen, &mut Text::new(args, out));
    };
    match format {
        ResultsFormat::Json => JsonArray::print(out, |view| each_input(args, seen, view)),
        ResultsFormat::Yaml => each_input(args, seen, &mut YamlDocuments(out)),
        ResultsFormat::Junit | ResultsFormat::Markdown => {
            let mut collected = Collected::default();
            each_input(args, seen, &mut collected)?;
            printed(if format == ResultsFormat::Junit { collected.junit(out) } else { collected.markdown(out) })
        }
        ResultsFormat::Html => {
            let mut page = Html::new()?;
            each_input(args, seen, &mut page)?;
            printed(page.finish(out))
        }
    }
}

/// Shows every input in `view`. One that cannot be read does not hide the others.
fn each_input(args: &ResultsArgs, seen: &mut Seen, view: &mut dyn View) -> Result<(), AppError> {
    let several = args.inputs.len() > 1;
    let (mut shown, mut failed) = (false, false);
    for path in &args.inputs {
        match one_input(args, path, several, seen, view) {
            Ok(()) => shown = true,
            Err(error) if several && error.is_usage() => {
                error.print();
                seen.missing(&path.to_string_lossy());
                failed = true;
            }
            Err(error) => return Err(error),
        }
    }
    if failed && !shown { Err(AppError::usage("none of the inputs can be read")) } else { Ok(()) }
}

fn one_input(
    args: &ResultsArgs,
    path: &Path,
    several: bool,
    seen: &mut Seen,
    view: &mut dyn View,
) -> Result<(), AppError> {
    let context = context(&RegistryArgs::default());
    let reprocess = Reprocess {
        always: args.reprocess,
        definition: args.definition.clone(),
        limits: Limits::load(args.limits.file.as_deref())?,
    };
    let mut input = results_input::open(&context, path, reprocess, args.result_format.as_deref())?;
    let plugins = selected(&input, args)?;
    let more = more(&context, &plugins, args)?;
    let name = input.name.clone();
    let in_name = several.then_some(name.as_str());
    view.begin(in_name, &mut input.trees)?;
    let mut unread = 0;
    for plugin in &plugins {
        let tree = match load(&mut input.trees, plugin, args, more.as_ref()) {
            Ok((item, verdict)) => Tree { input: in_name, plugin, item, verdict, is_unreadable: false },
            Err(error) if plugins.len() > 1 && error.is_usage() => {
                unread += 1;
                if unread <= MAX_LISTED {
                    error.print();
                }
                Tree { input: in_name, plugin, item: unreadable(plugin, &error), verdict: None, is_unreadable: true }
            }
            Err(error) => return Err(error),
        };
        seen.add(&name, &tree, input.trees.verdict_counts(plugin, &tree.item));
        view.tree(&mut input.trees, tree)?;
    }
    if unread > MAX_LISTED {
        say(&format!("… {} more plugins cannot be read", unread - MAX_LISTED));
    }
    view.end(&mut input.trees)
}

/// Reads what is shown of `plugin`.
fn load(
    trees: &mut Trees,
    plugin: &str,
    args: &ResultsArgs,
    more: Option<&(String, Chain)>,
) -> Result<(Item, Option<PluginVerdict>), AppError> {
    // In the archive the verdict stands before the tree: reading goes forward. It speaks of the whole plugin.
    let verdict = match (&args.node, more) {
        (Some(_), _) => None,
        (None, Some((judged, chain))) if judged == plugin => trees.verdict(plugin, chain)?,
        (None, _) => trees.verdict(plugin, &Chain::default())?,
    };
    let root = trees.item(plugin)?;
    let Some(node) = &args.node else { return Ok((root, verdict)) };
    let item = root.find(node).cloned().ok_or_else(|| {
        AppError::usage(format!("plugin `{plugin}` has no item `{node}`")).hint("`--mode dump` shows all of its items")
    })?;
    root.dismantle();
    Ok((item, verdict))
}

/// What stands for the tree of a plugin that cannot be read.
fn unreadable(plugin: &str, error: &AppError) -> Item {
    Item {
        name: plugin.to_owned(),
        status: Status::Unknown,
        meta: [("error".to_owned(), error.to_string())].into(),
        ..Item::default()
    }
}

fn selected(input: &Input, args: &ResultsArgs) -> Result<Vec<String>, AppError> {
    let all = input.trees.plugins();
    let name = &input.name;
    match &args.plugin {
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

/// The judges that options ask for, and which of the plugins that are shown they judge.
fn more(context: &Context, plugins: &[String], args: &ResultsArgs) -> Result<Option<(String, Chain)>, AppError> {
    let judge = JudgeOptions::from(&args.judge);
    let Some(option) = judge.given() else { return Ok(None) };
    if args.node.is_some() {
        return Err(AppError::usage(format!(
            "`{option}` judges the whole of a plugin, and `--node` shows a part of it"
        )));
    }
    let plugin = judged_plugin(&judge, plugins)?;
    let limits = Limits::load(args.limits.file.as_deref())?;
    let chain = chain(context, &judge, &plugin, &limits)?;
    rehearse_chain(&chain, &plugin, &limits)?;
    Ok(Some((plugin, chain)))
}
