//! The condition of a check: an operator and a value.

use crate::quantity::{Kind, Quantity, quantity};

/// The operators, longer ones first.
const OPERATORS: [(&str, Operator); 6] = [
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    ("==", Operator::Equal),
    ("!=", Operator::Other),
    (">", Operator::More),
    ("<", Operator::Less),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    AtLeast,
    AtMost,
    Equal,
    Other,
    More,
    Less,
}

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Want {
    /// The text as written.
    pub(crate) text: String,
    operator: Operator,
    value: Quantity,
}

impl Want {
    /// Parses a condition. The error is a fragment that follows the place of the check.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let found = OPERATORS.iter().find_map(|(name, operator)| Some((*operator, text.strip_prefix(name)?)));
        let Some((operator, rest)) = found else {
            return Err(format!("`want` must begin with one of >=, <=, >, <, ==, !=, as in `>= 98 %`: `{text}`"));
        };
        match quantity(rest) {
            Some(value) => Ok(Self { text: text.to_owned(), operator, value }),
            None => Err(format!(
                "`want` must end with a number, a share (`98 %`), a duration (`1m30s`) or a size (`64 MiB`): `{text}`"
            )),
        }
    }

    /// Returns the kind of its value.
    pub(crate) fn kind(&self) -> Kind {
        self.value.kind
    }

    /// Returns whether `value`, which has the same kind, meets the condition.
    #[expect(clippy::float_cmp, reason = "counts are whole, and `== 100 %` means all of them")]
    pub(crate) fn is_met_by(&self, value: f64) -> bool {
        let want = self.value.value;
        match self.operator {
            Operator::AtLeast => value >= want,
            Operator::AtMost => value <= want,
            Operator::Equal => value == want,
            Operator::Other => value != want,
            Operator::More => value > want,
            Operator::Less => value < want,
        }
    }

    /// Returns whether `value`, which has the same kind, or a larger one may meet the condition.
    pub(crate) fn may_be_met_from(&self, value: f64) -> bool {
        match self.operator {
            Operator::AtMost | Operator::Equal => value <= self.value.value,
            Operator::Less => value < self.value.value,
            Operator::AtLeast | Operator::More | Operator::Other => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_mean_what_they_say() {
        for (want, met, missed) in [
            (">= 98 %", 98.0, 97.99),
            ("<=10m", 600.0, 600.1),
            ("== 0", 0.0, 1.0),
            ("!= 0", 1.0, 0.0),
            ("> 3", 4.0, 3.0),
            ("< 100ms", 0.0999, 0.1),
        ] {
            let parsed = Want::parse(want).unwrap();
            assert!(parsed.is_met_by(met) && !parsed.is_met_by(missed), "{want}");
            assert_eq!(parsed.text, want);
        }
        assert_eq!(Want::parse("< 100ms").unwrap().kind(), Kind::Seconds);
    }

    #[test]
    fn a_larger_value_repairs_only_what_has_no_upper_limit() {
        for (want, value, may) in [
            ("== 2", 1.0, true),
            ("== 2", 2.0, true),
            ("== 2", 3.0, false),
            ("<= 2", 3.0, false),
            ("< 2", 2.0, false),
            ("< 2", 1.0, true),
            (">= 2", 1.0, true),
            ("> 2", 3.0, true),
            ("!= 2", 2.0, true),
        ] {
            assert_eq!(Want::parse(want).unwrap().may_be_met_from(value), may, "{want} {value}");
        }
    }

    #[test]
    fn invalid_conditions_are_rejected() {
        for text in ["98 %", "= 5", "=> 5", "", "about 5"] {
            assert!(Want::parse(text).unwrap_err().contains("must begin with"), "{text}");
        }
        for text in [">= ", "== zero", "<= 5 parsecs", ">= -1", ">>5"] {
            assert!(Want::parse(text).unwrap_err().contains("must end with"), "{text}");
        }
    }
}
