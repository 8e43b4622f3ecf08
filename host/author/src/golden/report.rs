//! The outcomes of cases, and the difference between expected and actual output.

use std::time::Duration;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::case::CaseKind;

/// The outcome of a case, with its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseReport {
    /// The name of the case.
    pub name: String,
    /// The kind of the case.
    pub kind: CaseKind,
    /// The outcome.
    pub result: CaseResult,
    /// The wall-clock time without compilation. Zero if the case could not be run.
    pub wall: Duration,
    /// The highest memory usage of one call, in bytes. Zero if no call finished.
    pub memory: u64,
}

/// The outcome of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseResult {
    /// The output is as expected.
    Passed,
    /// `expected.yaml` was written.
    Blessed {
        /// Whether there was none before.
        new: bool,
    },
    /// The output is not as expected.
    Failed(Diff),
    /// There is no expected output.
    Missing,
    /// The case could not be run, or the host ended the module. Holds the reason as a sentence.
    Broken(String),
}

impl CaseResult {
    /// Returns the outcome as one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Blessed { .. } => "blessed",
            Self::Failed(_) => "failed",
            Self::Missing => "missing",
            Self::Broken(_) => "broken",
        }
    }

    /// Returns whether the case passed or was blessed.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Passed | Self::Blessed { .. })
    }
}

/// The outcomes of all cases, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// The cases.
    pub cases: Vec<CaseReport>,
}

impl Report {
    /// Returns whether all cases passed or were blessed.
    pub fn is_good(&self) -> bool {
        self.cases.iter().all(|case| case.result.is_good())
    }

    /// Returns the number of cases per outcome, such as `2 passed, 1 failed`.
    pub fn summary(&self) -> String {
        let words = ["passed", "blessed", "failed", "missing", "broken"];
        let counted = words.map(|word| (word, self.cases.iter().filter(|case| case.result.word() == word).count()));
        let said: Vec<String> =
            counted.into_iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!("{n} {word}")).collect();
        if said.is_empty() { "no cases".to_owned() } else { said.join(", ") }
    }

    /// Returns an array with `case`, `kind`, `result`, `seconds`, `memory`, `diff` and `reason` of
    /// each case.
    pub fn to_json(&self) -> Value {
        let case = |case: &CaseReport| {
            let (diff, reason) = match &case.result {
                CaseResult::Failed(diff) => (Some(diff.to_string()), None),
                CaseResult::Broken(reason) => (None, Some(reason.clone())),
                CaseResult::Passed | CaseResult::Blessed { .. } | CaseResult::Missing => (None, None),
            };
            json!({
                "case": case.name,
                "kind": case.kind.word(),
                "result": case.result.word(),
                "seconds": case.wall.as_secs_f64(),
                "memory": case.memory,
                "diff": diff,
                "reason": reason,
            })
        };
        self.cases.iter().map(case).collect()
    }
}

/// Maximum number of lines of a difference.
const MAX_LINES: usize = 200;
/// Maximum number of characters of a line.
const MAX_LINE: usize = 400;
/// Time limit for finding the shortest difference. After that, the difference is still correct, but
/// longer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum size in bytes of outputs that are compared as documents. Larger ones were not written by
/// hand.
const MAX_PARSED: usize = 4 << 20;
/// Number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// A difference, as `diff -u` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// The lines.
    pub lines: Vec<DiffLine>,
    /// The number of further lines that were dropped.
    pub more: usize,
}

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// The mark: `-` for an expected line that is missing, `+` for an unexpected line, a space for
    /// context, `@` for a position.
    pub mark: char,
    /// The line, cut to 400 characters.
    pub text: String,
}

impl std::fmt::Display for Diff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for line in &self.lines {
            match line.mark {
                '@' => writeln!(f, "{}", line.text)?,
                mark => writeln!(f, "{mark}{}", line.text)?,
            }
        }
        if self.more > 0 {
            writeln!(f, "... {} more lines", self.more)?;
        }
        Ok(())
    }
}

/// Returns the difference, or `None` if both outputs mean the same. Comments, quotes, the order of
/// keys and the order of a list of names do not matter.
pub(super) fn compare(expected: &str, actual: &str) -> Option<Diff> {
    if expected == actual || same(expected, actual) { None } else { Some(diff(expected, actual)) }
}

fn same(expected: &str, actual: &str) -> bool {
    if expected.len().max(actual.len()) > MAX_PARSED {
        return false;
    }
    let parse = |text: &str| serde_saphyr::from_str::<Value>(text).ok().map(unordered);
    let (expected, actual) = (parse(expected), parse(actual));
    expected.is_some() && expected == actual
}

/// Sorts a document that is a list of names, because it is a set.
fn unordered(mut value: Value) -> Value {
    if let Value::Array(values) = &mut value
        && values.iter().all(Value::is_string)
    {
        values.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    }
    value
}

fn diff(expected: &str, actual: &str) -> Diff {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(expected, actual);
    let mut found = Diff::default();
    let mut push = |mark: char, text: &str| {
        if found.lines.len() < MAX_LINES {
            let text = text.trim_end_matches(['\r', '\n']).chars().take(MAX_LINE).collect();
            found.lines.push(DiffLine { mark, text });
        } else {
            found.more += 1;
        }
    };
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        push('@', &hunk.header().to_string());
        for change in hunk.iter_changes() {
            let mark = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            push(mark, change.value());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_yaml_is_equal() {
        assert_eq!(compare("# why\nname: 'a'\nstatus: passed\n", "status: passed\nname: a\n"), None);
        assert_eq!(compare("- b\n- a\n", "- a\n- b\n"), None);
        assert!(compare("name: \"1\"\n", "name: 1\n").is_some());
        assert!(compare("name: [\n", "name: a\n").is_some());
    }

    #[test]
    fn a_difference_is_shown_where_it_is_and_bounded() {
        let before: String = (0..50).map(|n| format!("line {n}\n")).collect();
        let shown = compare(&before, &before.replace("line 25\n", "line x\n")).unwrap().to_string();
        assert_eq!(
            shown,
            "@@ -23,7 +23,7 @@\n line 22\n line 23\n line 24\n-line 25\n+line x\n line 26\n line 27\n line 28\n"
        );
        let long: String = (0..5000).map(|n| format!("{n} {}\n", "y".repeat(1000))).collect();
        let diff = compare("x: [\n", &long).unwrap();
        assert_eq!((diff.lines.len(), diff.more), (MAX_LINES, 5002 - MAX_LINES));
        assert!(diff.lines.iter().all(|line| line.text.chars().count() <= MAX_LINE));
    }
}
