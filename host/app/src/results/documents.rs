//! Results as data: a JSON array of trees, or a YAML document for each tree.

use std::borrow::Cow;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};

use plumbline_core::judgement::PluginVerdict;
use plumbline_core::{Item, Verdict};
use serde::Serialize;

use crate::causes::{Cause, GroupedTests, TestDocument, groups};
use crate::error::AppError;
use crate::report::facts::ReportFacts;
use crate::report::nodes::Nodes;
use crate::report::text::print_yaml;
use crate::results::json_tree::JsonTree;
use crate::results::views::report_facts;
use crate::results::{ResultTree, View, printed};
use crate::timeline::Span;
use crate::trees::{Trees, WHOLE_TEXT, bare};

/// A tree as data.
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
    item: &'a Item,
}

/// What the root of a tree has after its items: the verdict over the tree, what belongs to its
/// failures, and the facts of the run.
#[derive(Serialize)]
struct Rest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'a PluginVerdict>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<CauseDocument<'a>>,
    #[serde(rename = "cluster-events", skip_serializing_if = "Vec::is_empty")]
    relations: Vec<RelationDocument<'a>>,
    run: &'a RunDocument,
}

#[derive(Serialize)]
struct CauseDocument<'a> {
    #[serde(flatten)]
    cause: &'a Cause,
    tests: Vec<TestDocument>,
}

/// Something that happened in the cluster at the place and time of failures.
#[derive(Serialize)]
struct RelationDocument<'a> {
    #[serde(flatten)]
    span: &'a Span,
    sentence: &'a str,
    tests: Vec<TestDocument>,
}

#[derive(Serialize)]
struct RunDocument {
    /// The mark for the verdict over all trees.
    verdict: String,
    #[serde(flatten)]
    facts: ReportFacts,
}

/// Collects the failures of each cause, and then of each relation.
fn grouped(tree: &ResultTree<'_>) -> GroupedTests {
    let mut all = groups(&tree.causes);
    all.extend(tree.relations.iter().map(|relation| relation.items.as_slice()));
    GroupedTests::new(&all)
}

impl<'a> Rest<'a> {
    /// `tests` are those that [`grouped`] collects.
    fn new(tree: &'a ResultTree<'_>, mut tests: Vec<Vec<TestDocument>>, run: &'a RunDocument) -> Self {
        let of_relations = tests.split_off(tree.causes.len().min(tests.len()));
        let causes = tree.causes.iter().zip(tests).map(|(cause, tests)| CauseDocument { cause, tests });
        let relations = tree.relations.iter().zip(of_relations).map(|(relation, tests)| RelationDocument {
            span: &relation.span,
            sentence: &relation.sentence,
            tests,
        });
        Self { verdict: tree.verdict.as_ref(), causes: causes.collect(), relations: relations.collect(), run }
    }
}

/// The formats of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFormat {
    /// A JSON array of trees.
    Json,
    /// A YAML document for each tree. That of a large tree is JSON, which is also YAML.
    Yaml,
}

/// The column of the trees in an array.
const ELEMENT: usize = 2;

/// Renders data into a temporary file. At most one tree is in memory, and a large one is written item
/// by item. The verdict over all trees is in each of them, but is known only after the last one, so a
/// mark is in its place.
pub struct Documents {
    format: DataFormat,
    file: BufWriter<File>,
    run: RunDocument,
    is_empty: bool,
}

impl Documents {
    /// Prints the trees that `fill` sends to its view. `fill` returns the verdict over them.
    pub fn print(
        format: DataFormat,
        out: &mut impl Write,
        fill: impl FnOnce(&mut dyn View) -> Result<Verdict, AppError>,
    ) -> Result<(), AppError> {
        let file = BufWriter::new(tempfile::tempfile().map_err(not_stored)?);
        // A random number, so that no text of a result can be taken for the mark.
        let mark = format!("verdict-{:016x}", RandomState::new().hash_one(0));
        let run = RunDocument { verdict: mark.clone(), facts: ReportFacts::default() };
        let mut view = Self { format, file, run, is_empty: true };
        let verdict = fill(&mut view)?;
        if format == DataFormat::Json {
            let end = if view.is_empty { "[]" } else { "\n]" };
            writeln!(view.file, "{end}").map_err(not_stored)?;
        }
        let mut file = view.file.into_inner().map_err(|error| not_stored(error.into_error()))?;
        file.rewind().map_err(not_stored)?;
        let (mut lines, mut line) = (BufReader::new(file), String::new());
        while lines.read_line(&mut line).map_err(not_stored)? > 0 {
            printed(out.write_all(line.replace(&mark, verdict.as_str()).as_bytes()))?;
            line.clear();
        }
        Ok(())
    }

    /// Writes a tree as JSON, item by item. Only its failures are in memory.
    fn write_items(&mut self, trees: &mut Trees, tree: &ResultTree<'_>, column: usize) -> Result<(), AppError> {
        let mut tests = grouped(tree);
        let mut document = JsonTree::new(&mut self.file, column);
        let left_out = tree.items().each(trees, WHOLE_TEXT, &mut |depth, item, is_leaf| {
            tests.item(depth, item, is_leaf);
            // Most texts are in leaves, and are not copied.
            let item = if item.is_leaf() { Cow::Borrowed(item) } else { Cow::Owned(bare(item)) };
            let named = Named { archive: tree.input.filter(|_| depth == 0), item: &item };
            document.item(depth, &named).map_err(not_stored)
        })?;
        trees.report_left_out(tree.plugin, left_out);
        document.finish(&Rest::new(tree, tests.finish(), &self.run)).map_err(not_stored)
    }

    fn write_yaml(&mut self, tree: &ResultTree<'_>) -> io::Result<()> {
        let mut tests = grouped(tree);
        let mut walk = tree.item.walk();
        while let Some(item) = walk.next() {
            tests.item(walk.depth(), item, item.is_leaf());
        }
        let item = Named { archive: tree.input, item: &tree.item };
        print_yaml(&Shown { item, rest: Rest::new(tree, tests.finish(), &self.run) }, &mut self.file)
    }
}

impl View for Documents {
    fn begin(&mut self, _: Option<&str>, trees: &mut Trees) -> Result<(), AppError> {
        self.run.facts = report_facts(trees, &mut Nodes::default());
        Ok(())
    }

    fn tree(&mut self, trees: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        let is_first = std::mem::take(&mut self.is_empty);
        match self.format {
            DataFormat::Json => {
                let before = if is_first { "[" } else { "," };
                write!(self.file, "{before}\n{:ELEMENT$}", "").map_err(not_stored)?;
                self.write_items(trees, &tree, ELEMENT)?;
            }
            DataFormat::Yaml => {
                writeln!(self.file, "---").map_err(not_stored)?;
                if tree.is_streamed {
                    self.write_items(trees, &tree, 0)?;
                    writeln!(self.file).map_err(not_stored)?;
                } else {
                    self.write_yaml(&tree).map_err(not_stored)?;
                }
            }
        }
        tree.item.dismantle();
        Ok(())
    }

    fn takes_items(&self, is_large: bool) -> bool {
        is_large
    }
}

fn not_stored(error: io::Error) -> AppError {
    AppError::system("failed to prepare the results in a temporary file").because(&error)
}
