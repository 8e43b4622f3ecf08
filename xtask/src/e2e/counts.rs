//! How many tests passed, were skipped and failed, from the output of the test binary.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::AddAssign;
use std::process::{Command, ExitStatus};
use std::thread;

use super::interrupt::Interrupt;
use crate::error::Error;

/// The line after the last one of the program. A process that the program left behind may keep the
/// pipe open.
const END: &[u8] = b"\0end of the output\n";
/// Start of the line that a test prints if it is skipped. The test itself passes.
const SKIPPED: &[u8] = b"SKIPPED ";
/// Start of the line with the totals.
const RESULT: &str = "test result: ";

/// Numbers of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    passed: u32,
    skipped: u32,
    failed: u32,
}

impl Counts {
    /// Runs the test binary, copies its output to stdout, and counts its tests.
    pub(crate) fn of(command: &mut Command, interrupt: &Interrupt) -> Result<(ExitStatus, Self), Error> {
        let failed = |error: io::Error| Error::unexpected(format!("the output of the tests cannot be read: {error}"));
        let (reader, mut writer) = io::pipe().map_err(failed)?;
        command.stdout(writer.try_clone().map_err(failed)?).stderr(writer.try_clone().map_err(failed)?);
        let copying = thread::spawn(move || Self::copy(reader, io::stdout()));
        let status = interrupt.status(command);
        writer.write_all(END).map_err(failed)?;
        let counts = copying.join().map_err(|_| Error::unexpected("the output of the tests was lost"))?;
        Ok((status?, counts.map_err(failed)?))
    }

    /// Copies lines to `to` up to the one that ends the output.
    fn copy(from: impl Read, mut to: impl Write) -> io::Result<Self> {
        let (mut from, mut line, mut counts) = (BufReader::new(from), Vec::new(), Self::default());
        while from.read_until(b'\n', &mut line)? > 0 && !line.ends_with(END) {
            counts.add_line(&line);
            // Nobody may read the output.
            let _ = to.write_all(&line);
            line.clear();
        }
        counts.passed = counts.passed.saturating_sub(counts.skipped);
        Ok(counts)
    }

    fn add_line(&mut self, line: &[u8]) {
        if line.starts_with(SKIPPED) {
            self.skipped += 1;
        }
        let text = String::from_utf8_lossy(line);
        let Some(totals) = text.strip_prefix(RESULT) else { return };
        // `ok. 12 passed; 0 failed; 0 ignored; …`
        let words: Vec<&str> = totals.split([' ', ';']).collect();
        for pair in words.windows(2) {
            match pair {
                [number, "passed"] => self.passed += number.parse::<u32>().unwrap_or(0),
                [number, "failed"] => self.failed += number.parse::<u32>().unwrap_or(0),
                _ => {}
            }
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.skipped += other.skipped;
        self.failed += other.failed;
    }
}

/// Columns of a Markdown table: passed, skipped, failed.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} | {} | {}", self.passed, self.skipped, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_skipped_did_not_pass() {
        let output = "running 4 tests\nSKIPPED gpu: no accelerator\ntest a ... ok\ntest b ... FAILED\n\n\
                      test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 3.05s\n";
        let mut copied = Vec::new();
        let whole = [output.as_bytes(), END, b"of a process that is left"].concat();
        let counts = Counts::copy(&whole[..], &mut copied).unwrap();
        assert_eq!(String::from_utf8(copied).unwrap(), output);
        assert_eq!(counts, Counts { passed: 2, skipped: 1, failed: 1 });
        assert_eq!(counts.to_string(), "2 | 1 | 1");
    }

    #[test]
    fn the_exit_code_and_both_streams_are_those_of_the_tests() {
        let interrupt = Interrupt::catch().unwrap();
        let script = "echo 'SKIPPED x: reason' >&2; echo 'test result: ok. 5 passed; 0 failed'; exit 4";
        let (status, counts) = Counts::of(Command::new("sh").args(["-c", script]), &interrupt).unwrap();
        assert_eq!(status.code(), Some(4));
        assert_eq!(counts, Counts { passed: 4, skipped: 1, failed: 0 });
    }
}
