//! What a judge says of one item, and of the whole: plain data, with the names that the contract gives them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is said of one item.
///
/// The sandbox lets nothing else through than the contract allows; one that was read from a file may hold anything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ruling {
    /// The class, such as `known-failure`, `flaky`, `regression`: 1 to 64 of the characters `a-z`, `0-9` and `-`.
    pub class: String,
    /// Whether the item counts as a failure.
    pub counts: bool,
    /// Why, as a sentence for a person: at most 4 KiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Where the judge has it from (the entry of a list, an archive, the address of an issue): at most 4 KiB, may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutcome {
    /// The requirement is met.
    Passed,
    /// It is not.
    Failed,
    /// Nobody can say: the check's reason tells why.
    Unknown,
}

impl CheckOutcome {
    /// The outcome as one word.
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

/// One numbered requirement on the results as a whole. Its texts have at most 4 KiB each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What it is referred to by, such as `PODS-001`: 1 to 64 characters, once among the checks of one judge.
    pub id: String,
    /// What is required, in a few words.
    #[serde(default)]
    pub name: String,
    /// How it came out.
    pub outcome: CheckOutcome,
    /// What was wanted, such as `>= 98 %`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub want: String,
    /// What was found, such as `96.4 % (27 of 28)`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub got: String,
    /// What else a person must know; may be empty.
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
