//! What all renderers share: how they get results, and how they write JSON.

use std::io::{self, Write};

use jiff::Timestamp;
use plumbline_core::Item;
use plumbline_core::judgement::PluginVerdict;
use serde_json::Value;

use crate::causes::Cause;
use crate::report::renderers::leaf::Leaf;
use crate::report::text::JsonText;

/// This program, as the tool that wrote a report.
pub(super) const TOOL: &str = "Plumbline";

/// The version of this program.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

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
pub(super) fn write_json(out: &mut dyn Write, value: Value) -> io::Result<()> {
    serde_json::to_writer(JsonText(out), &known(value)).map_err(io::Error::from)
}

/// The value without members that are null, empty lists or empty objects.
pub(super) fn known(value: Value) -> Value {
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
