//! Renderers: results in the formats of other tools, leaf by leaf (docs/results.md).

mod allure;
mod ctrf;
mod github;
mod junit;
mod leaf;
mod leaves;
mod openreports;
mod sarif;

use std::io::{self, Write};
use std::path::PathBuf;

use jiff::Timestamp;
use plumbline_core::judgement::PluginVerdict;
use plumbline_core::{Item, Status, Verdict};
use serde_json::Value;

use crate::causes::Cause;
use crate::report::text::JsonText;

pub(crate) use leaf::{Leaf, Outcome};
pub(crate) use leaves::{Leaves, source};

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

/// This program, as the tool that wrote a report.
const TOOL: &str = "Plumbline";

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Writes results in one format. Every function writes what it can, so that memory does not grow
/// with the number of leaves.
pub(crate) trait Renderer {
    /// Starts the results of an archive.
    fn archive(&mut self, _facts: &ArchiveFacts) -> io::Result<()> {
        Ok(())
    }

    /// Starts a plugin.
    fn plugin(&mut self, _plugin: &Plugin<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Adds a leaf of the plugin.
    fn leaf(&mut self, leaf: &Leaf<'_>) -> io::Result<()>;

    /// Ends the results.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A plugin whose leaves follow.
pub(crate) struct Plugin<'a> {
    /// The name, after that of the archive if there are several.
    pub(crate) title: &'a str,
    /// The root of the tree. Its children may be missing.
    pub(crate) root: &'a Item,
    pub(crate) verdict: Option<&'a PluginVerdict>,
    pub(crate) causes: &'a [Cause],
}

/// What an archive says about its run.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArchiveFacts {
    /// The file name of the archive, without its directory.
    pub(crate) file: String,
    /// The ID of the run.
    pub(crate) run: Option<String>,
    /// The tool that made the archive, and its version.
    pub(crate) tool: Option<(&'static str, String)>,
    /// The UID of the cluster's namespace `kube-system`.
    pub(crate) cluster: Option<String>,
    /// The version of Kubernetes.
    pub(crate) kubernetes: Option<String>,
    /// When the run started.
    pub(crate) started: Option<Timestamp>,
    /// When the run ended.
    pub(crate) ended: Option<Timestamp>,
}

/// Writes `value` as JSON on one line. Members that are null, and empty lists and objects, are left
/// out.
fn write_json(out: &mut dyn Write, value: Value) -> io::Result<()> {
    serde_json::to_writer(JsonText(out), &known(value)).map_err(io::Error::from)
}

/// The value without members that are null, empty lists or empty objects.
fn known(value: Value) -> Value {
    let is_known = |value: &Value| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(key, value)| (key, known(value)));
            Value::Object(members.filter(|(_, value)| is_known(value)).collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(known).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
