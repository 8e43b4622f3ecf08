//! Views of results: as JSON, YAML, Markdown and HTML.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use jiff::Timestamp;
use plumbline_archive::layout::SERVER_VERSION;
use plumbline_archive::results::ResultsArchive;
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::timeline::TimelineKind;
use plumbline_core::{Item, Verdict};
use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

use crate::causes::{CauseDocument, TestDocument, documents, test_documents};
use crate::error::AppError;
use crate::report::html::{Page, PageFacts, Section};
use crate::report::renderers::ArchiveFacts;
use crate::report::text::{JsonText, print_yaml};
use crate::report::verdict::JudgedTree;
use crate::report::{self, CollectedTree};
use crate::results::{ResultTree, StreamedTree, printed};
use crate::timeline::Relation;
use crate::trees::{Trees, bare};

/// Receives result trees one after the other, and renders them.
pub trait View {
    /// An input starts. It has a name if there are several.
    fn begin(&mut self, _input: Option<&str>, _trees: &mut Trees) -> Result<(), AppError> {
        Ok(())
    }

    /// Renders a tree of the input.
    fn tree(&mut self, trees: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError>;

    /// Whether the view takes the items of a tree one by one, where the tree can be read so.
    fn takes_items(&self) -> bool {
        false
    }

    /// Renders a tree item by item. Only called if [`View::takes_items`] is true.
    fn items(&mut self, _trees: &mut Trees, _tree: StreamedTree<'_>) -> Result<(), AppError> {
        Ok(())
    }

    /// The input ends.
    fn end(&mut self, _trees: &mut Trees) -> Result<(), AppError> {
        Ok(())
    }
}

/// A tree as data, with the name of the archive if there are several, and its verdict.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<&'a str>,
    #[serde(flatten)]
    tree: Content,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<CauseDocument>,
    #[serde(rename = "cluster-events", skip_serializing_if = "Vec::is_empty")]
    relations: Vec<RelationDocument>,
}

/// Something that happened in the cluster at the place and time of failures, as data.
#[derive(Serialize)]
struct RelationDocument {
    kind: TimelineKind,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<String>,
    from: Timestamp,
    until: Option<Timestamp>,
    count: u64,
    text: String,
    sentence: String,
    tests: Vec<TestDocument>,
}

fn relation_documents(root: &Item, relations: &[Relation]) -> Vec<RelationDocument> {
    let groups: Vec<&[usize]> = relations.iter().map(|relation| relation.items.as_slice()).collect();
    let tests = test_documents(root, &groups);
    let document = |(relation, tests): (&Relation, _)| {
        let span = &relation.span;
        RelationDocument {
            kind: span.kind,
            name: span.name.clone(),
            node: span.node.clone(),
            namespace: span.namespace.clone(),
            pod: span.pod.clone(),
            from: span.from,
            until: span.to,
            count: span.count,
            text: span.text.clone(),
            sentence: relation.sentence.clone(),
            tests,
        }
    };
    relations.iter().zip(tests).map(document).collect()
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content {
    Tree(Item),
    Judged(Box<JudgedTree>),
}

impl<'a> From<ResultTree<'a>> for Shown<'a> {
    fn from(tree: ResultTree<'a>) -> Self {
        let causes = documents(&tree.item, &tree.causes);
        let relations = relation_documents(&tree.item, &tree.relations);
        let content = match tree.verdict {
            Some(verdict) => Content::Judged(Box::new(JudgedTree { root: tree.item, verdict })),
            None => Content::Tree(tree.item),
        };
        Shown { archive: tree.input, tree: content, causes, relations }
    }
}

/// Renders a JSON array. At most one tree is in memory.
pub struct JsonArray<S>(S);

impl JsonArray<()> {
    /// Prints the array of the trees that `fill` sends to its view.
    pub fn print(
        out: &mut impl Write,
        fill: impl FnOnce(&mut dyn View) -> Result<(), AppError>,
    ) -> Result<(), AppError> {
        let mut serializer = serde_json::Serializer::pretty(JsonText(&mut *out));
        let mut array = JsonArray(serializer.serialize_seq(None).map_err(failed)?);
        fill(&mut array)?;
        array.0.end().map_err(failed)?;
        printed(writeln!(out))
    }
}

impl<S: SerializeSeq<Error = serde_json::Error>> View for JsonArray<S> {
    fn tree(&mut self, _: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        self.0.serialize_element(&Shown::from(tree)).map_err(failed)
    }
}

fn failed(error: serde_json::Error) -> AppError {
    AppError::printing("failed to print the results", &error.into())
}

/// Renders a YAML document for each tree.
pub struct YamlDocuments<'a, W>(pub &'a mut W);

impl<W: Write> View for YamlDocuments<'_, W> {
    fn tree(&mut self, _: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        printed(writeln!(self.0, "---").and_then(|()| print_yaml(&Shown::from(tree), &mut *self.0)))
    }
}

/// Collects all trees for Markdown, which needs them at once.
#[derive(Default)]
pub struct Collected {
    trees: Vec<CollectedTree>,
    verdicts: Vec<PluginVerdict>,
}

impl View for Collected {
    fn tree(&mut self, _: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        let ResultTree { input, item, verdict, causes, relations, .. } = tree;
        self.trees.push(CollectedTree { root: titled(input, item), causes, relations });
        self.verdicts.extend(verdict);
        Ok(())
    }
}

impl Collected {
    /// Prints Markdown, of at most `most` bytes.
    pub fn markdown(self, most: Option<u64>, out: &mut impl Write) -> io::Result<()> {
        let mut text = Vec::new();
        report::markdown(&self.trees, &mut text)?;
        report::verdict_markdown(&self.verdicts, report::escape, &mut text)?;
        let most = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        report::limited(&String::from_utf8_lossy(&text), most, out)
    }
}

/// Renders a page of HTML. A tree that Plumbline wrote is never in memory as a whole.
pub struct Html {
    page: Page,
    facts: Vec<PageFacts>,
}

/// The list of the cluster's nodes in an archive, and its largest size in bytes.
const NODES: &str = "resources/cluster/core_v1_nodes.json";
const MAX_NODES: u64 = 512 << 20;

/// The largest document with the version of the API server, in bytes.
const MAX_SERVER_VERSION: u64 = 1 << 20;

impl Html {
    /// Starts an empty page.
    pub fn new() -> Result<Self, AppError> {
        Ok(Self { page: Page::new().map_err(|error| no_room(&error))?, facts: Vec::new() })
    }

    /// Prints the page with the verdict over everything on it.
    pub fn finish(self, verdict: Verdict, out: &mut impl Write) -> io::Result<()> {
        let mut facts = match <[PageFacts; 1]>::try_from(self.facts) {
            Ok([facts]) => facts,
            Err(several) => PageFacts::of(format!("{} archives", several.len())),
        };
        facts.verdict = verdict;
        self.page.finish(&facts, out)
    }
}

impl View for Html {
    fn begin(&mut self, input: Option<&str>, trees: &mut Trees) -> Result<(), AppError> {
        self.page.timeline(input, &trees.timeline());
        let known = archive_facts(trees);
        let mut facts = PageFacts::of(known.file);
        let archive = trees.archive();
        // Without these files, the page says less.
        if archive.size(NODES).is_some_and(|size| size <= MAX_NODES)
            && let Ok(list) = archive.file(NODES)
        {
            facts.nodes = Some(self.page.cluster_nodes(BufReader::new(list)));
        }
        facts.seconds = known
            .started
            .zip(known.ended)
            .map(|(start, end)| end.duration_since(start).as_secs_f64())
            .filter(|seconds| *seconds >= 0.0);
        (facts.kubernetes, facts.started, facts.run) = (known.kubernetes, known.started, known.run);
        facts.tool = known.tool.map(|(tool, version)| format!("{tool} {version}"));
        self.facts.push(facts);
        Ok(())
    }

    fn tree(&mut self, _: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        let title = title(tree.input, &tree.item.name);
        let (verdict, causes, relations) = (tree.verdict.as_ref(), &tree.causes, &tree.relations);
        let mut section = Section::new(&mut self.page, &title, tree.plugin, &tree.item, verdict, causes, relations);
        let mut walk = tree.item.walk();
        while let Some(item) = walk.next() {
            section.item(walk.depth(), bare(item), item.is_leaf()).map_err(|error| no_room(&error))?;
        }
        section.finish();
        tree.item.dismantle();
        Ok(())
    }

    fn takes_items(&self) -> bool {
        true
    }

    fn items(&mut self, trees: &mut Trees, tree: StreamedTree<'_>) -> Result<(), AppError> {
        let title = title(tree.input, &tree.root.name);
        let (verdict, causes, relations) = (tree.verdict.as_ref(), &tree.causes, &tree.relations);
        let mut section = Section::new(&mut self.page, &title, tree.plugin, &tree.root, verdict, causes, relations);
        trees.each_item(tree.plugin, &mut |depth, item, is_leaf| section.item(depth, item, is_leaf))?;
        section.finish();
        Ok(())
    }
}

/// What the archive says about its run. What it does not say, or what cannot be read, is not known.
pub(super) fn archive_facts(trees: &mut Trees) -> ArchiveFacts {
    let path = trees.name().to_owned();
    // Reports may be published, so they do not have the directories of this machine.
    let file = Path::new(&path).file_name().map(|file| file.to_string_lossy().into_owned());
    let archive = trees.archive();
    let version = archive.read(SERVER_VERSION, MAX_SERVER_VERSION).ok();
    let version = version.and_then(|text| serde_json::from_slice::<ServerVersion>(&text).ok());
    let (first, last) = log_times(archive);
    let info = archive.info();
    ArchiveFacts {
        file: file.unwrap_or(path),
        run: info.run.clone(),
        tool: match (&info.plumbline_version, &info.version) {
            (Some(version), _) => Some(("Plumbline", version.clone())),
            (None, version) => version.as_ref().map(|version| ("Sonobuoy", version.clone())),
        },
        kubernetes: version.map(|version| version.git_version).filter(|version| !version.is_empty()),
        started: info.started.or(first),
        ended: last,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerVersion {
    #[serde(default)]
    git_version: String,
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

/// The tree with the name of its input, if there are several.
fn titled(input: Option<&str>, mut root: Item) -> Item {
    root.name = title(input, &root.name);
    root
}

pub(super) fn title(input: Option<&str>, name: &str) -> String {
    input.map_or_else(|| name.to_owned(), |input| format!("{input}: {name}"))
}

fn no_room(error: &io::Error) -> AppError {
    AppError::system("failed to prepare the page in a temporary file").because(error)
}
