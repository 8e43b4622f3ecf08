//! Views of results: as JSON, YAML, JUnit XML, Markdown and HTML.

use std::io::{self, Write};
use std::path::Path;

use plumbline_core::Item;
use plumbline_core::judgement::PluginVerdict;
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::causes::{Cause, CauseDocument, documents};
use crate::error::AppError;
use crate::report;
use crate::report::html::{Page, PageFacts};
use crate::report::text::{JsonText, print_yaml};
use crate::report::verdict::JudgedTree;
use crate::results::{ResultTree, printed};
use crate::trees::Trees;

/// Receives result trees one after the other, and renders them.
pub trait View {
    /// An input starts. It has a name if there are several.
    fn begin(&mut self, _input: Option<&str>, _trees: &mut Trees) -> Result<(), AppError> {
        Ok(())
    }

    /// Renders a tree of the input.
    fn tree(&mut self, trees: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError>;

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
        let content = match tree.verdict {
            Some(verdict) => Content::Judged(Box::new(JudgedTree { root: tree.item, verdict })),
            None => Content::Tree(tree.item),
        };
        Shown { archive: tree.input, tree: content, causes }
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

/// Collects all trees for formats that need them at once.
#[derive(Default)]
pub struct Collected {
    trees: Vec<(Item, Vec<Cause>)>,
    verdicts: Vec<Option<PluginVerdict>>,
}

impl View for Collected {
    fn tree(&mut self, _: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        self.trees.push((titled(tree.input, tree.item), tree.causes));
        self.verdicts.push(tree.verdict);
        Ok(())
    }
}

impl Collected {
    /// Prints JUnit XML.
    pub fn junit(self, out: &mut impl Write) -> io::Result<()> {
        let judged = |((mut root, _), verdict): ((Item, Vec<Cause>), Option<PluginVerdict>)| {
            if let Some(verdict) = &verdict {
                report::judged_leaves(&mut root, verdict);
            }
            root
        };
        report::junit(&self.trees.into_iter().zip(self.verdicts).map(judged).collect::<Vec<_>>(), out)
    }

    /// Prints Markdown.
    pub fn markdown(self, out: &mut impl Write) -> io::Result<()> {
        let verdicts: Vec<_> = self.verdicts.into_iter().flatten().collect();
        report::markdown(&self.trees, out).and_then(|()| report::verdict_markdown(&verdicts, report::escape, out))
    }
}

/// Renders a page of HTML. At most one tree is in memory.
pub struct Html {
    page: Page,
    facts: Vec<PageFacts>,
}

impl Html {
    /// Starts an empty page.
    pub fn new() -> Result<Self, AppError> {
        Ok(Self { page: Page::new().map_err(|error| no_room(&error))?, facts: Vec::new() })
    }

    /// Prints the page.
    pub fn finish(self, out: &mut impl Write) -> io::Result<()> {
        let facts = match <[PageFacts; 1]>::try_from(self.facts) {
            Ok([facts]) => facts,
            Err(several) => PageFacts { archive: format!("{} archives", several.len()), ..PageFacts::default() },
        };
        self.page.finish(&facts, out)
    }
}

impl View for Html {
    fn begin(&mut self, _: Option<&str>, trees: &mut Trees) -> Result<(), AppError> {
        let name = trees.name().to_owned();
        // The page may be published, so it does not have the directories of this machine.
        let file = Path::new(&name).file_name().map(|file| file.to_string_lossy().into_owned());
        let info = trees.archive().info();
        self.facts.push(PageFacts {
            archive: file.unwrap_or(name),
            run: info.run.clone(),
            tool: match (&info.plumbline_version, &info.version) {
                (Some(version), _) => Some(format!("Plumbline {version}")),
                (None, version) => version.as_ref().map(|version| format!("Sonobuoy {version}")),
            },
        });
        Ok(())
    }

    fn tree(&mut self, _: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        let root = titled(tree.input, tree.item);
        self.page.plugin(&root, tree.verdict.as_ref()).map_err(|error| no_room(&error))?;
        root.dismantle();
        Ok(())
    }
}

/// The tree with the name of its input, if there are several.
fn titled(input: Option<&str>, mut root: Item) -> Item {
    if let Some(input) = input {
        root.name = format!("{input}: {}", root.name);
    }
    root
}

fn no_room(error: &io::Error) -> AppError {
    AppError::system("failed to prepare the page in a temporary file").because(error)
}
