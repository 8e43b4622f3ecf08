//! The verdict on one plugin, as stored in the archive (docs/judges.md). The names of rulings and checks
//! are those of the contract.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::status::Status;

/// The value of `version` in the document. A version only ever gains keys.
pub const VERDICT_VERSION: u32 = 1;

/// The verdict on a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictStatus {
    /// No item counts as a failure, and every check passed.
    Passed,
    /// An item counts as a failure, or a check failed.
    Failed,
    /// A judge failed, a check could not be evaluated, or there was nothing to judge. Also any
    /// other word.
    #[default]
    #[serde(other)]
    Unknown,
}

impl VerdictStatus {
    /// Returns the status as one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for VerdictStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One item and its ruling.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RuledItem {
    /// The result set: the name of a node, or `global`. Empty for items that a summarizer added.
    #[serde(default)]
    pub set: String,
    /// The names from the root of the result set down to the item itself.
    #[serde(default)]
    pub path: Vec<String>,
    /// The status of the item.
    #[serde(default)]
    pub status: Status,
    /// The ruling on the item.
    #[serde(flatten)]
    pub ruling: Ruling,
    /// The judge that ruled. Empty if none did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub judge: String,
}

impl RuledItem {
    /// Returns the name of the item.
    pub fn name(&self) -> &str {
        self.path.last().map_or(self.set.as_str(), String::as_str)
    }
}

/// A check and the judge that reported it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedCheck {
    /// The check.
    #[serde(flatten)]
    pub check: Check,
    /// The judge that reported the check.
    #[serde(default)]
    pub judge: String,
}

/// A judge of the chain and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JudgeRecord {
    /// The name of the judge in the definition.
    pub judge: String,
    /// The digest of the module: `sha256:` and hexadecimal digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Why the judge did not finish. Its rulings until then still apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The number of items of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassCount {
    /// The number of items of this class.
    pub items: u64,
    /// The number of these items that count as failures.
    pub counting: u64,
    /// The number of these items that failed or timed out.
    pub failures: u64,
}

/// The verdict on one plugin: `plumbline_verdict.json`. Parsing is lenient: keys may be missing,
/// and unknown ones are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginVerdict {
    /// The version of the document, see [`VERDICT_VERSION`].
    pub version: u32,
    /// The name of the plugin.
    pub plugin: String,
    /// The verdict.
    pub status: VerdictStatus,
    /// The number of leaves that failed or timed out, whatever the rulings.
    pub failures: u64,
    /// The number of these leaves that do not count.
    pub excused: u64,
    /// The number of leaves that count as failures, whatever their status.
    pub counting: u64,
    /// The number of leaves with unknown status and without a ruling.
    pub unknown: u64,
    /// The judges in order.
    pub chain: Vec<JudgeRecord>,
    /// The number of items by class.
    pub classes: BTreeMap<String, ClassCount>,
    /// Every leaf that failed, timed out or has a ruling, in the order of the tree.
    pub items: Vec<RuledItem>,
    /// The checks, in the order in which they were reported.
    pub checks: Vec<JudgedCheck>,
    /// The number of leaves left out of `items` because there are too many. All other counts
    /// include them.
    pub left_out: u64,
}

/// The ruling on one item.
///
/// The sandbox rejects rulings that the contract does not allow. A ruling that is read from a file
/// may hold anything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ruling {
    /// The class, such as `known-failure`, `flaky`, `regression`: 1 to 64 of the characters `a-z`,
    /// `0-9` and `-`.
    pub class: String,
    /// Whether the item counts as a failure.
    pub counts: bool,
    /// The reason, as a sentence of at most 4 KiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The source of the ruling, such as a list entry, an archive, or the URL of an issue. At most
    /// 4 KiB, may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutcome {
    /// The requirement is met.
    Passed,
    /// The requirement is not met.
    Failed,
    /// The check could not be evaluated. Its reason says why.
    Unknown,
}

impl CheckOutcome {
    /// Returns the outcome as one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for CheckOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One numbered requirement on the results as a whole. Each string has at most 4 KiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The ID, such as `PODS-001`: 1 to 64 characters, unique among the checks of one judge.
    pub id: String,
    /// A short description of the requirement.
    #[serde(default)]
    pub name: String,
    /// The outcome.
    pub outcome: CheckOutcome,
    /// The required value, such as `>= 98 %`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub want: String,
    /// The actual value, such as `96.4 % (27 of 28)`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub got: String,
    /// Further information for the user. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_that_are_empty_are_left_out_and_need_not_be_there() {
        let ruling = Ruling { class: "flaky".into(), ..Ruling::default() };
        let value = serde_json::to_value(&ruling).unwrap();
        assert_eq!(value, json!({"class": "flaky", "counts": false}));
        assert_eq!(serde_json::from_value::<Ruling>(value).unwrap(), ruling);
        let value = json!({"id": "PODS-001", "name": "pods are healthy", "outcome": "failed", "got": "1 of 2"});
        let check: Check = serde_json::from_value(value.clone()).unwrap();
        assert_eq!((check.outcome, check.want.as_str()), (CheckOutcome::Failed, ""));
        assert_eq!(serde_json::to_value(check).unwrap(), value);
    }

    #[test]
    fn outcomes_are_serialized_by_name() {
        for outcome in [CheckOutcome::Passed, CheckOutcome::Failed, CheckOutcome::Unknown] {
            assert_eq!(serde_json::to_value(outcome).unwrap(), json!(outcome.as_str()));
        }
    }
}
