//! Compares the totals in a report's attributes with its test cases.

use crate::tag::{Tag, same};

/// The totals of a suite, or of the whole report.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// The attribute `tests`.
    tests: u64,
    /// The sum of `failures` and `errors`; `None` without a non-negative number.
    failures: Option<u64>,
    listed: Listed,
}

/// The test cases that were read, including those of inner suites.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Listed {
    /// The number of test cases.
    pub(crate) cases: u64,
    /// The number of failed test cases.
    pub(crate) failed: u64,
    /// The number of elements that report a failed attempt. Some tools count these instead of test
    /// cases: GoogleTest and Catch2 write one for each failed assertion.
    pub(crate) attempts: u64,
}

impl Totals {
    /// Reads the totals in the tag of a suite. Values that are not numbers are ignored.
    pub(crate) fn of(tag: &Tag<'_>) -> Self {
        let mut totals = Self::default();
        for (key, raw) in tag.attributes() {
            match key {
                key if same(key, b"tests") => totals.tests = number(&raw).unwrap_or_default(),
                key if same(key, b"failures") || same(key, b"errors") => {
                    let sum = |number: u64| totals.failures.unwrap_or_default().saturating_add(number);
                    totals.failures = number(&raw).map(sum).or(totals.failures);
                }
                _ => {}
            }
        }
        totals
    }

    /// Adds test cases.
    pub(crate) fn add(&mut self, listed: Listed) {
        let own = &mut self.listed;
        own.cases = own.cases.saturating_add(listed.cases);
        own.failed = own.failed.saturating_add(listed.failed);
        own.attempts = own.attempts.saturating_add(listed.attempts);
    }

    /// Returns a name and a sentence if the totals are higher than the test cases show. `self` then
    /// counts as complete, so that the outer suite does not report the same again.
    pub(crate) fn missing(&mut self) -> Option<(&'static str, String)> {
        let Listed { cases, failed, attempts } = self.listed;
        let (stated, listed) = (self.failures.unwrap_or_default(), failed.max(attempts));
        if stated > listed {
            self.listed.failed = stated;
            return Some((
                "missing failures",
                format!("the totals state {stated} failures and errors, but the test cases show {listed}"),
            ));
        }
        if self.tests > 0 && cases == 0 {
            self.listed.cases = self.tests;
            return Some((
                "missing test cases",
                format!("the totals state {} tests, but no test case is listed", self.tests),
            ));
        }
        None
    }

    /// Returns whether more test cases failed than the totals say. Some tools never update these
    /// attributes.
    pub(crate) fn understate(&self) -> bool {
        self.failures.is_some_and(|stated| stated < self.listed.failed)
    }

    /// Returns the counts for the outer suite.
    pub(crate) fn listed(&self) -> Listed {
        self.listed
    }
}

/// Parses a count: digits, possibly with separators or an empty fraction from tools that format
/// numbers for people.
fn number(raw: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(raw).ok()?.trim();
    let whole = text.strip_suffix(".0").unwrap_or(text);
    let digits: String = whole.chars().filter(|c| !matches!(c, ',' | '.' | '_' | '\'' | ' ' | '\u{a0}')).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_tools_write_them() {
        for (raw, want) in [
            ("0", Some(0)),
            ("7", Some(7)),
            (" 7 ", Some(7)),
            ("7.0", Some(7)),
            ("1,204", Some(1204)),
            ("1.204", Some(1204)),
            ("1 204", Some(1204)),
            ("", None),
            ("many", None),
            ("-1", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(number(raw.as_bytes()), want, "{raw}");
        }
    }
}
