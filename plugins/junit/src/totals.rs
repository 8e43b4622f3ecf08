//! The totals that a report states in attributes, compared with the test cases that it lists.

use crate::tag::{Tag, same};

/// The totals of a suite, or of the whole report.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// `tests`.
    tests: u64,
    /// `failures` and `errors` together; `None` without a number above or at 0.
    failures: Option<u64>,
    listed: Listed,
}

/// Test cases that were read, those of inner suites included.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Listed {
    /// Test cases.
    pub(crate) cases: u64,
    /// Of these, the ones that failed.
    pub(crate) failed: u64,
    /// Elements that report a failed attempt. Some tools count these and not the test cases: GoogleTest and Catch2 write
    /// one for each failed assertion.
    pub(crate) attempts: u64,
}

impl Totals {
    /// The totals in the tag of a suite. Values that are not numbers do not count.
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

    /// Counts test cases.
    pub(crate) fn add(&mut self, listed: Listed) {
        let own = &mut self.listed;
        own.cases = own.cases.saturating_add(listed.cases);
        own.failed = own.failed.saturating_add(listed.failed);
        own.attempts = own.attempts.saturating_add(listed.attempts);
    }

    /// A name and a sentence for what the totals state and no test case shows, if there is any. `self` then counts as complete,
    /// so that the suite around this one does not report it again.
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

    /// Whether more test cases failed than the totals state. Some tools never update these attributes.
    pub(crate) fn understate(&self) -> bool {
        self.failures.is_some_and(|stated| stated < self.listed.failed)
    }

    /// What counts for the suite around this one.
    pub(crate) fn listed(&self) -> Listed {
        self.listed
    }
}

/// A count: digits, with separators or an empty fraction where a tool formats numbers for people.
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
