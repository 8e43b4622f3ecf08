//! Writes to standard output, and text with colors to standard error.

use std::io::{self, BufWriter, IsTerminal, Stdout, StdoutLock, Write};
use std::process::ExitCode;

use anstream::AutoStream;
use plumbline_app::AppError;
use plumbline_core::text::{Printable, coloured_line, steers_terminal};

use crate::ci::WithoutCommands;

/// Standard output, buffered.
pub(crate) struct Out {
    out: BufWriter<AutoStream<Box<dyn Write>>>,
    /// The start of a line that is not printed yet. `None` for output with every byte.
    line: Option<Vec<u8>>,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(line) = &mut self.line else { return self.out.write(bytes) };
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            line.extend(piece);
            if line.ends_with(b"\n") {
                writeln!(self.out, "{}", coloured_line(&String::from_utf8_lossy(line)))?;
                line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(line) = &mut self.line {
            write!(self.out, "{}", coloured_line(&String::from_utf8_lossy(line)))?;
            line.clear();
        }
        self.out.flush()
    }
}

/// Prints to standard output, without escape sequences if that is not a terminal. Text from outside
/// cannot control the terminal: only escape sequences that set colors remain. Nor can it control a CI
/// service. `failed` is the summary of the error if that fails.
pub(crate) fn print(failed: &str, text: impl FnOnce(&mut Out) -> io::Result<()>) -> Result<ExitCode, AppError> {
    let stdout = io::stdout().lock();
    let choice = AutoStream::choice(&stdout);
    let out: Box<dyn Write> = Box::new(WithoutCommands::stdout(stdout));
    print_on(AutoStream::new(out, choice), Some(Vec::new()), failed, text)
}

/// Prints to standard output as [`print()`] does, with every byte.
pub(crate) fn print_raw(failed: &str, text: impl FnOnce(&mut Out) -> io::Result<()>) -> Result<ExitCode, AppError> {
    let out: Box<dyn Write> = Box::new(io::stdout().lock());
    print_on(AutoStream::always_ansi(out), None, failed, text)
}

/// Prints to standard output: text as [`print()`] does, and data as [`print_raw`] does.
pub(crate) fn print_as(
    is_text: bool,
    failed: &str,
    text: impl FnOnce(&mut Out) -> io::Result<()>,
) -> Result<ExitCode, AppError> {
    if is_text { print(failed, text) } else { print_raw(failed, text) }
}

/// Returns standard error for text, without escape sequences if it is not a terminal. The text cannot
/// control a CI service.
pub(crate) fn stderr() -> AutoStream<Box<dyn Write>> {
    let stderr = io::stderr().lock();
    let choice = AutoStream::choice(&stderr);
    let out: Box<dyn Write> = Box::new(WithoutCommands::new(stderr));
    AutoStream::new(out, choice)
}

/// Writes a field of a view on a line of its own: `key` in a column, and its value.
pub(crate) fn field(out: &mut impl Write, key: &str, value: impl Into<Printable>) -> io::Result<()> {
    let value: Printable = value.into();
    writeln!(out, "{key:<12} {value}")
}

fn print_on(
    out: AutoStream<Box<dyn Write>>,
    line: Option<Vec<u8>>,
    failed: &str,
    text: impl FnOnce(&mut Out) -> io::Result<()>,
) -> Result<ExitCode, AppError> {
    let mut out = Out { out: BufWriter::new(out), line };
    text(&mut out).and_then(|()| out.flush()).map_err(|error| AppError::printing(failed, &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Maximum bytes of a UTF-8 character that may be missing at the end of a chunk.
const MAX_PART: usize = 3;

/// Standard output for foreign text. A terminal gets it without control characters; a pipe or file
/// gets every byte. A CI service gets no commands in text.
pub(crate) struct Foreign<W> {
    out: W,
    is_terminal: bool,
    /// The first bytes of an incomplete character.
    part: Vec<u8>,
}

impl Foreign<WithoutCommands<StdoutLock<'static>>> {
    /// Returns a writer to standard output, for text or for data.
    pub(crate) fn stdout(is_text: bool) -> Self {
        let stdout: Stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let out = stdout.lock();
        let out = if is_text { WithoutCommands::stdout(out) } else { WithoutCommands::for_data(out) };
        Self { out, is_terminal, part: Vec::new() }
    }
}

impl<W: Write> Write for Foreign<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        let mut all = std::mem::take(&mut self.part);
        all.extend(bytes);
        let mut safe = String::with_capacity(all.len());
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            safe.extend(chunk.valid().chars().map(shown));
            let invalid = chunk.invalid();
            let unfinished = chunks.peek().is_none()
                && invalid.len() <= MAX_PART
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if unfinished {
                self.part = invalid.to_vec();
            } else if !invalid.is_empty() {
                safe.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.out.write_all(safe.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn shown(c: char) -> char {
    if steers_terminal(c) && !matches!(c, '\n' | '\t') { char::REPLACEMENT_CHARACTER } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(is_terminal: bool, bytes: &[u8], piece: usize) -> Vec<u8> {
        let mut foreign = Foreign { out: Vec::new(), is_terminal, part: Vec::new() };
        for piece in bytes.chunks(piece) {
            foreign.write_all(piece).unwrap();
        }
        foreign.out
    }

    #[test]
    fn only_a_terminal_is_protected() {
        let content = "a\u{1b}[2J\tä\u{9b}漢\r\n\u{202e}b".as_bytes();
        for piece in 1..=content.len() {
            assert_eq!(written(false, content, piece), content);
            let shown = String::from_utf8(written(true, content, piece)).unwrap();
            assert_eq!(shown, "a\u{fffd}[2J\tä\u{fffd}漢\u{fffd}\n\u{fffd}b", "in pieces of {piece}");
        }
        assert_eq!(written(true, b"a\xffb\xe4", 4), "a\u{fffd}b".as_bytes());
    }
}
