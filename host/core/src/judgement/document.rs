//! The verdict over one plugin, as it stands in the archive (docs/judging.md).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::judgement::ruling::{Check, Ruling};
use crate::status::Status;

/// What `version` says in the document. Keys are only ever added to one version.
pub const VERDICT_VERSION: u32 = 1;

/// What a plugin comes to once it was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum VerdictStatus {
    /// Nothing counts as a failure, and every check passed.
    Passed,
    /// An item counts, or a check failed.
    Failed,
    /// Nobody can say: a judge failed, a check could not be evaluated, or there is nothing that was judged.
    #[default]
    Unknown,
}

impl VerdictStatus {
    /// The status as one word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

impl From<String> for VerdictStatus {
    /// A word that is not known says nothing good.
    fn from(text: String) -> Self {
        match text.as_str() {
            "passed" => Self::Passed,
            "failed" => Self::Failed,
            _ => Self::Unknown,
        }
    }
}

impl From<VerdictStatus> for String {
    fn from(status: VerdictStatus) -> String {
        status.as_str().to_owned()
    }
}

impl fmt::Display for VerdictStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One item, and what was said of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RuledItem {
    /// The result set: the node's name, or `global`; empty for what a summarizer added.
    #[serde(default)]
    pub set: String,
    /// The names from the root of the result set to the item, which is the last.
    #[serde(default)]
    pub path: Vec<String>,
    /// How the item ended.
    #[serde(default)]
    pub status: Status,
    /// What was said of it.
    #[serde(flatten)]
    pub ruling: Ruling,
    /// Who said it; empty where nobody did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub judge: String,
}

impl RuledItem {
    /// The item's own name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.last().map_or(self.set.as_str(), String::as_str)
    }
}

/// A check, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedCheck {
    /// The check.
    #[serde(flatten)]
    pub check: Check,
    /// Who reported it.
    #[serde(default)]
    pub judge: String,
}

/// A judge of the chain, and how it fared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JudgeRecord {
    /// The name that the definition calls it by.
    pub judge: String,
    /// Digest of the module: `sha256:` and hexadecimal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Why it could not finish. What it said until then counts all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How many items have a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassCount {
    /// Items of this class.
    pub items: u64,
    /// Those of them that count as failures.
    pub counting: u64,
    /// Those of them that failed or timed out.
    pub failures: u64,
}

/// The verdict over one plugin: `plumbline_verdict.json`. Reading is lenient: keys may be missing, unknown ones are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginVerdict {
    /// [`VERDICT_VERSION`].
    pub version: u32,
    /// The plugin.
    pub plugin: String,
    /// What it comes to.
    pub status: VerdictStatus,
    /// Leaves that failed or timed out, whatever was said of them.
    pub failures: u64,
    /// Those of them that do not count.
    pub excused: u64,
    /// Leaves that count as failures, whatever their status.
    pub counting: u64,
    /// Leaves of unknown status of which nothing was said.
    pub unknown: u64,
    /// The judges in their order.
    pub chain: Vec<JudgeRecord>,
    /// How many items have which class.
    pub classes: BTreeMap<String, ClassCount>,
    /// Every leaf that failed, timed out or was ruled on, in the order of the tree.
    pub items: Vec<RuledItem>,
    /// The checks, in the order in which they were reported.
    pub checks: Vec<JudgedCheck>,
    /// Leaves that belong to `items` and are not there, because there are too many. They are counted everywhere else.
    pub left_out: u64,
}
