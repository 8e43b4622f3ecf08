//! The ruling on one item and the check on the whole, as plain data. The names are those of the
//! contract.

use std::fmt;

use serde::{Deserialize, Serialize};

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
    #[must_use]
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
    fn an_outcome_is_written_as_it_is_said() {
        for outcome in [CheckOutcome::Passed, CheckOutcome::Failed, CheckOutcome::Unknown] {
            assert_eq!(serde_json::to_value(outcome).unwrap(), json!(outcome.as_str()));
        }
    }
}
