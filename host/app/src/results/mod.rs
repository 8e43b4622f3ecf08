//! Shows and compares the results in archives and result files: reads them, judges them, and sends them
//! to a [`View`].

mod compare;
mod documents;
mod failed;
mod input;
mod json_tree;
#[cfg(test)]
mod large_tests;
mod rendered;
mod shown;
mod text_view;
mod tree_document;
mod views;

use std::io;
use std::path::{Path, PathBuf};

use plumbline_aggregator::CauseError;
use plumbline_conformance::chain::Chain;
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::{Item, Status, text};

use crate::causes::{Cause, Failures};
use crate::context::Context;
use crate::difference::{self, Previous, Tests};
use crate::error::AppError;
use crate::judges::{JudgeOptions, chain, judged_plugin, rehearse_chain, suite_of_profile};
use crate::modules::LimitsFile;
use crate::timeline::{Relating, Relation};
use crate::trees::{Items, MAX_TEXT, Reprocess, TreeFacts, Trees, bare, contradiction};

use compare::tests;
pub use compare::{Comparison, compare};
pub use documents::{DataFormat, Documents};
pub use failed::failures_text;
pub(crate) use input::{archive_files, is_archive_file, is_unpacked, open_input};
pub use rendered::Rendered;
pub use shown::ShownResults;
pub use text_view::{TextMode, TextView};
pub use views::{Collected, Html, View};

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
    pub limits: LimitsFile,
    /// Further judges.
    pub judges: JudgeOptions,
    /// An earlier run, with whose durations the view compares. Then there is one input, and no `node`.
    pub previous: Option<PathBuf>,
}

/// Sends the results of every input to `view`, and adds them to `seen`. If there are several
/// inputs, one that cannot be read is reported, and the others are shown.
pub fn show(
    context: &Context,
    options: &ResultsOptions,
    seen: &mut ShownResults,
    view: &mut dyn View,
) -> Result<(), AppError> {
    let several = options.inputs.len() > 1;
    let (mut shown, mut failed) = (false, false);
    for path in &options.inputs {
        let opened = can_have_format(options, path).and_then(|()| open(context, options, path));
        match opened.and_then(|mut trees| show_input(context, options, &mut trees, several, seen, view)) {
            Ok(()) => shown = true,
            Err(error) if several && error.is_usage() => {
                context.reporter.error(&error);
                seen.missing(&path.to_string_lossy());
                failed = true;
            }
            Err(error) => return Err(error),
        }
    }
    if failed && !shown {
        Err(AppError::usage("failed to read any of the inputs").hint("see the errors above"))
    } else {
        Ok(())
    }
}

fn show_input(
    context: &Context,
    options: &ResultsOptions,
    trees: &mut Trees,
    several: bool,
    seen: &mut ShownResults,
    view: &mut dyn View,
) -> Result<(), AppError> {
    let plugins = selected(trees, options)?;
    let more = more(context, trees, &plugins, options)?;
    let name = trees.name().to_owned();
    let in_name = several.then_some(name.as_str());
    view.begin(in_name, trees)?;
    if let Some(path) = &options.previous {
        view.previous(previous(context, options, path, trees, &plugins)?);
    }
    let mut unread = 0;
    for plugin in &plugins {
        let (mut tree, facts) = match load(trees, plugin, in_name, options, more.as_ref(), view) {
            Ok(loaded) => loaded,
            Err(error) if plugins.len() > 1 && error.is_usage() => {
                unread += 1;
                if unread <= MAX_LISTED {
                    context.reporter.error(&error);
                }
                seen.missing(&format!("{name}/{plugin}"));
                view.tree(trees, ResultTree::unreadable(in_name, plugin, &error))?;
                continue;
            }
            Err(error) => return Err(error),
        };
        tree.causes = causes(context, trees, plugin, &facts, tree.items())?;
        tree.relations = relations(trees, plugin, &facts, tree.items())?;
        let counts = trees.verdict_counts(plugin, &facts);
        seen.add(&name, plugin, &facts, tree.verdict.as_ref(), counts);
        view.tree(trees, tree)?;
    }
    if unread > MAX_LISTED {
        context.reporter.progress(&format!("… {} more plugins are unreadable", unread - MAX_LISTED));
    }
    view.end(trees)
}

/// Rejects a format for a directory, which has archives or is one. Their definitions name the formats.
fn can_have_format(options: &ResultsOptions, path: &Path) -> Result<(), AppError> {
    if options.result_format.is_none() || !path.is_dir() {
        return Ok(());
    }
    Err(AppError::usage(format!("`--result-format` is for a result file, but `{}` is a directory", path.display())).hint(
        "pass a file, or add `--reprocess --plugin NAME --definition FILE` in place of `--result-format` to read an archive with another format",
    ))
}

fn open(context: &Context, options: &ResultsOptions, path: &Path) -> Result<Trees, AppError> {
    let limits = options.limits.load()?;
    let reprocess = Reprocess { always: options.reprocess, definition: options.definition.clone(), limits };
    open_input(context, path, reprocess, options.result_format.as_deref())
}

/// Compares `plugins` of the run in `trees` with the run at `path`.
fn previous(
    context: &Context,
    options: &ResultsOptions,
    path: &Path,
    trees: &mut Trees,
    plugins: &[String],
) -> Result<Previous, AppError> {
    let mut earlier = open(context, options, path)?;
    let known = earlier.plugins();
    if !plugins.iter().any(|plugin| known.contains(plugin)) {
        return Err(AppError::usage(format!("nothing to compare: `{}` has none of the plugins", earlier.name()))
            .hint("pass the archive of a run with the same plugins"));
    }
    let before = tests(&mut earlier, plugins)?;
    let mut after = Tests::new();
    for plugin in plugins {
        // A plugin that cannot be read is reported when it is shown.
        let Ok(root) = trees.judged_item(plugin) else { continue };
        difference::add(&mut after, plugin, &root);
        root.dismantle();
    }
    Ok(Previous { archive: earlier.file_name(), difference: difference::compare(&before, &after) })
}

/// Reads the verdict over a plugin, and its tree: as a whole, or only the root if the view takes the items
/// one by one.
fn load<'a>(
    trees: &mut Trees,
    plugin: &'a str,
    input: Option<&'a str>,
    options: &ResultsOptions,
    more: Option<&(String, Chain)>,
    view: &dyn View,
) -> Result<(ResultTree<'a>, TreeFacts), AppError> {
    let is_large = trees.is_large(plugin)?;
    // The verdict is before the tree in the archive, which is read forward. It is about the whole
    // plugin.
    let verdict = if options.node.is_some() { None } else { verdict(trees, plugin, more)? };
    let contradiction = |facts: &TreeFacts| verdict.as_ref().and_then(|verdict| contradiction(verdict, facts));
    if options.node.is_none()
        && view.takes_items(is_large)
        && let Some(facts) = trees.facts_of_items(plugin).filter(|facts| contradiction(facts).is_none())
    {
        let item = bare(&facts.root);
        return Ok((ResultTree { verdict, is_streamed: true, ..ResultTree::new(input, plugin, item) }, facts));
    }
    let mut item = trees.item(plugin)?;
    let mut facts = TreeFacts::of(&item);
    if let Some(reason) = contradiction(&facts) {
        item.dismantle();
        return Err(trees.inconsistent(plugin, reason));
    }
    if let Some(node) = &options.node {
        let part = item.find(node).cloned().ok_or_else(|| {
            AppError::usage(format!("plugin `{plugin}` has no item `{node}`")).hint("see all items with `--mode dump`")
        })?;
        std::mem::replace(&mut item, part).dismantle();
        facts = TreeFacts::of(&item);
    }
    Ok((ResultTree { verdict, ..ResultTree::new(input, plugin, item) }, facts))
}

fn verdict(trees: &mut Trees, plugin: &str, more: Option<&(String, Chain)>) -> Result<Option<PluginVerdict>, AppError> {
    match more {
        Some((judged, chain)) if judged == plugin => trees.verdict(plugin, chain),
        _ => trees.verdict(plugin, &Chain::default()),
    }
}

/// Finds the causes of failures in a tree of `plugin`, most frequent first. If the module fails, that is
/// reported, and there are no causes.
pub fn causes_in(context: &Context, trees: &mut Trees, plugin: &str, root: &Item) -> Result<Vec<Cause>, AppError> {
    causes(context, trees, plugin, &TreeFacts::of(root), Items::Whole(root))
}

fn causes(
    context: &Context,
    trees: &mut Trees,
    plugin: &str,
    facts: &TreeFacts,
    items: Items<'_>,
) -> Result<Vec<Cause>, AppError> {
    if !facts.has_failures() {
        return Ok(Vec::new());
    }
    let Some(finder) = trees.cause_finder()? else { return Ok(Vec::new()) };
    let mut failures = Failures::new();
    items.each(trees, MAX_TEXT, &mut |depth, item, is_leaf| {
        // The results are complete without causes.
        if let Ok(found) = &mut failures
            && let Err(error) = found.item(depth, item, is_leaf)
        {
            failures = Err(error);
        }
        Ok(())
    })?;
    let found = failures.map_err(CauseError::from).and_then(|failures| failures.causes(plugin, &finder));
    Ok(found.unwrap_or_else(|error| {
        context.reporter.warning(&format!("plugin `{plugin}`: failed to find the causes of failures: {error}"));
        Vec::new()
    }))
}

/// Relates the failures in a tree to the cluster timeline.
fn relations(trees: &mut Trees, plugin: &str, facts: &TreeFacts, items: Items<'_>) -> Result<Vec<Relation>, AppError> {
    let timeline = trees.timeline();
    if timeline.is_empty() || !facts.has_failures() {
        return Ok(Vec::new());
    }
    let mut relating = Relating::new(&timeline, plugin);
    items.each(trees, MAX_TEXT, &mut |depth, item, is_leaf| {
        relating.item(depth, item, is_leaf);
        Ok(())
    })?;
    Ok(relating.finish())
}

fn selected(trees: &Trees, options: &ResultsOptions) -> Result<Vec<String>, AppError> {
    let all = trees.plugins();
    let name = trees.name();
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
        None if all.is_empty() => {
            Err(AppError::usage(format!("archive `{name}` has no plugins"))
                .hint("check that this is the archive of a run"))
        }
        None => Ok(all),
    }
}

/// The plugin that further judges judge, and these judges.
fn more(
    context: &Context,
    trees: &mut Trees,
    plugins: &[String],
    options: &ResultsOptions,
) -> Result<Option<(String, Chain)>, AppError> {
    let judge = &options.judges;
    let Some(option) = judge.given() else { return Ok(None) };
    if options.node.is_some() {
        return Err(AppError::usage(format!("`{option}` judges a whole plugin, but `--node` selects a part of it"))
            .hint("remove `--node`"));
    }
    let plugin = judged_plugin(judge, plugins, suite_of_profile(trees, plugins))?;
    let limits = options.limits.load()?;
    let chain = chain(context, judge, &plugin, &limits, Some(&*trees))?;
    rehearse_chain(&chain, &plugin, &limits)?;
    Ok(Some((plugin, chain)))
}

/// The name of the health of the cluster among plugins, as in Sonobuoy.
pub const HEALTH: &str = "sonobuoy";

/// A result tree to show.
pub struct ResultTree<'a> {
    /// The input that it comes from, if there are several.
    pub input: Option<&'a str>,
    /// The plugin.
    pub plugin: &'a str,
    /// The tree, or the selected part of it. Only the root if the items are read one by one.
    pub item: Item,
    /// The verdict over the plugin.
    pub verdict: Option<PluginVerdict>,
    /// The causes of the failures in `item`, most frequent first.
    pub causes: Vec<Cause>,
    /// What happened in the cluster at the place and time of the failures in `item`.
    pub relations: Vec<Relation>,
    /// Whether the results cannot be read. The tree then has the reason.
    pub is_unreadable: bool,
    /// Whether the items are read one by one.
    pub is_streamed: bool,
}

impl<'a> ResultTree<'a> {
    fn new(input: Option<&'a str>, plugin: &'a str, item: Item) -> Self {
        let (causes, relations) = (Vec::new(), Vec::new());
        Self { input, plugin, item, verdict: None, causes, relations, is_unreadable: false, is_streamed: false }
    }

    /// The results of a plugin that cannot be read.
    fn unreadable(input: Option<&'a str>, plugin: &'a str, error: &AppError) -> Self {
        let item = Item {
            name: plugin.to_owned(),
            status: Status::Unknown,
            meta: [("error".to_owned(), error.to_string())].into(),
            ..Item::default()
        };
        Self { is_unreadable: true, ..Self::new(input, plugin, item) }
    }

    fn items(&self) -> Items<'_> {
        if self.is_streamed { Items::Streamed(self.plugin) } else { Items::Whole(&self.item) }
    }

    /// Its name, after that of its input if there are several.
    fn title(&self) -> String {
        self.input.map_or_else(|| self.item.name.clone(), |input| format!("{input}: {}", self.item.name))
    }
}

/// An error of standard output, as that of a command.
pub fn printed(result: io::Result<()>) -> Result<(), AppError> {
    result.map_err(|error| AppError::printing("failed to print the results", &error))
}
