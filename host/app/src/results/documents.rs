//! Results as data: a JSON array of trees, or a YAML document for each tree.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};

use jiff::Timestamp;
use plumbline_core::timeline::TimelineKind;
use plumbline_core::{Item, Verdict};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::causes::{CauseDocument, TestDocument, documents, test_documents};
use crate::error::AppError;
use crate::report::facts::ReportFacts;
use crate::report::nodes::Nodes;
use crate::report::text::{JsonText, print_yaml};
use crate::report::verdict::JudgedTree;
use crate::results::views::report_facts;
use crate::results::{ResultTree, View, printed};
use crate::timeline::Relation;
use crate::trees::Trees;

/// A tree as data, with the name of the archive if there are several, its verdict, and the facts of
/// the run.
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

impl<'a> Shown<'a> {
    fn new(tree: ResultTree<'a>, run: &'a RunDocument) -> Self {
        let causes = documents(&tree.item, &tree.causes);
        let relations = relation_documents(&tree.item, &tree.relations);
        let content = match tree.verdict {
            Some(verdict) => Content::Judged(Box::new(JudgedTree { root: tree.item, verdict })),
            None => Content::Tree(tree.item),
        };
        Self { archive: tree.input, tree: content, causes, relations, run }
    }
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

/// Renders a JSON array. At most one tree is in memory.
pub struct JsonArray<S> {
    array: S,
    run: RunDocument,
}

impl JsonArray<()> {
    /// Prints the array of the trees that `fill` sends to its view. `fill` returns the verdict over
    /// them.
    pub fn print(
        out: &mut impl Write,
        fill: impl FnOnce(&mut dyn View) -> Result<Verdict, AppError>,
    ) -> Result<(), AppError> {
        let mut documents = Documents::new()?;
        let run = RunDocument::new(&documents.mark);
        let mut serializer = serde_json::Serializer::pretty(JsonText(&mut documents.file));
        let mut view = JsonArray { array: serializer.serialize_seq(None).map_err(failed)?, run };
        let verdict = fill(&mut view)?;
        view.array.end().map_err(failed)?;
        writeln!(documents.file).map_err(|error| not_stored(&error))?;
        documents.print(verdict, out)
    }
}

impl<S: SerializeSeq<Error = serde_json::Error>> View for JsonArray<S> {
    fn begin(&mut self, _: Option<&str>, trees: &mut Trees) -> Result<(), AppError> {
        self.run.begin(trees);
        Ok(())
    }

    fn tree(&mut self, _: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        self.array.serialize_element(&Shown::new(tree, &self.run)).map_err(failed)
    }
}

/// Renders a YAML document for each tree.
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
}

fn failed(error: serde_json::Error) -> AppError {
    not_stored(&error.into())
}

fn not_stored(error: &io::Error) -> AppError {
    AppError::system("failed to prepare the results in a temporary file").because(error)
}
