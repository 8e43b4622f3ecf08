//! Counts tests in the lines of a log with regular expressions, which match within one line.

use std::collections::BTreeMap;

use plumbline_core::definition::LogPatterns;
use regex::bytes::{Regex, RegexBuilder};

/// The byte that starts an escape sequence.
const ESCAPE: u8 = 0x1b;

/// Maximum size of a line: 64 KiB. The rest is ignored.
const MAX_LINE: usize = 64 << 10;

/// Maximum size of a compiled pattern: 1 MiB. A typical one takes some 10 KiB.
const MAX_COMPILED: usize = 1 << 20;

/// The numbers of tests in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Number of tests that will run or have run, or 0 if unknown.
    pub(super) total: u64,
    /// Number of tests that ended, whether they passed or failed.
    pub(super) ended: u64,
    /// Number of tests that failed.
    pub(super) failed: u64,
    /// Whether these are the final counts that the log printed itself.
    pub(super) finished: bool,
}

/// The state with respect to escape sequences (`ESC [ parameters letter`, which set colours).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Escapes {
    #[default]
    Text,
    Escape,
    Sequence,
}

impl Escapes {
    /// Returns true if `byte` is text, and not part of an escape sequence.
    pub(super) fn is_text(&mut self, byte: u8) -> bool {
        let (next, text) = match (*self, byte) {
            (_, ESCAPE) => (Self::Escape, false),
            (Self::Escape, b'[') | (Self::Sequence, 0x20..=0x3f) => (Self::Sequence, false),
            (Self::Sequence, 0x40..=0x7e) => (Self::Text, false),
            _ => (Self::Text, true),
        };
        *self = next;
        text
    }
}

/// Error for an invalid regular expression.
#[derive(Debug, thiserror::Error)]
#[error("invalid regular expression `plumbline.progress.{key}`: {cause}")]
pub struct PatternError {
    /// The key: `total`, `completed` or `failed`.
    pub key: &'static str,
    /// The parse error.
    pub cause: regex::Error,
}

/// Counts tests in the bytes of a log. The counts do not depend on how the bytes are split.
pub(super) trait Counter: Send {
    /// Returns the counts of everything read so far. An unfinished line counts as if it ended here.
    fn counts(&self) -> Counts;

    /// Returns the names of failed tests, as far as the log shows them.
    fn failures(&self) -> &[String] {
        &[]
    }

    /// Returns the reasons of the latest of these failures, if the log shows them.
    fn reasons(&self) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        &NONE
    }

    fn read(&mut self, bytes: &[u8]);

    /// Ends an unfinished line, because another file follows.
    fn end_line(&mut self);
}

/// Counts matches in the lines of a log.
pub(super) struct Patterns {
    total: Option<Regex>,
    completed: Regex,
    failed: Option<Regex>,
    counts: Counts,
    /// The unfinished line, without escape sequences.
    line: Vec<u8>,
    escapes: Escapes,
}

impl Patterns {
    pub(super) fn new(patterns: &LogPatterns) -> Result<Self, PatternError> {
        let compiled = |key, pattern: &str| {
            RegexBuilder::new(pattern).size_limit(MAX_COMPILED).build().map_err(|cause| PatternError { key, cause })
        };
        Ok(Self {
            total: patterns.total.as_deref().map(|pattern| compiled("total", pattern)).transpose()?,
            completed: compiled("completed", &patterns.completed)?,
            failed: patterns.failed.as_deref().map(|pattern| compiled("failed", pattern)).transpose()?,
            counts: Counts::default(),
            line: Vec::new(),
            escapes: Escapes::default(),
        })
    }

    /// Returns the counts after `line`.
    fn with(&self, line: &[u8]) -> Counts {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut counts = self.counts;
        if let Some(total) = self.total.as_ref().and_then(|total| number(total, 1, line)) {
            // The suite has started again in the same log, so the counts are reset.
            counts = Counts { total, ..Counts::default() };
        }
        counts.ended += matches(&self.completed, line);
        counts.failed += self.failed.as_ref().map_or(0, |failed| matches(failed, line));
        counts
    }
}

impl Counter for Patterns {
    fn counts(&self) -> Counts {
        self.with(&self.line)
    }

    fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                self.end_line();
            } else if self.escapes.is_text(byte) && self.line.len() < MAX_LINE {
                self.line.push(byte);
            }
        }
    }

    fn end_line(&mut self) {
        self.counts = self.with(&self.line);
        self.line.clear();
        self.escapes = Escapes::default();
    }
}

/// Counts all matches: one per line with `^`, or one for each dot.
fn matches(pattern: &Regex, line: &[u8]) -> u64 {
    pattern.find_iter(line).count() as u64
}

/// Returns the number in a group of a match.
pub(super) fn number(pattern: &Regex, group: usize, line: &[u8]) -> Option<u64> {
    let digits = pattern.captures(line)?.get(group)?.as_bytes();
    // The number must fit into the counter of an update.
    std::str::from_utf8(digits).ok()?.parse::<u64>().ok().filter(|&number| i64::try_from(number).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(total: &str, completed: &str, failed: &str) -> Result<Patterns, PatternError> {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Patterns::new(&LogPatterns { total: some(total), completed: completed.to_owned(), failed: some(failed) })
    }

    fn counts(total: u64, ended: u64, failed: u64) -> Counts {
        Counts { total, ended, failed, finished: false }
    }

    #[test]
    fn each_dot_of_an_unfinished_line_counts_once() {
        let mut patterns = patterns("", "[.F]", "F").unwrap();
        patterns.read(b"..F.\n..");
        assert_eq!(patterns.counts(), counts(0, 6, 1));
        patterns.read(b"F");
        assert_eq!(patterns.counts(), counts(0, 7, 2));
        patterns.end_line();
        patterns.read(b"\n.\n");
        assert_eq!(patterns.counts(), counts(0, 8, 2));
    }

    #[test]
    fn a_suite_that_starts_again_is_counted_from_the_beginning() {
        let mut patterns = patterns(r"^(\d+) tests", "^ok", "").unwrap();
        patterns.read(b"3 tests\nok\nok\n2 tests\nok\n");
        assert_eq!(patterns.counts(), counts(2, 1, 0));
    }

    #[test]
    fn long_lines_and_garbage_do_no_harm() {
        let mut patterns = patterns(r"(\d+) tests", "ok", "").unwrap();
        for _ in 0..100 {
            patterns.read(&[0xff; 10_000]);
        }
        assert_eq!(patterns.line.len(), MAX_LINE);
        patterns.read(b"ok\n99999999999999999999999 tests\nok\n");
        assert_eq!(patterns.counts(), counts(0, 1, 0), "the end of the long line is ignored");
    }

    #[test]
    fn colours_and_carriage_returns_are_not_part_of_a_line() {
        let mut patterns = patterns(r"^(\d+) tests", "ok$", "^not").unwrap();
        for byte in b"\x1b[1m3\x1b[0m tests\r\n\x1b[38;5;10mok\x1b[0m\r\n\x1b[38;5;9mnot\x1b[0m ok\n\x1b[\nok\x1b" {
            patterns.read(&[*byte]);
        }
        assert_eq!(patterns.counts(), counts(3, 3, 1));
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_named() {
        let errors = [patterns("(", "a", ""), patterns("", "a{1000}{1000}{1000}", ""), patterns("", "a", "[")]
            .map(|patterns| patterns.err().unwrap().key);
        assert_eq!(errors, ["total", "completed", "failed"]);
    }
}
