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
    renderer: Box<dyn Renderer + 'a>,
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

impl<'a> Rendered<'a> {
    /// Starts results in `format`, on `out` or in the directory of the format.
    pub fn new(format: &Format, out: &'a mut dyn Write) -> Result<Self, AppError> {
        let target = match format {
            Format::Allure(dir) => Target::Directory(dir.display().to_string()),
            _ => Target::Output,
        };
        let renderer = renderer(format, out).map_err(|error| target.failed(&error))?;
        // JUnit keeps its report in memory anyway, and has every text.
        Ok(Self { renderer, target, takes_items: *format != Format::Junit, has_bad: false })
    }

    /// Starts results that `renderer` collects.
    pub(crate) fn to(renderer: &'a mut dyn Renderer) -> Self {
        Self { renderer: Box::new(renderer), target: Target::Output, takes_items: true, has_bad: false }
    }

    /// Ends the results. `verdict` is that over all of them. If it does not pass and no result
    /// explains why, the verdict itself becomes a failed result.
    pub fn finish(mut self, verdict: Verdict) -> Result<(), AppError> {
        let explained = if verdict == Verdict::Passed || self.has_bad {
            Ok(())
        } else {
            unexplained(verdict, self.renderer.as_mut())
        };
        explained.and_then(|()| self.renderer.finish()).map_err(|error| self.target.failed(&error))
    }
}

impl View for Rendered<'_> {
    fn begin(&mut self, _: Option<&str>, trees: &mut Trees) -> Result<(), AppError> {
        let facts = archive_facts(trees);
        self.renderer.archive(&facts).map_err(|error| self.target.failed(&error))
    }

    fn tree(&mut self, trees: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        let ResultTree { plugin, item: root, verdict, causes, .. } = &tree;
        let target = &self.target;
        let failed = |error: io::Error| target.failed(&error);
        let mut leaves = Leaves::new(tree.title(), plugin, root, verdict.as_ref(), causes, self.renderer.as_mut())
            .map_err(failed)?;
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
