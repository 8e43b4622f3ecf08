//! Results as data: a JSON array of trees, or a YAML document for each tree.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};

use jiff::Timestamp;
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::timeline::TimelineKind;
use plumbline_core::{Item, Verdict};
use serde::Serialize;

use crate::causes::{Cause, CauseDocument, GroupedTests, TestDocument, documents, groups, test_documents};
use crate::error::AppError;
use crate::report::facts::ReportFacts;
use crate::report::nodes::Nodes;
use crate::report::text::{JsonText, print_yaml};
use crate::results::json_tree::{Indented, JsonTree};
use crate::results::views::report_facts;
use crate::results::{ResultTree, View, printed};
use crate::timeline::Relation;
use crate::trees::Trees;

/// A tree as data, with the name of the archive if there are several.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    item: Named<'a>,
    #[serde(flatten)]
    rest: Rest<'a>,
}

/// An item. The root has the name of the archive if there are several.
#[derive(Serialize)]
struct Named<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<&'a str>,
    #[serde(flatten)]
    item: Item,
}

/// What the root of a tree has after its items: the verdict over the tree, what belongs to its
/// failures, and the facts of the run.
#[derive(Serialize)]
struct Rest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<PluginVerdict>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<CauseDocument>,
    #[serde(rename = "cluster-events", skip_serializing_if = "Vec::is_empty")]
    relations: Vec<RelationDocument>,
    run: &'a RunDocument,
}

/// A run as data.
#[derive(Serialize)]
struct RunDocument {
    /// The verdict over all trees, or the mark for it.
    verdict: String,
    #[serde(flatten)]
    facts: ReportFacts,
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

fn relation_documents(relations: &[Relation], tests: Vec<Vec<TestDocument>>) -> Vec<RelationDocument> {
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

/// Returns the numbers of the failures of each cause, and then of each relation.
fn all_groups<'a>(causes: &'a [Cause], relations: &'a [Relation]) -> Vec<&'a [usize]> {
    let mut all = groups(causes);
    all.extend(relations.iter().map(|relation| relation.items.as_slice()));
    all
}

impl<'a> Rest<'a> {
    /// `tests` are the failures of [`all_groups`].
    fn new(
        verdict: Option<PluginVerdict>,
        causes: &[Cause],
        relations: &[Relation],
        mut tests: Vec<Vec<TestDocument>>,
        run: &'a RunDocument,
    ) -> Self {
        let of_relations = tests.split_off(causes.len().min(tests.len()));
        let (causes, relations) = (documents(causes, tests), relation_documents(relations, of_relations));
        Self { verdict, causes, relations, run }
    }
}

impl<'a> Shown<'a> {
    fn new(tree: ResultTree<'a>, run: &'a RunDocument) -> Self {
        let ResultTree { input: archive, item, verdict, causes, relations, .. } = tree;
        let tests = test_documents(&item, &all_groups(&causes, &relations));
        Self { item: Named { archive, item }, rest: Rest::new(verdict, &causes, &relations, tests, run) }
    }
}

/// Writes a tree as JSON, item by item. Only its failures are in memory.
fn write_items(
    trees: &mut Trees,
    tree: ResultTree<'_>,
    run: &RunDocument,
    column: usize,
    out: &mut impl Write,
) -> Result<(), AppError> {
    let ResultTree { input, plugin, verdict, causes, relations, .. } = tree;
    let mut tests = GroupedTests::new(&all_groups(&causes, &relations));
    let mut document = JsonTree::new(out, column);
    // Errors of writing are not errors of the archive.
    let mut written = Ok(());
    let read = trees.each_whole_item(plugin, &mut |depth, item, is_leaf| {
        tests.item(depth, &item, is_leaf);
        written = document.item(depth, &Named { archive: input.filter(|_| depth == 0), item });
        if written.is_ok() { Ok(()) } else { Err(io::Error::other("the results cannot be written")) }
    });
    written.map_err(|error| not_stored(&error))?;
    let left_out = read.map_err(AppError::into_system)?;
    trees.report_left_out(plugin, left_out);
    let rest = Rest::new(verdict, &causes, &relations, tests.finish(), run);
    document.finish(&rest).map_err(|error| not_stored(&error))
}

/// Documents in a temporary file. The verdict over all of them is in each, but is known only after the
/// last one, so a mark is in its place.
struct Documents {
    file: BufWriter<File>,
    mark: String,
}

impl Documents {
    fn new() -> Result<Self, AppError> {
        let file = BufWriter::new(tempfile::tempfile().map_err(|error| not_stored(&error))?);
        // A random number, so that no text of a result can be taken for the mark.
        Ok(Self { file, mark: format!("verdict-{:016x}", RandomState::new().hash_one(0)) })
    }

    /// Prints the documents with the verdict.
    fn print(self, verdict: Verdict, out: &mut impl Write) -> Result<(), AppError> {
        let stored = |error: io::Error| not_stored(&error);
        let mut file = self.file.into_inner().map_err(|error| stored(error.into_error()))?;
        file.rewind().map_err(stored)?;
        let (mut lines, mut line) = (BufReader::new(file), String::new());
        while lines.read_line(&mut line).map_err(stored)? > 0 {
            printed(out.write_all(line.replace(&self.mark, verdict.as_str()).as_bytes()))?;
            line.clear();
        }
        Ok(())
    }
}

impl RunDocument {
    fn new(mark: &str) -> Self {
        Self { verdict: mark.to_owned(), facts: ReportFacts::default() }
    }

    /// The trees of another run follow.
    fn begin(&mut self, trees: &mut Trees) {
        self.facts = report_facts(trees, &mut Nodes::default());
    }
}

/// Renders a JSON array. At most one tree is in memory, and a large one is written item by item.
pub struct JsonArray {
    documents: Documents,
    run: RunDocument,
    is_empty: bool,
}

/// The column of the trees in the array.
const ELEMENT: usize = 2;

impl JsonArray {
    /// Prints the array of the trees that `fill` sends to its view. `fill` returns the verdict over
    /// them.
    pub fn print(
        out: &mut impl Write,
        fill: impl FnOnce(&mut dyn View) -> Result<Verdict, AppError>,
    ) -> Result<(), AppError> {
        let documents = Documents::new()?;
        let run = RunDocument::new(&documents.mark);
        let mut view = Self { documents, run, is_empty: true };
        let verdict = fill(&mut view)?;
        let end = if view.is_empty { "[]" } else { "\n]" };
        writeln!(view.documents.file, "{end}").map_err(|error| not_stored(&error))?;
        view.documents.print(verdict, out)
    }

    /// Starts a tree.
    fn element(&mut self) -> Result<(), AppError> {
        let before = if std::mem::take(&mut self.is_empty) { "[" } else { "," };
        write!(self.documents.file, "{before}\n{:ELEMENT$}", "").map_err(|error| not_stored(&error))
    }
}

impl View for JsonArray {
    fn begin(&mut self, _: Option<&str>, trees: &mut Trees) -> Result<(), AppError> {
        self.run.begin(trees);
        Ok(())
    }

    fn tree(&mut self, _: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        self.element()?;
        let out = Indented { out: &mut self.documents.file, column: ELEMENT };
        serde_json::to_writer_pretty(JsonText(out), &Shown::new(tree, &self.run)).map_err(failed)
    }

    fn takes_items(&self, is_large: bool) -> bool {
        is_large
    }

    fn items(&mut self, trees: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        self.element()?;
        write_items(trees, tree, &self.run, ELEMENT, &mut self.documents.file)
    }
}

/// Renders a YAML document for each tree. That of a large tree is JSON, which is also YAML.
pub struct YamlDocuments {
    documents: Documents,
    run: RunDocument,
}

impl YamlDocuments {
    /// Prints the documents of the trees that `fill` sends to its view. `fill` returns the verdict
    /// over them.
    pub fn print(
        out: &mut impl Write,
        fill: impl FnOnce(&mut dyn View) -> Result<Verdict, AppError>,
    ) -> Result<(), AppError> {
        let documents = Documents::new()?;
        let run = RunDocument::new(&documents.mark);
        let mut view = Self { documents, run };
        let verdict = fill(&mut view)?;
        view.documents.print(verdict, out)
    }
}

impl View for YamlDocuments {
    fn begin(&mut self, _: Option<&str>, trees: &mut Trees) -> Result<(), AppError> {
        self.run.begin(trees);
        Ok(())
    }

    fn tree(&mut self, _: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        let (shown, out) = (Shown::new(tree, &self.run), &mut self.documents.file);
        writeln!(out, "---").and_then(|()| print_yaml(&shown, out)).map_err(|error| not_stored(&error))
    }

    fn takes_items(&self, is_large: bool) -> bool {
        is_large
    }

    fn items(&mut self, trees: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        let out = &mut self.documents.file;
        writeln!(out, "---").map_err(|error| not_stored(&error))?;
        write_items(trees, tree, &self.run, 0, out)?;
        writeln!(out).map_err(|error| not_stored(&error))
    }
}

fn failed(error: serde_json::Error) -> AppError {
    not_stored(&error.into())
}

fn not_stored(error: &io::Error) -> AppError {
    AppError::system("failed to prepare the results in a temporary file").because(error)
}
