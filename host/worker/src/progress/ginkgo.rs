//! Counts tests in what Ginkgo prints, versions 1 and 2.
//!
//! A test that ended is a mark at the beginning of a line or right behind other marks: `•` ran, `↺` passed after a retry, `S` skipped,
//! `P` pending. Marks come one by one (`SS•S`), and the line may stay unfinished for as long as the next test runs. A test that failed
//! or has output gets a line of its own, which says more behind the mark:
//!
//! ```text
//! • [4.567 seconds]                    S [SKIPPED] [0.001 seconds]
//! • [FAILED] [12.3 seconds]            ↺ [FLAKEY TEST - TOOK 2 ATTEMPTS TO PASS] [3.000 seconds]
//! • Failure [60.3 seconds]             •! Panic [1.2 seconds]             (version 1)
//! ```
//!
//! Tests print text of their own, also with bullets. Ginkgo indents it, except what a test writes to its process's standard output or
//! error, so a mark must look like one of Ginkgo's, and the summary at the end has the last word.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::counts::Counts;
use super::escape::Escapes;

/// Names of failed tests that are kept. More help nobody.
const MAX_NAMES: usize = 1_000;

/// Bytes of a name; the rest is cut off.
const MAX_NAME: usize = 500;

/// Bytes of a line's text that are looked at: 4 KiB. Marks are not part of it, so there may be any number of them.
const MAX_TEXT: usize = 4 << 10;

const RAN: &[u8] = "•".as_bytes();
const RETRIED: &[u8] = "↺".as_bytes();

/// The patterns are constants, so they compile: a test compiles them all.
macro_rules! pattern {
    ($name:ident, $pattern:expr) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($pattern).ok());
    };
}

// How many tests will run: the start of a suite.
pattern!(START, r"^Will run (\d+) of \d+ specs");
// The start of a suite with `--succinct`, whose marks follow on the same line.
pattern!(SUCCINCT, r"^\[\d+\] .* - (\d+)/\d+ specs (?:- \d+ procs )?$");
// A test's line behind text that the test did not end with a newline.
pattern!(BEHIND_TEXT, r"\S(?:•|↺)((?: \[[A-Z][^\]]*\][^\[]*)?) \[[\d.]+ seconds\]\s*$");
// What follows the mark of a test that failed.
pattern!(FAILED, r"^(?: \[(?:FAILED|PANICKED!?|TIMEDOUT|INTERRUPTED|ABORTED)\]| Failure\b|! |\.\.\. Timeout\b)");
// The part of a failed test in its name: which of its nodes failed.
pattern!(
    NODE,
    r"(?:^TOP-LEVEL )?\[(?:It|(?:Just)?(?:Before|After)Each|(?:Before|After)All|DeferCleanup \([^)]*\))\] ?"
);
// The labels behind a test's name: several, or one.
pattern!(LABELS, r" \[([^\[\]]+)\]\s*$");
// What may follow the mark of a test: a state or a time, or what another process prints, but no other words.
pattern!(STATE, r"^(?:(?-u:[^ ])| ?$| \[| Failure\b| SUCCESS!)");
// What follows the mark of a test that ran and skipped itself. Without a time, the test did not run.
pattern!(SKIPPED_ITSELF, r"^ \[SKIPP(?:ED|ING)\].*\[[\d.]+ seconds\]\s*$");
// The summary, in one line or, if there are several reasons for a failure, in two.
pattern!(SUMMARY, r"^Ran \d+ of \d+ Specs in ");
pattern!(VERDICT, r"^(?:SUCCESS!|FAIL!)(?: - (?P<reason>[^|]*?))?(?: -- (?P<counts>.*))?\s*$");
pattern!(FINAL_COUNTS, r"^(\d+) Passed \| (\d+) Failed \| ");

fn is_match(pattern: &LazyLock<Option<Regex>>, text: &[u8]) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

fn number(pattern: &LazyLock<Option<Regex>>, group: usize, text: &[u8]) -> Option<u64> {
    let digits = pattern.as_ref()?.captures(text)?.get(group)?.as_bytes();
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|&number: &u64| i64::try_from(number).is_ok())
}

/// A mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// The test ran.
    Ran,
    /// The test was skipped.
    Skipped,
}

/// How much of the summary was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Summary {
    /// Nothing.
    #[default]
    None,
    /// Its first line.
    Begun,
    /// Its first line, and the line with the reasons why the suite failed.
    Reasons,
}

/// What is known of the current line.
#[derive(Debug, Clone, Default)]
struct Line {
    escapes: Escapes,
    /// The last mark, whose text follows. It is not in [`Ginkgo::counts`] yet.
    mark: Option<Mark>,
    /// The text behind the marks; or, as long as it is part of a mark in UTF-8, the mark.
    text: Vec<u8>,
    /// Whether `text` is text: no marks can follow.
    is_text: bool,
    /// Whether the line is the first of a suite with `--succinct`.
    succinct: bool,
}

/// Counts in the bytes of a log.
#[derive(Debug, Default)]
pub(super) struct Ginkgo {
    counts: Counts,
    line: Line,
    summary: Summary,
    /// Names of failed tests, as far as the log shows them.
    failures: Vec<String>,
    /// Whether the line before was that of a failed test: this one is its name.
    failed: bool,
}

impl Ginkgo {
    pub(super) fn counts(&self) -> Counts {
        let mut counts = self.counts;
        add(&mut counts, &self.line);
        counts
    }

    pub(super) fn failures(&self) -> &[String] {
        &self.failures
    }

    pub(super) fn read(&mut self, bytes: &[u8]) {
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

    pub(super) fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.failed) && line.mark.is_none() && self.failures.len() < MAX_NAMES {
            self.failures.extend(name(&line.text));
        }
        let before = self.counts.failed;
        add(&mut self.counts, &line);
        self.failed = self.counts.failed > before;
        match line.mark {
            None => self.plain(&line.text),
            // Words may start with S: that of the summary does.
            Some(Mark::Skipped) => self.plain(&[b"S", line.text.as_slice()].concat()),
            Some(Mark::Ran) => {}
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
        // The mark before it stands alone.
        self.counts.ended += u64::from(line.mark == Some(Mark::Ran));
        line.mark = Some(mark);
    }

    /// Reads the first line of a suite with `--succinct` up to its marks.
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

    /// A line without marks.
    fn plain(&mut self, text: &[u8]) {
        if let Some(total) = number(&START, 1, text) {
            self.start(total);
        } else if is_match(&SUMMARY, text) {
            self.summary = Summary::Begun;
        } else if self.summary != Summary::None {
            self.summary(text);
        }
    }

    /// A suite that starts again in the same log is counted from the beginning.
    fn start(&mut self, total: u64) {
        self.counts = Counts { total, ..Counts::default() };
        self.summary = Summary::None;
        self.failures.clear();
    }

    /// A line of the summary.
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
            // A suite that ran to its end has nothing left to run: what it did not run has skipped itself.
            let total = if reason { self.counts.total.max(ended) } else { ended };
            self.counts = Counts { total, ended, failed, finished: true };
            self.summary = Summary::None;
        } else {
            self.summary = if verdict.is_some() && reason { Summary::Reasons } else { Summary::None };
        }
    }
}

/// The name of a failed test in the line behind its mark: without the node that failed, and without labels, which the name repeats or
/// of which there are several.
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
        name.truncate((0..=MAX_NAME).rev().find(|&end| name.is_char_boundary(end)).unwrap_or_default());
    }
    Some(name).filter(|name| !name.is_empty())
}

/// Adds to `counts` what a line says, or says so far.
fn add(counts: &mut Counts, line: &Line) {
    let text = if line.is_text { line.text.as_slice() } else { &[] };
    let state = match line.mark {
        Some(Mark::Ran) if is_match(&STATE, text) => Some(text),
        Some(Mark::Skipped) if is_match(&SKIPPED_ITSELF, text) => {
            // It neither passed nor failed, and is not waited for.
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
