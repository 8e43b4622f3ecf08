//! Views of results: as Markdown and HTML.

use std::io::{self, BufRead, BufReader, Read, Write};

use jiff::Timestamp;
use plumbline_archive::results::ResultsArchive;
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::{Item, Verdict};
use serde::Deserialize;

use crate::difference::{Previous, durations_markdown};
use crate::error::{AppError, Explain as _};
use crate::report::facts::{Counts, ReportFacts};
use crate::report::html::{Page, Section};
use crate::report::nodes::{NodeResults, Nodes};
use crate::report::renderers::ArchiveFacts;
use crate::report::text::one_line;
use crate::report::{self, CollectedTree};
use crate::results::ResultTree;
use crate::trees::{MAX_TEXT, Trees};

/// The error if the page could not be written to a temporary file.
const NO_ROOM: &str = "failed to prepare the page in a temporary file";

/// Receives result trees one after the other, and renders them.
pub trait View {
    /// An input starts. It has a name if there are several.
    fn begin(&mut self, _input: Option<&str>, _trees: &mut Trees) -> Result<(), AppError> {
        Ok(())
    }

    /// The run of the input differs from an earlier run.
    fn previous(&mut self, _previous: Previous) {}

    /// Renders a tree of the input.
    fn tree(&mut self, trees: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError>;

    /// Whether trees that can be read item by item are not read as a whole. `is_large` means that the
    /// tree is too large to be read completely.
    fn takes_items(&self, _is_large: bool) -> bool {
        false
    }

    /// The input ends.
    fn end(&mut self, _trees: &mut Trees) -> Result<(), AppError> {
        Ok(())
    }
}

/// Collects all trees for Markdown, which needs them at once.
#[derive(Default)]
pub struct Collected {
    facts: Vec<ReportFacts>,
    counts: Counts,
    trees: Vec<CollectedTree>,
    verdicts: Vec<PluginVerdict>,
    known: Nodes,
    nodes: Vec<NodeResults>,
    previous: Option<Previous>,
}

impl View for Collected {
    fn begin(&mut self, _: Option<&str>, trees: &mut Trees) -> Result<(), AppError> {
        self.facts.push(report_facts(trees, &mut self.known));
        Ok(())
    }

    fn previous(&mut self, previous: Previous) {
        self.previous = Some(previous);
    }

    fn tree(&mut self, trees: &mut Trees, mut tree: ResultTree<'_>) -> Result<(), AppError> {
        trees.mark_unread(tree.plugin, &mut tree.item);
        let title = tree.title();
        let ResultTree { item, verdict, causes, relations, .. } = tree;
        self.nodes.push(self.known.tree(&item, verdict.as_ref(), &mut self.counts));
        self.trees.push(CollectedTree { root: Item { name: title, ..item }, causes, relations });
        self.verdicts.extend(verdict);
        Ok(())
    }
}

impl Collected {
    /// Prints Markdown, of at most `most` bytes. `verdict` is that over all trees.
    pub fn markdown(self, verdict: Verdict, most: Option<u64>, out: &mut impl Write) -> io::Result<()> {
        let (mut text, facts) = (Vec::new(), ReportFacts::of(self.facts));
        let nodes = self.nodes.iter().map(Vec::len).max().unwrap_or_default();
        report::head_markdown(verdict, &facts, self.counts, nodes, &mut text)?;
        report::markdown(&self.trees, &mut text)?;
        let plugins = self.trees.iter().map(|tree| tree.root.name.as_str()).zip(&self.nodes);
        report::nodes_markdown(plugins, &self.known, &mut text)?;
        report::slowest_markdown(&self.trees, &mut text)?;
        if let Some(previous) = &self.previous {
            durations_markdown(previous, &mut text)?;
        }
        report::verdict_markdown(&self.verdicts, &mut text)?;
        let most = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        report::limited(&String::from_utf8_lossy(&text), most, out)
    }
}

/// Renders a page of HTML. A tree that Plumbline wrote is never in memory as a whole.
pub struct Html {
    page: Page,
    facts: Vec<ReportFacts>,
}

impl Html {
    /// Starts an empty page.
    pub fn new() -> Result<Self, AppError> {
        Ok(Self { page: Page::new().system_error(NO_ROOM)?, facts: Vec::new() })
    }

    /// Prints the page with the verdict over everything on it.
    pub fn finish(self, verdict: Verdict, out: &mut impl Write) -> io::Result<()> {
        self.page.finish(verdict, &ReportFacts::of(self.facts), out)
    }
}

impl View for Html {
    fn begin(&mut self, input: Option<&str>, trees: &mut Trees) -> Result<(), AppError> {
        self.page.timeline(input, &trees.timeline());
        self.facts.push(report_facts(trees, &mut self.page.nodes));
        Ok(())
    }

    fn previous(&mut self, previous: Previous) {
        self.page.previous(previous);
    }

    fn tree(&mut self, trees: &mut Trees, mut tree: ResultTree<'_>) -> Result<(), AppError> {
        trees.mark_unread(tree.plugin, &mut tree.item);
        let (verdict, causes, relations) = (tree.verdict.as_ref(), &tree.causes, &tree.relations);
        let title = tree.title();
        let mut section = Section::new(&mut self.page, &title, tree.plugin, &tree.item, verdict, causes, relations);
        tree.items().each(trees, MAX_TEXT, &mut |depth, item, is_leaf| {
            section.item(depth, item, is_leaf).system_error(NO_ROOM)
        })?;
        section.finish();
        tree.item.dismantle();
        Ok(())
    }

    fn takes_items(&self, _: bool) -> bool {
        true
    }

    fn end(&mut self, trees: &mut Trees) -> Result<(), AppError> {
        self.page.logs(trees.archive()).system_error(NO_ROOM)
    }
}

/// The list of the cluster's nodes in an archive, and its largest size in bytes.
const NODES: &str = "resources/cluster/core_v1_nodes.json";
const MAX_NODES: u64 = 512 << 20;

/// What a report says about the run of an archive. Adds the cluster's nodes to `known`. Without files
/// that cannot be read, the report says less.
pub(super) fn report_facts(trees: &mut Trees, known: &mut Nodes) -> ReportFacts {
    let facts = archive_facts(trees);
    let archive = trees.archive();
    let mut nodes = None;
    if archive.size(NODES).is_some_and(|size| size <= MAX_NODES)
        && let Ok(list) = archive.file(NODES)
    {
        known.read(BufReader::new(list));
        nodes = Some(known.len());
    }
    let seconds = facts.started.zip(facts.ended).map(|(start, end)| end.duration_since(start).as_secs_f64());
    let short = |fact: Option<String>| fact.as_deref().map(one_line);
    ReportFacts {
        archive: facts.file,
        run: short(facts.run),
        tool: short(facts.tool.map(|(tool, version)| format!("{tool} {version}"))),
        cluster: short(facts.cluster),
        kubernetes: short(facts.kubernetes),
        nodes,
        started: facts.started,
        seconds: seconds.filter(|seconds| *seconds >= 0.0),
    }
}

/// What the archive says about its run. What it does not say, or what cannot be read, is not known.
pub(super) fn archive_facts(trees: &mut Trees) -> ArchiveFacts {
    let (file, cluster) = (trees.file_name(), trees.cluster());
    let archive = trees.archive();
    let (first, last) = log_times(archive);
    let info = archive.info();
    ArchiveFacts {
        file,
        run: info.run.clone(),
        tool: match (&info.plumbline_version, &info.version) {
            (Some(version), _) => Some(("Plumbline", version.clone())),
            (None, version) => version.as_ref().map(|version| ("Sonobuoy", version.clone())),
        },
        cluster: cluster.uid,
        kubernetes: cluster.version,
        started: info.started.or(first),
        ended: last,
    }
}

/// The log of the run in an archive.
const RUN_LOG: &str = "meta/run.log";

/// The largest log of a run from which its times are read, in bytes.
const MAX_LOG: u64 = 64 << 20;

/// The first and the last time in the log of the run, as far as it can be read.
fn log_times(archive: &mut ResultsArchive) -> (Option<Timestamp>, Option<Timestamp>) {
    #[derive(Deserialize)]
    struct Entry {
        time: Timestamp,
    }
    let mut times = (None, None);
    let Ok(log) = archive.file(RUN_LOG) else { return times };
    for line in BufReader::new(log.take(MAX_LOG)).lines().map_while(Result::ok) {
        if let Ok(Entry { time }) = serde_json::from_str(&line) {
            times = (times.0.or(Some(time)), Some(time));
        }
    }
    times
}
