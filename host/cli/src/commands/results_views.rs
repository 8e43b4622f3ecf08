//! Results as data and as documents.

use std::io::{self, Write};
use std::path::Path;

use plumbline_app::AppError;
use plumbline_app::report::{self, JsonText, JudgedTree, Page, PageFacts, print_yaml};
use plumbline_app::trees::Trees;
use plumbline_core::Item;
use plumbline_core::judgement::PluginVerdict;
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use super::results_tree::{Tree, printed};

/// Shows trees, one after the other.
pub(super) trait View {
    /// An input follows; it has a name where there are several.
    fn begin(&mut self, _input: Option<&str>, _trees: &mut Trees) -> Result<(), AppError> {
        Ok(())
    }

    /// A tree of the input.
    fn tree(&mut self, trees: &mut Trees, tree: Tree<'_>) -> Result<(), AppError>;

    /// The input ends.
    fn end(&mut self, _trees: &mut Trees) -> Result<(), AppError> {
        Ok(())
    }
}

/// A tree as data, with the archive's name where there are several, and its verdict if it has one.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<&'a str>,
    #[serde(flatten)]
    tree: Content,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content {
    Tree(Item),
    Judged(Box<JudgedTree>),
}

impl<'a> From<Tree<'a>> for Shown<'a> {
    fn from(tree: Tree<'a>) -> Self {
        let content = match tree.verdict {
            Some(verdict) => Content::Judged(Box::new(JudgedTree { root: tree.item, verdict })),
            None => Content::Tree(tree.item),
        };
        Shown { archive: tree.input, tree: content }
    }
}

/// One JSON array; one tree is held at a time.
pub(super) struct JsonArray<S>(S);

impl JsonArray<()> {
    /// Prints the array of what `fill` shows.
    pub(super) fn print(
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
    fn tree(&mut self, _: &mut Trees, tree: Tree<'_>) -> Result<(), AppError> {
        self.0.serialize_element(&Shown::from(tree)).map_err(failed)
    }
}

fn failed(error: serde_json::Error) -> AppError {
    AppError::printing("failed to print the results", &error.into())
}

/// One YAML document per tree.
pub(super) struct YamlDocuments<'a, W>(pub(super) &'a mut W);

impl<W: Write> View for YamlDocuments<'_, W> {
    fn tree(&mut self, _: &mut Trees, tree: Tree<'_>) -> Result<(), AppError> {
        printed(writeln!(self.0, "---").and_then(|()| print_yaml(&Shown::from(tree), &mut *self.0)))
    }
}

/// What is printed when all trees are known.
#[derive(Default)]
pub(super) struct Collected {
    trees: Vec<(Item, Option<PluginVerdict>)>,
}

impl View for Collected {
    fn tree(&mut self, _: &mut Trees, tree: Tree<'_>) -> Result<(), AppError> {
        self.trees.push((titled(tree.input, tree.item), tree.verdict));
        Ok(())
    }
}

impl Collected {
    /// Prints JUnit XML.
    pub(super) fn junit(self, out: &mut impl Write) -> io::Result<()> {
        let judged = |(mut root, verdict): (Item, Option<PluginVerdict>)| {
            if let Some(verdict) = &verdict {
                report::judged_leaves(&mut root, verdict);
            }
            root
        };
        report::junit(&self.trees.into_iter().map(judged).collect::<Vec<_>>(), out)
    }

    /// Prints Markdown.
    pub(super) fn markdown(self, out: &mut impl Write) -> io::Result<()> {
        let (roots, verdicts): (Vec<_>, Vec<_>) = self.trees.into_iter().unzip();
        let verdicts: Vec<_> = verdicts.into_iter().flatten().collect();
        report::markdown(&roots, out).and_then(|()| report::verdict_markdown(&verdicts, report::escape, out))
    }
}

/// One page of HTML; one tree is held at a time.
pub(super) struct Html {
    page: Page,
    facts: Vec<PageFacts>,
}

impl Html {
    /// An empty page.
    pub(super) fn new() -> Result<Self, AppError> {
        Ok(Self { page: Page::new().map_err(|error| no_room(&error))?, facts: Vec::new() })
    }

    /// Prints the page.
    pub(super) fn finish(self, out: &mut impl Write) -> io::Result<()> {
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
        // The page may go to others: the name of the file, without the directories of this machine.
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

    fn tree(&mut self, _: &mut Trees, tree: Tree<'_>) -> Result<(), AppError> {
        let root = titled(tree.input, tree.item);
        self.page.plugin(&root, tree.verdict.as_ref()).map_err(|error| no_room(&error))?;
        root.dismantle();
        Ok(())
    }
}

/// The tree with the input in its name, where there are several.
fn titled(input: Option<&str>, mut root: Item) -> Item {
    if let Some(input) = input {
        root.name = format!("{input}: {}", root.name);
    }
    root
}

fn no_room(error: &io::Error) -> AppError {
    AppError::system("failed to prepare the page in a temporary file").because(error)
}
