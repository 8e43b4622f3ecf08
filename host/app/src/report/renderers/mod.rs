//! Renderers: results in the formats of other tools, leaf by leaf (docs/results.md).

mod allure;
mod ctrf;
mod github;
mod junit;
mod leaf;
mod leaves;
mod openreports;
mod renderer;
mod sarif;

use std::io::{self, Write};
use std::path::PathBuf;

use plumbline_core::{Item, Status, Verdict};

pub(crate) use leaf::{Leaf, Outcome};
pub(crate) use leaves::{Leaves, source};
pub(crate) use renderer::{ArchiveFacts, Plugin, Renderer};

/// The formats of other tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// JUnit XML.
    Junit,
    /// The Common Test Report Format: JSON.
    Ctrf,
    /// Files that Allure makes a report of, in this new or empty directory.
    Allure(PathBuf),
    /// Workflow commands of GitHub Actions, which make annotations.
    Github,
    /// SARIF 2.1.0, for checks that point at files.
    Sarif,
    /// Resources of OpenReports: of the cluster, or in this namespace.
    Openreports(Option<String>),
}

/// Returns the renderer of `format`, which writes to `out`, or to a directory of its own.
pub(crate) fn renderer<'a>(format: &Format, out: &'a mut dyn Write) -> io::Result<Box<dyn Renderer + 'a>> {
    Ok(match format {
        Format::Junit => Box::new(junit::Junit::new(out)),
        Format::Ctrf => Box::new(ctrf::Ctrf::new(out)),
        Format::Allure(dir) => Box::new(allure::Allure::new(dir)?),
        Format::Github => Box::new(github::Github::new(out)),
        Format::Sarif => Box::new(sarif::Sarif::new(out)),
        Format::Openreports(namespace) => Box::new(openreports::Openreports::new(out, namespace.clone())),
    })
}

/// Adds a failure for a verdict that no leaf shows, such as that of an archive that cannot be read,
/// so that other tools do not show a success.
pub(crate) fn unexplained(verdict: Verdict, renderer: &mut dyn Renderer) -> io::Result<()> {
    let status = if verdict == Verdict::Failed { Status::Failed } else { Status::Unknown };
    let text = format!("the verdict is \"{verdict}\", and no result in this report failed");
    let key = if verdict == Verdict::Failed { "failure" } else { "error" };
    let item = Item {
        name: format!("verdict: {verdict}"),
        status: status.clone(),
        details: [(key.to_owned(), text.into())].into_iter().collect(),
        ..Item::default()
    };
    let root = Item { name: "plumbline".to_owned(), status, ..Item::default() };
    renderer.plugin(&Plugin { title: &root.name, root: &root, verdict: None, causes: &[] })?;
    renderer.leaf(&Leaf::own(&root.name, std::slice::from_ref(&root), item))
}

#[cfg(test)]
mod tests;
