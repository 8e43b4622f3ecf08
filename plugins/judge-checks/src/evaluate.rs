//! Compares what was found with what was wanted.

use plumbline_sdk::Outcome;
use plumbline_sdk::text::shortened;

use crate::quantity::{Kind, Quantity, show};
use crate::want::Want;

/// Maximum size in bytes of a text about a check; the host accepts 4 KiB.
const MAX_TEXT: usize = 3000;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) amount: Amount,
    /// Further information for people; may be empty.
    pub(crate) note: String,
    /// What may be missing, if anything.
    pub(crate) gap: Option<Gap>,
}

/// Evidence that may be missing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gap {
    /// What is missing, and why.
    pub(crate) why: String,
    /// Whether the whole evidence can only have a larger amount, or the same.
    pub(crate) only_adds: bool,
}

/// The amount that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Amount {
    /// A part of a total.
    Part { part: u64, all: u64 },
    /// A measured value.
    Measured(Quantity),
}

/// The outcome of a check, with the reason.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) got: String,
    pub(crate) reason: String,
}

/// Compares `found` with `want`. If `found` is an error, the outcome is unknown, with the error as
/// the reason. With a gap, the outcome is unknown too, unless the whole evidence would fail as well.
pub(crate) fn evaluate(want: &Want, found: Result<Found, String>) -> Answer {
    let unknown =
        |reason: &str| Answer { outcome: Outcome::Unknown, got: String::new(), reason: shortened(reason, MAX_TEXT) };
    let Found { amount, mut note, gap } = match found {
        Ok(found) => found,
        Err(reason) => return unknown(&reason),
    };
    let (value, got) = match amount {
        Amount::Part { part, all } if want.kind() == Kind::Share => {
            if all == 0 {
                return unknown("the total is 0, so there is no share of it");
            }
            // The conversion is exact below 2^53, which no count reaches.
            let value = part as f64 * 100.0 / all as f64;
            (value, format!("{} ({part} of {all})", show(Quantity { value, kind: Kind::Share })))
        }
        Amount::Part { part, all } => (part as f64, format!("{part} of {all}")),
        Amount::Measured(quantity) if quantity.kind == want.kind() => (quantity.value, show(quantity)),
        Amount::Measured(_) => return unknown("the measured value and `want` are of different kinds"),
    };
    if let Some(Gap { why, only_adds }) = gap {
        if !only_adds || want.may_be_met_from(value) {
            return unknown(&why);
        }
        note = format!("{note}; {why}");
    }
    let outcome = if want.is_met_by(value) { Outcome::Passed } else { Outcome::Failed };
    Answer { outcome, got, reason: shortened(&note, MAX_TEXT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(want: &str, amount: Amount) -> (Outcome, String) {
        let answer = evaluate(&Want::parse(want).unwrap(), Ok(Found { amount, note: String::new(), gap: None }));
        (answer.outcome, answer.got)
    }

    #[test]
    fn a_part_is_a_share_or_a_number_as_wanted() {
        let part = |part, all| Amount::Part { part, all };
        assert_eq!(answer(">= 98 %", part(27, 28)), (Outcome::Failed, "96.43 % (27 of 28)".to_owned()));
        assert_eq!(answer(">= 98 %", part(49, 50)), (Outcome::Passed, "98 % (49 of 50)".to_owned()));
        assert_eq!(answer("== 100 %", part(7, 7)).0, Outcome::Passed);
        assert_eq!(answer("<= 2", part(2, 28)), (Outcome::Passed, "2 of 28".to_owned()));
        assert_eq!(answer(">= 0 %", part(0, 0)).0, Outcome::Unknown);
    }

    #[test]
    fn with_a_gap_only_certain_failures_count() {
        let outcome = |want: &str, value: f64, only_adds: bool| {
            let amount = Amount::Measured(Quantity { value, kind: Kind::Number });
            let gap = Some(Gap { why: "a log is missing".to_owned(), only_adds });
            let found = Found { amount, note: "3 lines".to_owned(), gap };
            let answer = evaluate(&Want::parse(want).unwrap(), Ok(found));
            assert!(answer.reason.ends_with("a log is missing"), "{answer:?}");
            answer.outcome
        };
        assert_eq!(outcome("== 0", 3.0, true), Outcome::Failed);
        assert_eq!(outcome("== 0", 3.0, false), Outcome::Unknown);
        assert_eq!(outcome("== 3", 3.0, true), Outcome::Unknown);
        assert_eq!(outcome(">= 5", 3.0, true), Outcome::Unknown);
        assert_eq!(outcome(">= 1", 3.0, true), Outcome::Unknown);
    }

    #[test]
    fn a_missing_value_is_unknown() {
        let answer = evaluate(&Want::parse("== 0").unwrap(), Err("no file".to_owned()));
        assert_eq!(answer, Answer { outcome: Outcome::Unknown, got: String::new(), reason: "no file".to_owned() });
    }
}
