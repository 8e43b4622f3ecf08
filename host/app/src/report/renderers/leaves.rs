//! Sends the leaves of a tree to a renderer, and what its judges decided about the whole plugin.

use std::collections::HashMap;
use std::io;

use plumbline_core::judgement::{CheckOutcome, JudgedCheck, PluginVerdict};
use plumbline_core::{Item, Status};

use crate::causes::Cause;
use crate::report::renderers::{Leaf, Plugin, Renderer};
use crate::report::verdict::Rulings;
use crate::trees::{Position, bare};

/// The group of leaves for checks of judges.
const CHECKS: &str = "checks";

/// The group of leaves for judges that could not finish.
const JUDGES: &str = "judges";

/// The items of one plugin, which come one by one.
pub(crate) struct Leaves<'a> {
    title: String,
    directory: String,
    renderer: &'a mut dyn Renderer,
    verdict: Option<&'a PluginVerdict>,
    rulings: Rulings<'a>,
    /// The IDs of causes, by the number of the leaf.
    causes: HashMap<usize, &'a str>,
    position: Position,
    /// Whether a leaf explains a verdict that does not pass.
    has_bad: bool,
}

impl<'a> Leaves<'a> {
    /// Starts the plugin with the root of its tree. `title` is its name in the report, and
    /// `directory` the name of its directory in the archive.
    pub(crate) fn new(
        title: String,
        directory: &str,
        root: &Item,
        verdict: Option<&'a PluginVerdict>,
        causes: &'a [Cause],
        renderer: &'a mut dyn Renderer,
    ) -> io::Result<Self> {
        renderer.plugin(&Plugin { title: &title, root, verdict, causes })?;
        let ids = |cause: &'a Cause| cause.items.iter().map(|leaf| (*leaf, cause.id.as_str()));
        Ok(Self {
            title,
            directory: directory.to_owned(),
            renderer,
            verdict,
            rulings: Rulings::new(verdict),
            causes: causes.iter().flat_map(ids).collect(),
            position: Position::default(),
            has_bad: false,
        })
    }

    /// Adds an item, parents before children. The root has depth 0.
    pub(crate) fn item(&mut self, depth: usize, item: &Item, is_leaf: bool) -> io::Result<()> {
        let mut item = bare(item);
        if depth == 0 {
            item.name.clone_from(&self.title);
        }
        let Some(number) = self.position.advance(depth, &item, is_leaf) else { return Ok(()) };
        let above = &self.position.above;
        let names = above.iter().skip(1).map(|item| item.name.as_str()).chain([item.name.as_str()]);
        let ruled = self.rulings.next(names, &item.status);
        let source = source(&self.directory, above, &item);
        let cause = self.causes.get(&number).copied();
        let leaf = Leaf { cause, source, ..Leaf::of_tree(&self.title, above, item, ruled) };
        self.has_bad |= leaf.outcome().is_bad();
        self.renderer.leaf(&leaf)
    }

    /// Adds the checks of judges, and judges that could not finish. Returns whether a leaf explains
    /// a verdict that does not pass.
    pub(crate) fn finish(mut self, root: &Item) -> io::Result<bool> {
        let Some(verdict) = self.verdict else { return Ok(self.has_bad) };
        for judged in &verdict.checks {
            self.own(root, CHECKS, check(judged))?;
        }
        for record in &verdict.chain {
            if let Some(error) = &record.error {
                self.own(root, JUDGES, explained(&record.judge, Status::Unknown, "error", error))?;
            }
        }
        Ok(self.has_bad)
    }

    fn own(&mut self, root: &Item, group: &str, item: Item) -> io::Result<()> {
        let root = Item { name: self.title.clone(), ..bare(root) };
        let above = [root, Item { name: group.to_owned(), ..Item::default() }];
        let leaf = Leaf::own(&self.title, &above, item);
        self.has_bad |= leaf.outcome().is_bad();
        self.renderer.leaf(&leaf)
    }
}

fn check(JudgedCheck { check, .. }: &JudgedCheck) -> Item {
    let name = format!("{} {}", check.id, check.name);
    let mut text = format!("want {}", check.want);
    if !check.got.is_empty() {
        text.push_str(&format!(", got {}", check.got));
    }
    if !check.reason.is_empty() {
        text.push_str(&format!(" ({})", check.reason));
    }
    match check.outcome {
        CheckOutcome::Passed => Item { name, status: Status::Passed, ..Item::default() },
        CheckOutcome::Failed => explained(&name, Status::Failed, "failure", &text),
        CheckOutcome::Unknown => explained(&name, Status::Unknown, "error", &text),
    }
}

fn explained(name: &str, status: Status, key: &str, text: &str) -> Item {
    let details = [(key.to_owned(), text.into())].into_iter().collect();
    Item { name: name.to_owned(), status, details, ..Item::default() }
}

/// The file in the archive that has the item: its own, or that of the nearest item above it. Empty
/// if none has a file.
pub(crate) fn source(directory: &str, above: &[Item], item: &Item) -> String {
    let mut near = std::iter::once(item).chain(above.iter().rev());
    let file = near.find_map(|item| item.meta.get("file"));
    file.map(|file| format!("plugins/{directory}/{}", file.replace('\\', "/"))).unwrap_or_default()
}
