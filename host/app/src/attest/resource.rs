//! The things that a statement refers to: the cluster, suites, images and modules.

use std::collections::BTreeMap;

use plumbline_core::Digest;
use plumbline_core::text::{excerpt, one_line};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most characters of a name.
pub(super) const MAX_NAME: usize = 300;

/// What precedes the name of a plugin in the name of a resource: the suite that it ran.
const SUITE_OF: &str = "suite of ";
/// The annotation of a suite that ran only the failed tests of another run.
const RERUN: &str = "rerun";
const TRUE: &str = "true";

/// A thing that a statement refers to (in-toto, `ResourceDescriptor`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceDescriptor {
    /// What it is.
    pub name: String,
    /// Where it is, or which one it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Its digests, by algorithm, in hexadecimal.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub digest: BTreeMap<String, String>,
    /// More about it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, Value>,
}

impl ResourceDescriptor {
    pub(super) fn new(name: &str) -> Self {
        Self { name: excerpt(name, MAX_NAME), ..Self::default() }
    }

    /// Creates the descriptor of the suite that `plugin` ran. `rerun` says whether it ran only the
    /// failed tests of another run.
    pub(super) fn suite(plugin: &str, rerun: bool) -> Self {
        Self::new(&format!("{SUITE_OF}{plugin}")).annotation(RERUN, rerun.then_some(TRUE))
    }

    /// The plugin whose suite this is, if it ran only the failed tests of another run.
    pub(super) fn rerun_of(&self) -> Option<&str> {
        let is_rerun = self.annotations.get(RERUN).and_then(Value::as_str) == Some(TRUE);
        self.name.strip_prefix(SUITE_OF).filter(|_| is_rerun)
    }

    pub(super) fn uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = Some(uri.into());
        self
    }

    /// Adds a digest `sha256:…`. Another text is ignored.
    pub(super) fn digest(mut self, digest: Option<&str>) -> Self {
        if let Some(digest) = digest.and_then(|text| text.parse::<Digest>().ok()) {
            self.digest.insert("sha256".to_owned(), digest.hex());
        }
        self
    }

    pub(super) fn annotation(mut self, key: &str, value: Option<&str>) -> Self {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.annotations.insert(key.to_owned(), excerpt(value, MAX_NAME).into());
        }
        self
    }

    /// Adds the names of the options that the user has set. The list is never cut, because each
    /// option may select fewer tests. A definition has at most 200 of them.
    pub(super) fn options(mut self, names: &[impl AsRef<str>]) -> Self {
        if !names.is_empty() {
            let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
            self.annotations.insert("set".to_owned(), one_line(&names.join(", ")).into());
        }
        self
    }
}
