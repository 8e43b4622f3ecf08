//! What the process that runs a check gets: the check, its rights, and its limits. A dispatcher
//! writes it, and `plumbline run-check` reads it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::definition::Definition;
use crate::digest::Digest;
use crate::limits::ModuleLimits;
use crate::rights::Rights;

/// The environment variable with the document.
pub const CHECK_VARIABLE: &str = "PLUMBLINE_CHECK";

/// The maximum size of the document: 100 KiB. Linux allows 128 KiB for an environment variable,
/// including its name.
const MAX_BYTES: usize = 100 << 10;

/// The seconds that a check may run if neither its definition nor the run sets a limit: 7 days.
pub const MAX_CHECK_SECONDS: u64 = 7 * 24 * 3600;

/// Compiled code of a check, which another process made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CompiledCode {
    /// The name of the file among the chunks.
    pub file: String,
    /// The digest. The process runs no other bytes.
    pub digest: Digest,
    /// The platform for which it was compiled, such as `x86_64-unknown-linux-gnu`.
    pub target: String,
}

/// A check to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CheckRun {
    /// The file with the component, or the directory with its chunks (docs/cluster.md).
    pub component: PathBuf,
    /// The digest of the component, if it travelled through the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The compiled code of the component, if there is any next to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CompiledCode>,
    /// The name of the plugin.
    pub plugin: String,
    /// The driver, as in a definition.
    pub driver: String,
    /// The result format.
    pub format: String,
    /// The number of results that the run expects from the plugin.
    pub expected_results: u32,
    /// The options of the check.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
    /// What the check may read.
    #[serde(default, skip_serializing_if = "Rights::is_empty")]
    pub grants: Rights,
    /// The limits of the check. Its wall-clock time is its deadline.
    pub limits: ModuleLimits,
    /// The directory below which the node's directories are mounted. Empty on the node itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub root: String,
    /// Whether the check may end without an item.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_empty: bool,
    /// Whether the process keeps running after the check, because its container would be restarted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stay: bool,
}

/// Error of a check whose document does not fit into an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the options and rights of the check take {bytes} bytes, more than the limit of {MAX_BYTES}: shorten `plumbline.options`"
)]
pub struct CheckRunTooLarge {
    /// The size of the document in bytes.
    pub bytes: usize,
}

impl CheckRun {
    /// Creates the document for the check of `definition` on this machine. The check is in the file
    /// or directory `component`.
    pub fn new(definition: &Definition, component: PathBuf, expected_results: usize, limits: ModuleLimits) -> Self {
        Self {
            component,
            digest: None,
            code: None,
            plugin: definition.name.to_string(),
            driver: definition.driver.as_str().to_owned(),
            format: definition.result_format.clone().unwrap_or_default(),
            expected_results: u32::try_from(expected_results).unwrap_or(u32::MAX),
            options: definition.plumbline.options.clone(),
            grants: definition.plumbline.grants.clone(),
            limits,
            root: String::new(),
            allow_empty: definition.plumbline.allow_empty,
            stay: false,
        }
    }

    /// Returns the value of [`CHECK_VARIABLE`].
    pub fn to_variable(&self) -> Result<String, CheckRunTooLarge> {
        let text = serde_json::json!(self).to_string();
        match text.len() {
            0..=MAX_BYTES => Ok(text),
            bytes => Err(CheckRunTooLarge { bytes }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_read_back_and_has_a_limit() {
        let yaml = "sonobuoy-config: {driver: DaemonSet, plugin-name: p}\nplumbline: {component: c.wasm, options: {a: 1}, grants: {files: [/proc]}}\n";
        let definition = Definition::parse(yaml).unwrap().definition;
        let mut run = CheckRun::new(&definition, "/check".into(), 3, ModuleLimits::default());
        run.stay = true;
        let code = CompiledCode { file: "c.code".to_owned(), digest: Digest::of(b"code"), target: "x86_64".to_owned() };
        run.code = Some(code);
        assert_eq!(serde_json::from_str::<CheckRun>(&run.to_variable().unwrap()).unwrap(), run);
        run.options.insert("long".to_owned(), "x".repeat(MAX_BYTES).into());
        assert!(run.to_variable().unwrap_err().to_string().contains("shorten `plumbline.options`"));
    }
}
