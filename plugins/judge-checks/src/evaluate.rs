//! Compares what was found with what was wanted.

use plumbline_sdk::Outcome;

use crate::problems::cut;
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
/// the reason.
pub(crate) fn evaluate(want: &Want, found: Result<Found, String>) -> Answer {
    let unknown =
        |reason: &str| Answer { outcome: Outcome::Unknown, got: String::new(), reason: cut(reason, MAX_TEXT) };
    let Found { amount, note } = match found {
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
    let outcome = if want.is_met_by(value) { Outcome::Passed } else { Outcome::Failed };
    Answer { outcome, got, reason: cut(&note, MAX_TEXT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(want: &str, amount: Amount) -> (Outcome, String) {
        let answer = evaluate(&Want::parse(want).unwrap(), Ok(Found { amount, note: String::new() }));
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
    fn a_missing_value_is_unknown() {
        let answer = evaluate(&Want::parse("== 0").unwrap(), Err("no file".to_owned()));
        assert_eq!(answer, Answer { outcome: Outcome::Unknown, got: String::new(), reason: "no file".to_owned() });
    }
}
