//! Results as data: a JSON array of trees, or a YAML document for each tree.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};

use plumbline_core::Verdict;

use crate::error::AppError;
use crate::report::facts::ReportFacts;
use crate::report::nodes::{Distinction, NodeResults, Nodes};
use crate::report::text::{print_json_line, print_yaml_or_json};
use crate::results::json_tree::{JsonTree, add_keys};
use crate::results::tree_document::{DistinctionDocument, Named, RunDocument, Shown, TreeLists};
use crate::results::views::report_facts;
use crate::results::{ResultTree, View, printed};
use crate::trees::{Trees, WHOLE_TEXT, bare};

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

/// The key of what distinguishes failed nodes.
const DISTINCTIONS: &str = "node-distinctions";

/// Renders data into a temporary file. At most one tree is in memory, and a large one is written item
/// by item.
///
/// Two things are known later than a tree is written, and inserted when the file is printed. The verdict
/// over all trees replaces a mark. What distinguishes the nodes of a run becomes another key of the root,
/// because any tree of the run may have facts about them.
pub struct Documents {
    format: DataFormat,
    file: BufWriter<File>,
    run: RunDocument,
    is_empty: bool,
    /// What is known about the nodes of the run.
    known: Nodes,
    /// The trees of the run with failures on nodes: the position for another key, and the nodes.
    ends: Vec<(u64, End, NodeResults)>,
    /// The keys to insert, with their positions, in the order of the file.
    added: Vec<(u64, Vec<u8>)>,
}

/// How the document of a tree ends.
#[derive(Clone, Copy)]
enum End {
    /// With the brace of a tree in an array.
    Element,
    /// With the brace of a tree, and a line break.
    Object,
    /// With the line break of YAML in block style.
    Block,
}

impl End {
    /// The text after the last key of the root.
    fn text(self) -> &'static str {
        match self {
            Self::Element => "\n  }",
            Self::Object => "\n}\n",
            Self::Block => "",
        }
    }

    /// Returns what distinguishes nodes, as a key after the last one of the root.
    fn key(self, found: &[Distinction]) -> io::Result<Vec<u8>> {
        let list: Vec<DistinctionDocument<'_>> = found.iter().map(DistinctionDocument::new).collect();
        let mut text = Vec::new();
        let column = match self {
            Self::Element => ELEMENT,
            Self::Object => 0,
            Self::Block => {
                // JSON can have any text, and is also YAML.
                write!(text, "{DISTINCTIONS}: ")?;
                print_json_line(&list, &mut text)?;
                return Ok(text);
            }
        };
        add_keys(&BTreeMap::from([(DISTINCTIONS, list)]), column, &mut text)?;
        Ok(text)
    }
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
        let (known, ends, added) = (Nodes::default(), Vec::new(), Vec::new());
        let mut view = Self { format, file, run, is_empty: true, known, ends, added };
        let verdict = fill(&mut view)?;
        view.settle()?;
        if format == DataFormat::Json {
            let end = if view.is_empty { "[]" } else { "\n]" };
            writeln!(view.file, "{end}").map_err(not_stored)?;
        }
        let mut file = view.file.into_inner().map_err(|error| not_stored(error.into_error()))?;
        file.rewind().map_err(not_stored)?;
        let (mut rest, mut position) = (BufReader::new(file), 0);
        for (at, key) in view.added {
            print_part(rest.by_ref().take(at.saturating_sub(position)), &mark, verdict, out)?;
            printed(out.write_all(&key))?;
            position = at;
        }
        print_part(rest, &mark, verdict, out)
    }

    /// Writes a tree as JSON, item by item. Only its failures, its slowest leaves and its nodes are in
    /// memory. Returns the nodes with results.
    fn write_items(
        &mut self,
        trees: &mut Trees,
        tree: &ResultTree<'_>,
        column: usize,
    ) -> Result<NodeResults, AppError> {
        let Self { file, run, known, .. } = self;
        let mut lists = TreeLists::new(tree);
        let mut document = JsonTree::new(file, column);
        let left_out = tree.items().each(trees, WHOLE_TEXT, &mut |depth, item, is_leaf| {
            lists.item(known, depth, item, is_leaf);
            // Most texts are in leaves, and are not copied.
            let item = if item.is_leaf() { Cow::Borrowed(item) } else { Cow::Owned(bare(item)) };
            let named = Named { archive: tree.input.filter(|_| depth == 0), item: &item };
            document.item(depth, &named).map_err(not_stored)
        })?;
        trees.report_left_out(tree.plugin, left_out);
        let (rest, nodes) = lists.finish(run);
        document.finish(&rest).map_err(not_stored)?;
        Ok(nodes)
    }

    /// Writes a tree that is in memory as YAML. Returns how it ends, and the nodes with results.
    fn write_yaml(&mut self, tree: &ResultTree<'_>) -> io::Result<(End, NodeResults)> {
        let Self { file, run, known, .. } = self;
        let mut lists = TreeLists::new(tree);
        let mut walk = tree.item.walk();
        while let Some(item) = walk.next() {
            lists.item(known, walk.depth(), item, item.is_leaf());
        }
        let (rest, nodes) = lists.finish(run);
        let item = Named { archive: tree.input, item: &tree.item };
        let is_json = print_yaml_or_json(&Shown { item, rest }, file)?;
        Ok((if is_json { End::Object } else { End::Block }, nodes))
    }

    /// Ends the document that was just written, of a tree with results of these nodes.
    fn end(&mut self, end: End, nodes: NodeResults) -> io::Result<()> {
        if nodes.iter().any(|(_, failed)| *failed) {
            let position = self.file.stream_position()?;
            self.ends.push((position.saturating_sub(end.text().len() as u64), end, nodes));
        }
        Ok(())
    }

    /// Computes what distinguishes the nodes of the run, whose trees were all written.
    fn settle(&mut self) -> Result<(), AppError> {
        for (at, end, nodes) in std::mem::take(&mut self.ends) {
            let found = self.known.distinctions(&nodes);
            if !found.is_empty() {
                self.added.push((at, end.key(&found).map_err(not_stored)?));
            }
        }
        Ok(())
    }
}

impl View for Documents {
    fn begin(&mut self, _: Option<&str>, trees: &mut Trees) -> Result<(), AppError> {
        self.settle()?;
        self.known = Nodes::default();
        self.run.facts = report_facts(trees, &mut self.known);
        Ok(())
    }

    fn tree(&mut self, trees: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        let is_first = std::mem::take(&mut self.is_empty);
        let (end, nodes) = match self.format {
            DataFormat::Json => {
                let before = if is_first { "[" } else { "," };
                write!(self.file, "{before}\n{:ELEMENT$}", "").map_err(not_stored)?;
                (End::Element, self.write_items(trees, &tree, ELEMENT)?)
            }
            DataFormat::Yaml => {
                writeln!(self.file, "---").map_err(not_stored)?;
                if tree.is_streamed {
                    let nodes = self.write_items(trees, &tree, 0)?;
                    writeln!(self.file).map_err(not_stored)?;
                    (End::Object, nodes)
                } else {
                    self.write_yaml(&tree).map_err(not_stored)?
                }
            }
        };
        tree.item.dismantle();
        self.end(end, nodes).map_err(not_stored)
    }

    fn takes_items(&self, is_large: bool) -> bool {
        is_large
    }
}

/// Prints a part of the file, with the verdict in place of the mark.
fn print_part(mut part: impl BufRead, mark: &str, verdict: Verdict, out: &mut impl Write) -> Result<(), AppError> {
    let mut line = String::new();
    while part.read_line(&mut line).map_err(not_stored)? > 0 {
        printed(out.write_all(line.replace(mark, verdict.as_str()).as_bytes()))?;
        line.clear();
    }
    Ok(())
}

fn not_stored(error: io::Error) -> AppError {
    AppError::system("failed to prepare the results in a temporary file").because(&error)
}
