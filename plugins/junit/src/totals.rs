//! Compares the totals in a report's attributes with its test cases.

use plumbline_sdk::text::cut;

use crate::tag::{Tag, same_in_any_case as same};
use crate::text::value;

/// Maximum number of bytes of an attribute that are read as a number.
const MAX_NUMBER: usize = 1_024;

/// Maximum number of bytes of an attribute in a reason.
const MAX_SHOWN: usize = 60;

/// The totals of a suite, or of the whole report.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// The attribute `tests`.
    pub(crate) tests: Option<u64>,
    /// The sum of `failures` and `errors`; `None` without a non-negative number.
    failures: Option<u64>,
    /// Why `failures` or `errors` cannot be read.
    pub(crate) invalid: Option<String>,
    listed: Listed,
}

/// The test cases that were read, including those of inner suites.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Listed {
    /// The number of test cases.
    pub(crate) cases: u64,
    /// The number of tests. Of an inner suite with the attribute `tests`, it is the value of that.
    pub(crate) tests: u64,
    /// The number of failed test cases.
    pub(crate) failed: u64,
    /// The number of failures in failed test cases. Some tools count these instead of test cases:
    /// Catch2 writes one for each failed assertion, and pytest one for a failed teardown.
    pub(crate) failures: u64,
    /// The number of further attempts of tests that no inner suite has counted.
    pub(crate) retries: u64,
}

/// A value of an attribute.
#[derive(Debug, PartialEq)]
enum Total {
    Number(u64),
    /// No value, or a negative one, which some tools write for a total that they do not know.
    Unstated,
    Invalid,
}

impl Totals {
    /// Reads the totals in the tag of a suite. `tests` may be anything: a suite without a test case
    /// does not pass anyway. Malformed attributes are skipped.
    pub(crate) fn of(tag: &Tag<'_>) -> Self {
        let mut totals = Self::default();
        for (key, raw) in tag.attributes() {
            let name = match key {
                key if same(key, b"tests") => {
                    if let Total::Number(number) = Total::read(&value(&raw, MAX_NUMBER)) {
                        totals.tests = Some(number);
                    }
                    continue;
                }
                key if same(key, b"failures") => "failures",
                key if same(key, b"errors") => "errors",
                _ => continue,
            };
            let text = value(&raw, MAX_NUMBER);
            match Total::read(&text) {
                Total::Number(number) => {
                    totals.failures = Some(totals.failures.unwrap_or_default().saturating_add(number));
                }
                Total::Unstated => {}
                Total::Invalid => {
                    let shown = cut(text.trim(), MAX_SHOWN);
                    totals.invalid = Some(format!("the attribute `{name}` is not a number: `{shown}`"));
                }
            }
        }
        totals
    }

    /// Adds test cases.
    pub(crate) fn add(&mut self, listed: Listed) {
        let own = &mut self.listed;
        own.cases = own.cases.saturating_add(listed.cases);
        own.tests = own.tests.saturating_add(listed.tests);
        own.failed = own.failed.saturating_add(listed.failed);
        own.failures = own.failures.saturating_add(listed.failures);
        own.retries = own.retries.saturating_add(listed.retries);
    }

    /// Returns whether any test cases were read.
    pub(crate) fn has_cases(&self) -> bool {
        self.listed.cases > 0
    }

    /// Returns a name and a sentence if the totals are higher than the test cases show. `self` then
    /// counts as complete, so that the outer suite does not report the same again.
    pub(crate) fn missing(&mut self) -> Option<(&'static str, String)> {
        let Listed { cases, failed, failures, .. } = self.listed;
        let stated = self.failures.unwrap_or_default();
        let listed = failed.max(failures.saturating_add(self.counted_retries()));
        if stated > listed {
            self.listed.failed = stated;
            self.listed.failures = stated;
            return Some((
                "missing failures",
                format!("the totals state {stated} failures and errors, but the test cases show {listed}"),
            ));
        }
        let tests = self.tests.unwrap_or_default();
        if tests > 0 && cases == 0 {
            self.listed.cases = tests;
            return Some(("missing test cases", format!("the totals state {tests} tests, but no test case is listed")));
        }
        None
    }

    /// Returns the number of further attempts that the totals count as failures. Surefire with
    /// JUnit 4, and Gradle with `mergeReruns`, count each attempt in both `tests` and `failures`.
    /// Others, such as nextest, count test cases. Then an attempt must not cover for a missing
    /// failure.
    fn counted_retries(&self) -> u64 {
        let further = self.tests.unwrap_or_default().saturating_sub(self.listed.tests);
        if further <= self.listed.retries { further } else { 0 }
    }

    /// Returns whether more test cases failed than the totals say. Some tools never update these
    /// attributes.
    pub(crate) fn understate(&self) -> bool {
        self.failures.is_some_and(|stated| stated < self.listed.failed)
    }

    /// Returns the counts for the outer suite.
    pub(crate) fn listed(&self) -> Listed {
        let Some(tests) = self.tests else { return self.listed };
        let failures = self.listed.failures.saturating_add(self.counted_retries());
        Listed { tests, failures, retries: 0, ..self.listed }
    }
}

impl Total {
    /// Parses a count: digits, possibly with separators or an empty fraction from tools that format
    /// numbers for people. A number without end counts as a very large one.
    fn read(text: &str) -> Self {
        let text = text.trim();
        let whole = text.strip_suffix(".0").unwrap_or(text);
        let digits: String = whole.chars().filter(|c| !matches!(c, ',' | '.' | '_' | '\'' | ' ' | '\u{a0}')).collect();
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.strip_prefix('-') {
            _ if text.is_empty() => Self::Unstated,
            Some(digits) if is_number(digits) => Self::Unstated,
            None if is_number(&digits) => Self::Number(digits.parse().unwrap_or(u64::MAX)),
            _ => Self::Invalid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_tools_write_them() {
        for (text, want) in [
            ("0", Total::Number(0)),
            ("7", Total::Number(7)),
            (" 7 ", Total::Number(7)),
            ("7.0", Total::Number(7)),
            ("1,204", Total::Number(1204)),
            ("1.204", Total::Number(1204)),
            ("1 204", Total::Number(1204)),
            ("99999999999999999999", Total::Number(u64::MAX)),
            ("", Total::Unstated),
            (" ", Total::Unstated),
            ("-1", Total::Unstated),
            ("many", Total::Invalid),
            ("1 failed", Total::Invalid),
            ("1e3", Total::Invalid),
            ("-", Total::Invalid),
            (".", Total::Invalid),
            ("undefined", Total::Invalid),
        ] {
            assert_eq!(Total::read(text), want, "{text}");
        }
    }
}
