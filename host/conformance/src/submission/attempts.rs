//! Finds tests that Ginkgo ran again after a failure.
//!
//! The report has the setting of the whole suite (`--flake-attempts`). A single test has its own with the
//! decorator `FlakeAttempts`. Then only the timeline of the test or the log says so.

use std::io::{self, Read};

/// What Ginkgo writes between two attempts of a test, and at the end of a test that passed only then.
const AGAIN: [&[u8]; 2] = [b"Failed.  Retrying ", b"[FLAKEY TEST - TOOK "];

/// The bytes of a text that are repeated in the next piece, so that nothing is cut.
const OVERLAP: usize = 32;

const PIECE: u64 = 64 << 10;

/// Returns whether a text says that a failed test ran again.
pub(super) fn has_attempts(text: &[u8]) -> bool {
    AGAIN.iter().any(|words| text.windows(words.len()).any(|window| window == *words))
}

/// Returns whether a log of Ginkgo says that a failed test ran again.
pub fn log_has_attempts(mut log: impl Read) -> io::Result<bool> {
    let mut text = Vec::new();
    loop {
        text.drain(..text.len().saturating_sub(OVERLAP));
        let read = log.by_ref().take(PIECE).read_to_end(&mut text)?;
        if has_attempts(&text) {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_says_whether_a_test_ran_again() {
        let again = "↺ [FLAKEY TEST - TOOK 2 ATTEMPTS TO PASS] [3.210 seconds]\n";
        let colored = "\u{1b}[1mAttempt #1 \u{1b}[38;5;9mFailed\u{1b}[0m\u{1b}[1m.  Retrying ↺\u{1b}[0m\n";
        let plain = "Attempt #1 Failed.  Retrying ↺ @ 11/28/26 22:16:23.123\n";
        for (log, expected) in [
            (format!("• [0.5 seconds]\n{again}"), true),
            (format!("{colored}{again}"), true),
            (plain.to_owned(), true),
            ("Attempt #1 Passed.  Repeating ↺ @ 11/28/26\n• [FAILED] [0.5 seconds]\n".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(log_has_attempts(log.as_bytes()).unwrap(), expected, "{log}");
        }
        // At every place around the end of a piece.
        for before in (PIECE as usize - 40)..(PIECE as usize + 2) {
            let log = [vec![b'x'; before], again.as_bytes().to_vec()].concat();
            assert!(log_has_attempts(log.as_slice()).unwrap(), "{before}");
        }
    }
}
