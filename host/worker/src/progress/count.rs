//! Counting in a log, line by line.

use plumbline_core::definition::LogProgress;
use regex::bytes::{Regex, RegexBuilder};

/// Bytes of a line that patterns are matched on: 64 KiB. Of a longer line, the rest is passed over.
const MAX_LINE: usize = 64 << 10;

/// What begins the sequences that give colours.
const ESCAPE: u8 = 0x1b;

/// Bytes that a compiled pattern may take: 1 MiB, a tenth of what a worker may have. One for a line of a log takes some 10 KiB.
const MAX_COMPILED: usize = 1 << 20;

/// A pattern cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`plumbline.progress.{key}` cannot be used as a regular expression: {cause}")]
pub struct PatternError {
    /// `total`, `completed` or `failed`.
    pub key: &'static str,
    /// What is wrong with it.
    pub cause: regex::Error,
}

/// Checks what a worker would find out only when it needs the patterns.
///
/// # Errors
/// [`PatternError`] for the first pattern that cannot be used.
pub fn check_log_progress(progress: &LogProgress) -> Result<(), PatternError> {
    Counter::new(progress).map(drop)
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Tests there are; 0 when nobody knows.
    pub(super) total: u64,
    /// Tests that ended, well or not.
    pub(super) ended: u64,
    /// Those that failed.
    pub(super) failed: u64,
}

/// Counts in the bytes of a log as they come.
pub(super) struct Counter {
    total: Option<Regex>,
    completed: Regex,
    failed: Option<Regex>,
    counts: Counts,
    /// The line that has not ended yet, as far as it is looked at.
    line: Vec<u8>,
}

impl Counter {
    pub(super) fn new(progress: &LogProgress) -> Result<Self, PatternError> {
        let compiled = |key, pattern: &str| {
            RegexBuilder::new(pattern).size_limit(MAX_COMPILED).build().map_err(|cause| PatternError { key, cause })
        };
        Ok(Self {
            total: progress.total.as_deref().map(|pattern| compiled("total", pattern)).transpose()?,
            completed: compiled("completed", &progress.completed)?,
            failed: progress.failed.as_deref().map(|pattern| compiled("failed", pattern)).transpose()?,
            counts: Counts::default(),
            line: Vec::new(),
        })
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes the next bytes of the log. Only lines that have ended are counted.
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            self.keep(line);
            let mut line = std::mem::take(&mut self.line);
            undecorate(&mut line);
            self.count(&line);
            self.line = line;
            self.line.clear();
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.keep(bytes);
    }

    /// The line that had not ended never will: the file is another one.
    pub(super) fn forget_line(&mut self) {
        self.line.clear();
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.line.len());
        self.line.extend(piece.iter().take(room));
    }

    fn count(&mut self, line: &[u8]) {
        if let Some(total) = self.total.as_ref().and_then(|total| number(total, line)) {
            // A suite that begins again in the same log counts from the beginning, too.
            self.counts = Counts { total, ..Counts::default() };
        }
        self.counts.ended += matches(&self.completed, line);
        self.counts.failed += self.failed.as_ref().map_or(0, |failed| matches(failed, line));
    }
}

/// Takes out of a line what only a terminal makes something of: colours, and the carriage return at its end.
fn undecorate(line: &mut Vec<u8>) {
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    if !line.contains(&ESCAPE) {
        return;
    }
    // ESC, `[`, parameters, and the letter that ends it.
    let mut at = Place::Text;
    line.retain(|&byte| {
        at = match (at, byte) {
            (_, ESCAPE) => Place::Escape,
            (Place::Escape, b'[') | (Place::Sequence, 0x20..=0x3f) => Place::Sequence,
            (Place::Sequence, 0x40..=0x7e) => Place::End,
            _ => Place::Text,
        };
        at == Place::Text
    });
}

/// Where in a line a byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Escape,
    Sequence,
    End,
}

/// Each match counts: with `^` that is one per line, without it as many as there are dots.
fn matches(pattern: &Regex, line: &[u8]) -> u64 {
    pattern.find_iter(line).count() as u64
}

fn number(pattern: &Regex, line: &[u8]) -> Option<u64> {
    let digits = pattern.captures(line)?.get(1)?.as_bytes();
    // What fits into the counter of an update.
    std::str::from_utf8(digits).ok()?.parse::<u64>().ok().filter(|&number| i64::try_from(number).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(total: &str, completed: &str, failed: &str) -> LogProgress {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        LogProgress {
            file: "a.log".to_owned(),
            total: some(total),
            completed: completed.to_owned(),
            failed: some(failed),
        }
    }

    /// What the definition of the suite says.
    fn ginkgo() -> Counter {
        Counter::new(&progress(
            r"^Will run (\d+) of \d+ specs",
            r"^(•|S \[SKIPP)",
            r"^• (\[(FAILED|PANICKED!|TIMEDOUT|INTERRUPTED|ABORTED)\]|Failure|Panic)",
        ))
        .unwrap()
    }

    const LOG: &str = "Running Suite: Kubernetes e2e suite - /usr/local/bin\nWill run 5 of 7197 specs\n------------------------------\n\
        SSSSSSSSSSSSSSSSS\n------------------------------\n[sig-node] Pods should run\n  STEP: • not at the beginning\n• [4.567 seconds]\n\
        ------------------------------\nSSSS\n• [FAILED] [12.3 seconds]\nS [SKIPPED] [0.001 seconds]\n\
        •{\"msg\":\"PASSED a test\",\"total\":25}\n• Failure [60.3 seconds]\nRan 5 of 7197 Specs in 90.1 seconds\n";

    #[test]
    fn the_log_of_the_suite_is_counted_in_whatever_pieces_it_comes() {
        for size in [1, 2, 7, 64, 10_000] {
            let mut counter = ginkgo();
            LOG.as_bytes().chunks(size).for_each(|piece| counter.take(piece));
            assert_eq!(counter.counts(), Counts { total: 5, ended: 5, failed: 2 }, "pieces of {size}");
        }
    }

    #[test]
    fn a_suite_that_begins_again_counts_anew() {
        let mut counter = ginkgo();
        counter.take(LOG.as_bytes());
        counter.take("Will run 2 of 7197 specs\n• [1 seconds]\n".as_bytes());
        assert_eq!(counter.counts(), Counts { total: 2, ended: 1, failed: 0 });
    }

    #[test]
    fn dots_on_one_line_count_each() {
        let mut counter = Counter::new(&progress("", "[.F]", "F")).unwrap();
        counter.take(b"..F.\n..");
        assert_eq!(counter.counts(), Counts { total: 0, ended: 4, failed: 1 }, "the last line has not ended");
        counter.forget_line();
        counter.take(b"\n.\n");
        assert_eq!(counter.counts().ended, 5);
    }

    #[test]
    fn long_lines_and_rubbish_do_no_harm() {
        let mut counter = Counter::new(&progress(r"(\d+) tests", "ok", "")).unwrap();
        for _ in 0..100 {
            counter.take(&[0xff; 10_000]);
        }
        assert!(counter.line.len() == MAX_LINE);
        counter.take(b"ok\n99999999999999999999999 tests\nok\n");
        assert_eq!(counter.counts(), Counts { total: 0, ended: 1, failed: 0 }, "the end of the long line is not seen");
    }

    #[test]
    fn colours_and_ends_of_lines_of_other_systems_are_no_part_of_a_line() {
        let mut counter = ginkgo();
        let coloured = "Will run \u{1b}[1m3\u{1b}[0m of \u{1b}[1m9\u{1b}[0m specs\r\n\u{1b}[38;5;10m•\u{1b}[0m [1 seconds]\r\n\
            \u{1b}[38;5;9m• [FAILED]\u{1b}[0m [2 seconds]\n\u{1b}•\n\u{1b}[\n";
        counter.take(coloured.as_bytes());
        assert_eq!(counter.counts(), Counts { total: 3, ended: 3, failed: 1 });
        let mut counter = Counter::new(&progress("", "ok$", "")).unwrap();
        counter.take(b"ok\r\nok\n");
        assert_eq!(counter.counts().ended, 2);
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_named() {
        let errors = [progress("(", "a", ""), progress("", "a{1000}{1000}{1000}", ""), progress("", "a", "[")]
            .map(|progress| check_log_progress(&progress).unwrap_err().key);
        assert_eq!(errors, ["total", "completed", "failed"]);
    }
}
