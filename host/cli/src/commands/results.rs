//! `plumbline results`

use std::collections::BTreeMap;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use plumbline_archive::layout::META_CLUSTER_HEALTH;
use plumbline_conformance::chain::Chain;
use plumbline_core::judgement::{PluginVerdict, VerdictSummary};
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_core::{GLOBAL, Item, Verdict, rollup};
use serde::Serialize;

use super::results_diff;
use crate::args::{ExitCodes, Global, Mode, ResultsArgs, ResultsCommand, ResultsFormat};
use crate::error::{CliError, verdict_code};
use crate::judging::{chain, judged_plugin};
use crate::limits::Limits;
use crate::logging;
use crate::output::{self, Health, JudgedTree, Page, PageFacts, print_json, print_yaml};
use crate::trees::{Reprocess, Trees};

/// The name under which the cluster's health is asked for, as scripts know it.
const HEALTH: &str = "sonobuoy";
/// Bytes of `meta/clusterhealth.json`: 100,000 pods with a message each.
const MAX_HEALTH: u64 = 64 << 20;

/// Shows what is in an archive.
pub(crate) fn results(args: &ResultsArgs, global: &Global) -> Result<ExitCode, CliError> {
    logging::init(global);
    if let Some(ResultsCommand::Diff(diff)) = &args.command {
        return results_diff::diff(diff, global);
    }
    let reprocess =
        Reprocess { always: args.reprocess, definition: args.definition.clone(), limits: Limits::load(&args.limits)? };
    let mut trees = Trees::open(args.archive(), reprocess)?;
    let plugins = selected(&trees, args)?;
    let more = more(&plugins, args)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut seen = Seen { more, ..Seen::default() };
    match args.format.or_else(|| args.mode.format()) {
        Some(ResultsFormat::Html) => page(&mut trees, &plugins, args, &mut seen, &mut out)?,
        Some(format) => data(&mut trees, &plugins, format, args, &mut seen, &mut out)?,
        None => modes(&mut trees, &plugins, args, &mut seen, &mut out)?,
    }
    printed(out.flush())?;
    Ok(match global.exit_code {
        ExitCodes::Compat => ExitCode::SUCCESS,
        ExitCodes::Strict if args.plugin.as_deref() == Some(HEALTH) => ExitCode::SUCCESS,
        ExitCodes::Strict => verdict_code(seen.verdict()),
    })
}

fn selected(trees: &Trees, args: &ResultsArgs) -> Result<Vec<String>, CliError> {
    let all = trees.plugins();
    match &args.plugin {
        Some(plugin) if plugin == HEALTH => Ok(Vec::new()),
        Some(plugin) if all.contains(plugin) => Ok(vec![plugin.clone()]),
        Some(plugin) => {
            let known =
                if all.is_empty() { "it has none".to_owned() } else { format!("it has `{}`", all.join("`, `")) };
            Err(CliError::usage(format!("archive `{}` has no plugin `{plugin}`", args.archive().display())).hint(known))
        }
        None if all.is_empty() => {
            Err(CliError::usage(format!("archive `{}` has no plugins", args.archive().display())))
        }
        None => Ok(all),
    }
}

/// The judges that options ask for, and which of the plugins that are shown they judge.
fn more(plugins: &[String], args: &ResultsArgs) -> Result<Option<(String, Chain)>, CliError> {
    let Some(option) = args.judge.given() else { return Ok(None) };
    if args.node.is_some() {
        return Err(CliError::usage(format!(
            "`{option}` judges the whole of a plugin, and `--node` shows a part of it"
        )));
    }
    let plugin = judged_plugin(&args.judge, plugins)?;
    let chain = chain(&args.judge, &plugin, &Limits::load(&args.limits)?)?;
    Ok(Some((plugin, chain)))
}

/// The verdict over `plugin`, which speaks of the whole of it.
fn verdict(
    trees: &mut Trees,
    plugin: &str,
    args: &ResultsArgs,
    seen: &Seen,
) -> Result<Option<PluginVerdict>, CliError> {
    match (&args.node, &seen.more) {
        (Some(_), _) => Ok(None),
        (None, Some((judged, chain))) if judged == plugin => trees.verdict(plugin, chain),
        (None, _) => trees.verdict(plugin, &Chain::default()),
    }
}

/// What the trees that were shown come to.
#[derive(Default)]
struct Seen {
    /// Judges that were asked for, of this plugin.
    more: Option<(String, Chain)>,
    entries: Vec<PluginStatus>,
    verdicts: BTreeMap<String, VerdictSummary>,
}

impl Seen {
    fn add(&mut self, root: &Item) {
        self.entries.push(PluginStatus {
            plugin: root.name.clone(),
            node: GLOBAL.to_owned(),
            status: EntryStatus::Complete,
            result_status: Some(root.status.clone()),
            result_counts: Some(rollup::counts(root)),
            ..PluginStatus::default()
        });
    }

    /// What judges made of the tree below `root`.
    fn judged(&mut self, root: &Item, verdict: &PluginVerdict) {
        self.verdicts.insert(root.name.clone(), verdict.summary());
    }

    fn verdict(self) -> Verdict {
        Verdict::from_run(&RunStatus {
            plugins: Some(self.entries),
            verdicts: Some(self.verdicts),
            status: RunPhase::Complete,
            ..RunStatus::default()
        })
    }
}

fn modes(
    trees: &mut Trees,
    plugins: &[String],
    args: &ResultsArgs,
    seen: &mut Seen,
    out: &mut impl Write,
) -> Result<(), CliError> {
    for (at, plugin) in plugins.iter().enumerate() {
        if at > 0 {
            printed(writeln!(out))?;
        }
        let root = trees.item(plugin)?;
        let item = at_node(&root, args)?;
        let verdict = verdict(trees, plugin, args, seen)?;
        seen.add(item);
        if let Some(verdict) = &verdict {
            seen.judged(item, verdict);
        }
        match args.mode {
            Mode::Report => {
                printed(output::report(item, out))?;
                if let Some(verdict) = &verdict {
                    printed(output::verdict_report(verdict, out))?;
                }
            }
            Mode::Detailed => detailed(trees, plugin, item, args, out)?,
            Mode::Dump => trees.copy(plugin, out)?,
            Mode::Readable => {
                let mut text = Vec::new();
                trees.copy(plugin, &mut text)?;
                let text = String::from_utf8_lossy(&text).replace("\\n", "\n").replace("\\t", "\t");
                printed(out.write_all(text.as_bytes()))?;
            }
            // Other words for data formats: those are printed elsewhere.
            Mode::Junit | Mode::Markdown | Mode::Html => {}
        }
        root.dismantle();
    }
    health(trees, args, !plugins.is_empty(), out)
}

fn detailed(
    trees: &mut Trees,
    plugin: &str,
    item: &Item,
    args: &ResultsArgs,
    out: &mut impl Write,
) -> Result<(), CliError> {
    let archive = trees.archive();
    let copy = |file: &str, out: &mut dyn Write| {
        let member = archive.item_file(plugin, file).ok_or_else(|| {
            io::Error::new(ErrorKind::NotFound, format!("the archive has no file `plugins/{plugin}/{file}`"))
        })?;
        let mut reader = archive.file(&member).map_err(io::Error::other)?;
        io::copy(&mut reader, out).map(drop)
    };
    output::detailed(item, args.skip_prefix, out, copy).map_err(|error| {
        let what = format!("the details of plugin `{plugin}` cannot be shown");
        match error.kind() {
            // What reading the archive gives; everything else comes from standard output.
            ErrorKind::NotFound | ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::Other => {
                CliError::usage(what).because(&error)
            }
            _ => CliError::printing(what, &error),
        }
    })
}

/// The item that `--node` names, or the root.
fn at_node<'a>(root: &'a Item, args: &ResultsArgs) -> Result<&'a Item, CliError> {
    let Some(node) = &args.node else { return Ok(root) };
    root.find(node).ok_or_else(|| {
        CliError::usage(format!("plugin `{}` has no item `{node}`", root.name))
            .hint("`--mode dump` shows all of its items")
    })
}

fn data(
    trees: &mut Trees,
    plugins: &[String],
    format: ResultsFormat,
    args: &ResultsArgs,
    seen: &mut Seen,
    out: &mut impl Write,
) -> Result<(), CliError> {
    let mut roots = Vec::new();
    for plugin in plugins {
        let root = trees.item(plugin)?;
        let item = at_node(&root, args)?.clone();
        let verdict = verdict(trees, plugin, args, seen)?;
        seen.add(&item);
        if let Some(verdict) = &verdict {
            seen.judged(&item, verdict);
        }
        roots.push((item, verdict));
    }
    printed(match format {
        ResultsFormat::Json => print_json(&roots.into_iter().map(Shown::from).collect::<Vec<_>>(), out),
        ResultsFormat::Yaml => roots.into_iter().map(Shown::from).try_for_each(|root| {
            writeln!(out, "---")?;
            print_yaml(&root, out)
        }),
        ResultsFormat::Junit => {
            let judged = |(mut root, verdict): (Item, Option<PluginVerdict>)| {
                if let Some(verdict) = &verdict {
                    output::judged_leaves(&mut root, verdict);
                }
                root
            };
            output::junit(&roots.into_iter().map(judged).collect::<Vec<_>>(), out)
        }
        // A page is made plugin by plugin, elsewhere.
        ResultsFormat::Markdown | ResultsFormat::Html => {
            let (roots, verdicts): (Vec<_>, Vec<_>) = roots.into_iter().unzip();
            let verdicts: Vec<_> = verdicts.into_iter().flatten().collect();
            output::markdown(&roots, out).and_then(|()| output::verdict_markdown(&verdicts, output::escape, out))
        }
    })
}

/// One page, plugin by plugin: no more than one tree is held.
fn page(
    trees: &mut Trees,
    plugins: &[String],
    args: &ResultsArgs,
    seen: &mut Seen,
    out: &mut impl Write,
) -> Result<(), CliError> {
    let no_room =
        |error: io::Error| CliError::system("the page cannot be prepared in a temporary file").because(&error);
    let mut page = Page::new().map_err(no_room)?;
    for plugin in plugins {
        // In the archive it stands before the tree: reading goes forward.
        let verdict = verdict(trees, plugin, args, seen)?;
        let root = trees.item(plugin)?;
        let item = at_node(&root, args)?;
        seen.add(item);
        if let Some(verdict) = &verdict {
            seen.judged(item, verdict);
        }
        page.plugin(item, verdict.as_ref()).map_err(no_room)?;
        root.dismantle();
    }
    let info = trees.archive().info();
    let facts = PageFacts {
        archive: args.archive().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        run: info.run.clone(),
        tool: match (&info.plumbline_version, &info.version) {
            (Some(version), _) => Some(format!("Plumbline {version}")),
            (None, version) => version.as_ref().map(|version| format!("Sonobuoy {version}")),
        },
    };
    printed(page.finish(&facts, out))
}

/// A tree as data: as it always was where nobody judged it.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown {
    Tree(Item),
    Judged(Box<JudgedTree>),
}

impl From<(Item, Option<PluginVerdict>)> for Shown {
    fn from((root, verdict): (Item, Option<PluginVerdict>)) -> Self {
        match verdict {
            Some(verdict) => Self::Judged(Box::new(JudgedTree { root, verdict })),
            None => Self::Tree(root),
        }
    }
}

/// The cluster's health, where the archive has it: by its name, or after all plugins.
fn health(trees: &mut Trees, args: &ResultsArgs, more: bool, out: &mut impl Write) -> Result<(), CliError> {
    let asked = args.plugin.as_deref() == Some(HEALTH);
    if args.plugin.is_some() && !asked {
        return Ok(());
    }
    let archive = trees.archive();
    if archive.size(META_CLUSTER_HEALTH).is_none() {
        return match asked {
            true => Err(CliError::usage(format!(
                "archive `{}` does not tell the health of a cluster",
                args.archive().display()
            ))),
            false => Ok(()),
        };
    }
    let unreadable = |error: &dyn std::error::Error| {
        CliError::usage(format!("`{META_CLUSTER_HEALTH}` in `{}` cannot be read", args.archive().display()))
            .because(error)
    };
    let bytes = archive.read(META_CLUSTER_HEALTH, MAX_HEALTH).map_err(|error| unreadable(&error))?;
    if more {
        printed(writeln!(out))?;
    }
    if args.mode == Mode::Detailed {
        let end: &[u8] = if bytes.ends_with(b"\n") { b"" } else { b"\n" };
        return printed(out.write_all(&bytes).and_then(|()| out.write_all(end)));
    }
    let health: Health = serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))?;
    printed(match args.mode {
        Mode::Dump | Mode::Readable => print_yaml(&health, out),
        _ => health.report(out),
    })
}

fn printed(result: io::Result<()>) -> Result<(), CliError> {
    result.map_err(|error| CliError::printing("the results cannot be printed", &error))
}
