//! Counts tests in the output of Ginkgo 1 and 2.
//!
//! A finished test is a mark at the start of a line or directly after other marks: `•` ran, `↺`
//! passed after a retry, `S` skipped, `P` pending. Marks come one by one (`SS•S`), and the line may
//! stay unfinished while the next test runs. A test that failed or has output gets a line of its
//! own, with more text after the mark:
//!
//! ```text
//! • [4.567 seconds]                    S [SKIPPED] [0.001 seconds]
//! • [FAILED] [12.3 seconds]            ↺ [FLAKEY TEST - TOOK 2 ATTEMPTS TO PASS] [3.000 seconds]
//! • Failure [60.3 seconds]             •! Panic [1.2 seconds]             (version 1)
//! ```
//!
//! The name of a failed test is on the next line, and the reason follows, indented by two spaces:
//!
//! ```text
//! [sig-a] things [It] fails [Conformance]
//! /src/things/a_test.go:21
//!
//!   [FAILED] it is bad
//!   In [It] at: /src/things/a_test.go:21 @ 11/22/26 19:29:29.951
//! ```
//!
//! Tests also print text of their own, which may contain bullets. Ginkgo indents it, except what a
//! test writes to the standard output or error of its process. Therefore only text in Ginkgo's
//! format counts as a mark, and the final summary takes precedence.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use plumbline_core::failures::first_reason;
use plumbline_core::progress::MAX_REASON;
use plumbline_core::text::excerpt;
use regex::bytes::Regex;

use super::patterns::{self, Counter, Counts, Escapes};

/// Maximum number of names of failed tests. More are of no use.
const MAX_NAMES: usize = 1_000;

/// Maximum size of a name in bytes. The rest is cut off.
const MAX_NAME: usize = 500;

/// Maximum size of a line's text that is examined, without marks: 4 KiB.
const MAX_TEXT: usize = 4 << 10;

/// Maximum number of lines of a failure that are examined for its reason.
const MAX_REASON_LINES: usize = 10;

/// How a failure starts, after two spaces.
const FAILURES: [&str; 6] = ["[FAILED] ", "[PANICKED] ", "[PANICKED!] ", "[TIMEDOUT] ", "[INTERRUPTED] ", "[ABORTED] "];

const RAN: &[u8] = "•".as_bytes();
const RETRIED: &[u8] = "↺".as_bytes();

/// The patterns are constants, so they compile. A test compiles all of them.
macro_rules! pattern {
    ($name:ident, $pattern:expr) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($pattern).ok());
    };
}

// The start of a suite, with the number of tests that will run.
pattern!(START, r"^Will run (\d+) of \d+ specs");
// The start of a suite with `--succinct`, whose marks follow on the same line.
pattern!(SUCCINCT, r"^\[\d+\] .* - (\d+)/\d+ specs (?:- \d+ procs )?$");
// A test's line after text that the test did not end with a newline.
pattern!(BEHIND_TEXT, r"\S(?:•|↺)((?: \[[A-Z][^\]]*\][^\[]*)?) \[[\d.]+ seconds\]\s*$");
// The text after the mark of a failed test.
pattern!(FAILED, r"^(?: \[(?:FAILED|PANICKED!?|TIMEDOUT|INTERRUPTED|ABORTED)\]| Failure\b|! |\.\.\. Timeout\b)");
// The part of a failed test's name that says which of its nodes failed.
pattern!(
    NODE,
    r"(?:^TOP-LEVEL )?\[(?:It|(?:Just)?(?:Before|After)Each|(?:Before|After)All|DeferCleanup \([^)]*\))\] ?"
);
// The labels after a test's name.
pattern!(LABELS, r" \[([^\[\]]+)\]\s*$");
// What may follow the mark of a test: a state, a time, or the output of another process.
pattern!(STATE, r"^(?:(?-u:[^ ])| ?$| \[| Failure\b| SUCCESS!)");
// The text after the mark of a test that ran and skipped itself, with a time.
pattern!(SKIPPED_ITSELF, r"^ \[SKIPP(?:ED|ING)\].*\[[\d.]+ seconds\]\s*$");
// The summary, which has one line, or two if there are several reasons for a failure.
pattern!(SUMMARY, r"^Ran \d+ of \d+ Specs in ");
pattern!(VERDICT, r"^(?:SUCCESS!|FAIL!)(?: - (?P<reason>[^|]*?))?(?: -- (?P<counts>.*))?\s*$");
pattern!(FINAL_COUNTS, r"^(\d+) Passed \| (\d+) Failed \| ");

fn is_match(pattern: &LazyLock<Option<Regex>>, text: &[u8]) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

fn number(pattern: &LazyLock<Option<Regex>>, group: usize, text: &[u8]) -> Option<u64> {
    patterns::number(pattern.as_ref()?, group, text)
}

/// The mark of a finished test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// The test ran.
    Ran,
    /// The test was skipped.
    Skipped,
}

/// The part of the summary that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Summary {
    /// Nothing was read yet.
    #[default]
    None,
    /// The first line.
    Begun,
    /// The first line, and the line with the reasons why the suite failed.
    Reasons,
}

/// The state of the current line.
#[derive(Debug, Clone, Default)]
struct Line {
    escapes: Escapes,
    /// The last mark, whose text follows. It is not counted in [`Ginkgo::counts`] yet.
    mark: Option<Mark>,
    /// The text after the marks, or an incomplete UTF-8 mark.
    text: Vec<u8>,
    /// Whether `text` is text, so that no marks can follow.
    is_text: bool,
    /// Whether this is the first line of a suite with `--succinct`.
    succinct: bool,
}

/// A failed test whose reason the log may show next.
#[derive(Debug)]
struct FailedTest {
    name: String,
    /// The lines of the failure so far.
    text: Vec<String>,
}

impl FailedTest {
    /// Reads a line after the name. Returns false if no further line belongs to the reason.
    fn read(&mut self, line: &Line) -> bool {
        let text = String::from_utf8_lossy(&line.text);
        if line.mark == Some(Mark::Ran) || text.starts_with("-----") {
            return false;
        }
        if self.text.is_empty() {
            self.text.extend(failure(&text).map(str::to_owned));
            return true;
        }
        let is_place = text.trim().starts_with("In [");
        self.text.push(text.into_owned());
        !is_place && self.text.len() < MAX_REASON_LINES
    }

    fn reason(&self) -> Option<String> {
        first_reason(&self.name, &self.text.join("\n")).map(|reason| excerpt(&reason, MAX_REASON))
    }
}

/// Returns the text of a line that starts a failure, and not of the timeline: `[FAILED] in [It] -
/// PLACE`.
fn failure(line: &str) -> Option<&str> {
    let text = line.strip_prefix("  ")?;
    FAILURES.iter().find_map(|state| text.strip_prefix(*state)).filter(|text| !text.starts_with("in ["))
}

/// Counts tests in the bytes of a log.
#[derive(Debug, Default)]
pub(super) struct Ginkgo {
    counts: Counts,
    line: Line,
    summary: Summary,
    /// Names of failed tests that the log shows.
    failures: Vec<String>,
    /// Why they failed, by name.
    reasons: BTreeMap<String, String>,
    /// The last of them, until its reason was read.
    last: Option<FailedTest>,
    /// Whether the previous line was a failed test, so that this one is its name.
    failed: bool,
}

impl Counter for Ginkgo {
    fn counts(&self) -> Counts {
        let mut counts = self.counts;
        add(&mut counts, &self.line);
        counts
    }

    fn failures(&self) -> &[String] {
        &self.failures
    }

    fn reasons(&self) -> &BTreeMap<String, String> {
        &self.reasons
    }

    fn read(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (piece, ended) = match piece.split_last() {
                Some((b'\n', piece)) => (piece, true),
                _ => (piece, false),
            };
            for &byte in piece {
                if self.line.is_text && self.line.text.len() >= MAX_TEXT {
                    break;
                }
                if self.line.escapes.is_text(byte) {
                    self.byte(byte);
                }
            }
            if ended {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.failed) && line.mark.is_none() && self.failures.len() < MAX_NAMES {
            let name = name(&line.text);
            self.last = name.clone().map(|name| FailedTest { name, text: Vec::new() });
            self.failures.extend(name);
        } else {
            self.reason(&line);
        }
        let before = self.counts.failed;
        add(&mut self.counts, &line);
        self.failed = self.counts.failed > before;
        match line.mark {
            None => self.plain(&line.text),
            // Words may start with S, such as the first word of the verdict.
            Some(Mark::Skipped) => self.plain(&[b"S", line.text.as_slice()].concat()),
            Some(Mark::Ran) => {}
        }
    }
}

impl Ginkgo {
    /// Reads a line that may belong to the reason of the last failed test.
    fn reason(&mut self, line: &Line) {
        let Some(mut test) = self.last.take() else { return };
        if test.read(line) {
            self.last = Some(test);
        } else if let Some(reason) = test.reason() {
            self.reasons.insert(test.name, reason);
        }
    }

    fn byte(&mut self, byte: u8) {
        let line = &mut self.line;
        line.text.push(byte);
        if line.is_text {
            self.succinct();
            return;
        }
        let mark = match line.text.as_slice() {
            b"S" | b"P" => Mark::Skipped,
            text if text == RAN || text == RETRIED => Mark::Ran,
            text if RAN.starts_with(text) || RETRIED.starts_with(text) => return,
            _ => {
                line.is_text = true;
                return;
            }
        };
        line.text.clear();
        // The previous mark stands alone.
        self.counts.ended += u64::from(line.mark == Some(Mark::Ran));
        line.mark = Some(mark);
    }

    /// Processes the first line of a suite with `--succinct` up to its marks.
    fn succinct(&mut self) {
        let line = &mut self.line;
        if line.mark.is_some() || !line.text.ends_with(b"specs ") && !line.text.ends_with(b"procs ") {
            return;
        }
        if line.succinct && line.text.starts_with(b"- ") {
            self.line = Line { succinct: true, ..Line::default() };
        } else if let Some(total) = number(&SUCCINCT, 1, &line.text) {
            self.start(total);
            self.line = Line { succinct: true, ..Line::default() };
        }
    }

    /// Processes a line without marks.
    fn plain(&mut self, text: &[u8]) {
        if let Some(total) = number(&START, 1, text) {
            self.start(total);
        } else if is_match(&SUMMARY, text) {
            self.summary = Summary::Begun;
        } else if self.summary != Summary::None {
            self.summary(text);
        }
    }

    /// Resets the counts, because a suite has started again in the same log.
    fn start(&mut self, total: u64) {
        self.counts = Counts { total, ..Counts::default() };
        self.summary = Summary::None;
        self.failures.clear();
        self.reasons.clear();
        self.last = None;
    }

    /// Processes a line of the summary.
    fn summary(&mut self, text: &[u8]) {
        let verdict = VERDICT.as_ref().and_then(|verdict| verdict.captures(text));
        let reason = self.summary == Summary::Reasons
            || verdict.as_ref().is_some_and(|verdict| verdict.name("reason").is_some());
        let counts = match &verdict {
            Some(verdict) => verdict.name("counts").map(|counts| counts.as_bytes()),
            None => Some(text),
        };
        if let Some((passed, failed)) =
            counts.and_then(|counts| Some((number(&FINAL_COUNTS, 1, counts)?, number(&FINAL_COUNTS, 2, counts)?)))
        {
            let ended = passed.saturating_add(failed);
            // A suite that ran to its end has no tests left. The missing tests skipped themselves.
            let total = if reason { self.counts.total.max(ended) } else { ended };
            self.counts = Counts { total, ended, failed, finished: true };
            self.summary = Summary::None;
        } else {
            self.summary = if verdict.is_some() && reason { Summary::Reasons } else { Summary::None };
        }
    }
}

/// Returns the name of a failed test from the line after its mark.
///
/// Removes the failed node, and labels if the name repeats them or there are several.
fn name(text: &[u8]) -> Option<String> {
    let node = NODE.as_ref()?;
    if !node.is_match(text) {
        return None;
    }
    let text = node.replacen(text, 1, &b""[..]);
    let mut name = text.trim_ascii();
    if let Some(labels) = LABELS.as_ref()?.captures(name)
        && let (Some(all), Some(labels)) = (labels.get(0), labels.get(1).map(|labels| labels.as_bytes()))
        && let Some(rest) = name.get(..all.start())
        && (labels.contains(&b',') || rest.windows(labels.len()).any(|part| part == labels))
    {
        name = rest;
    }
    let mut name = String::from_utf8_lossy(name).into_owned();
    if name.len() > MAX_NAME {
        name.truncate(name.floor_char_boundary(MAX_NAME));
    }
    Some(name).filter(|name| !name.is_empty())
}

/// Adds the tests of a line, or of its text so far, to `counts`.
fn add(counts: &mut Counts, line: &Line) {
    let text = if line.is_text { line.text.as_slice() } else { &[] };
    let state = match line.mark {
        Some(Mark::Ran) if is_match(&STATE, text) => Some(text),
        Some(Mark::Skipped) if is_match(&SKIPPED_ITSELF, text) => {
            // The test neither passed nor failed, and is no longer expected.
            counts.total = counts.total.saturating_sub(1);
            None
        }
        _ => BEHIND_TEXT.as_ref().and_then(|pattern| pattern.captures(text)?.get(1)).map(|state| state.as_bytes()),
    };
    if let Some(state) = state {
        counts.ended += 1;
        counts.failed += u64::from(is_match(&FAILED, state));
    }
}

#[cfg(test)]
#[path = "ginkgo_tests.rs"]
mod tests;
