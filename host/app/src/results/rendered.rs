//! The view for formats of other tools.

use std::io::{self, Write};

use plumbline_core::Verdict;

use crate::error::AppError;
use crate::report::Format;
use crate::report::renderers::{Leaves, Renderer, renderer, unexplained};
use crate::results::views::archive_facts;
use crate::results::{ResultTree, View};
use crate::trees::{MAX_TEXT, Trees};

/// Renders leaf by leaf. A tree that Plumbline wrote is never in memory as a whole.
pub struct Rendered<'a> {
    renderer: &'a mut dyn Renderer,
    target: Target,
    /// Whether the items of every tree are taken one by one, where long texts are left out.
    takes_items: bool,
    /// Whether a leaf explains a verdict that does not pass.
    has_bad: bool,
}

/// Where the format is written, for errors.
enum Target {
    Output,
    Directory(String),
}

impl Target {
    fn failed(&self, error: &io::Error) -> AppError {
        match self {
            Self::Output => AppError::printing("failed to print the results", error),
            Self::Directory(dir) => {
                let failed = AppError::system(format!("failed to write results to directory `{dir}`")).because(error);
                match error.kind() {
                    io::ErrorKind::DirectoryNotEmpty => failed.hint("remove the directory, or pass another one"),
                    _ => failed,
                }
            }
        }
    }
}

impl Rendered<'_> {
    /// Prints results in `format`, on `out` or in the directory of the format. `fill` sends trees to the
    /// view, and returns the verdict over them.
    pub fn print(
        format: &Format,
        out: &mut dyn Write,
        fill: impl FnOnce(&mut dyn View) -> Result<Verdict, AppError>,
    ) -> Result<(), AppError> {
        let target = match format {
            Format::Allure(dir) => Target::Directory(dir.display().to_string()),
            _ => Target::Output,
        };
        let mut renderer = renderer(format, out).map_err(|error| target.failed(&error))?;
        // JUnit keeps its report in memory anyway, and has every text.
        let takes_items = *format != Format::Junit;
        Rendered { renderer: renderer.as_mut(), target, takes_items, has_bad: false }.fill(fill).map(drop)
    }

    /// Sends the results of `fill` to `renderer`. Returns the verdict over them.
    pub(crate) fn collect(
        renderer: &mut dyn Renderer,
        fill: impl FnOnce(&mut dyn View) -> Result<Verdict, AppError>,
    ) -> Result<Verdict, AppError> {
        Rendered { renderer, target: Target::Output, takes_items: true, has_bad: false }.fill(fill)
    }

    /// If the verdict does not pass and no result explains why, the verdict itself becomes a failed
    /// result.
    fn fill(mut self, fill: impl FnOnce(&mut dyn View) -> Result<Verdict, AppError>) -> Result<Verdict, AppError> {
        let verdict = fill(&mut self)?;
        let is_explained = verdict == Verdict::Passed || self.has_bad;
        let explained = if is_explained { Ok(()) } else { unexplained(verdict, self.renderer) };
        explained.and_then(|()| self.renderer.finish()).map_err(|error| self.target.failed(&error))?;
        Ok(verdict)
    }
}

impl View for Rendered<'_> {
    fn begin(&mut self, _: Option<&str>, trees: &mut Trees) -> Result<(), AppError> {
        let facts = archive_facts(trees);
        self.renderer.archive(&facts).map_err(|error| self.target.failed(&error))
    }

    fn tree(&mut self, trees: &mut Trees, mut tree: ResultTree<'_>) -> Result<(), AppError> {
        // The archive says `passed` about files that Sonobuoy did not read. Other tools must not take them for tests.
        trees.mark_unread(tree.plugin, &mut tree.item);
        let ResultTree { plugin, item: root, verdict, causes, .. } = &tree;
        let target = &self.target;
        let failed = |error: io::Error| target.failed(&error);
        let mut leaves =
            Leaves::new(tree.title(), plugin, root, verdict.as_ref(), causes, self.renderer).map_err(failed)?;
        let left_out = tree
            .items()
            .each(trees, MAX_TEXT, &mut |depth, item, is_leaf| leaves.item(depth, item, is_leaf).map_err(failed))?;
        // The other formats never have long texts.
        trees.report_left_out(plugin, if self.takes_items { 0 } else { left_out });
        self.has_bad |= leaves.finish(root).map_err(failed)?;
        tree.item.dismantle();
        Ok(())
    }

    fn takes_items(&self, is_large: bool) -> bool {
        self.takes_items || is_large
    }
}
