//! Keeps text from outside from being commands of a CI service, which reads them in the log of a job:
//! `::COMMAND::` at the start of a line (GitHub Actions), `##[COMMAND]` (also Azure Pipelines),
//! `##vso[COMMAND]` and `##teamcity[COMMAND]` anywhere in it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::LazyLock;

/// Whether a CI service reads commands in the output of this process.
static READS_COMMANDS: LazyLock<bool> = LazyLock::new(|| {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
        || is_set("TF_BUILD")
        || is_set("TEAMCITY_VERSION")
});

/// Writes text. Where a CI service would read a command, a space divides its start: `: :` and `## [`.
#[derive(Debug)]
pub(crate) struct WithoutCommands<W> {
    out: W,
    /// `None` if no service reads commands.
    scanner: Option<Scanner>,
}

impl<W> WithoutCommands<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, scanner: READS_COMMANDS.then(Scanner::default) }
    }

    /// Returns a writer for text on standard output. A file gets every byte, because no service reads
    /// commands in it.
    pub(crate) fn stdout(out: W) -> Self
    where
        W: AsFd,
    {
        let file = out.as_fd().try_clone_to_owned().map(File::from);
        match file.and_then(|file| file.metadata()).is_ok_and(|metadata| metadata.is_file()) {
            true => Self::for_data(out),
            false => Self::new(out),
        }
    }

    /// Returns a writer that changes nothing, for data.
    pub(crate) fn for_data(out: W) -> Self {
        Self { out, scanner: None }
    }
}

impl<W: Write> Write for WithoutCommands<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(scanner) = &mut self.scanner else { return self.out.write(bytes) };
        self.out.write_all(&scanner.divided(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Finds the starts of commands in text that arrives in pieces.
#[derive(Debug, Default)]
struct Scanner {
    line: LineStart,
    /// The number of `#`, up to two. Letters may follow two of them.
    hashes: u8,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum LineStart {
    /// The line has only blanks so far.
    #[default]
    Blank,
    /// The line starts with one colon.
    Colon,
    /// The line starts with something else.
    Other,
}

impl Scanner {
    /// Returns the bytes with a space in each start of a command.
    fn divided(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            if self.completes_start(byte) {
                shown.push(b' ');
            }
            shown.push(byte);
        }
        shown
    }

    /// Takes the next byte, and returns whether it completes the start of a command.
    fn completes_start(&mut self, byte: u8) -> bool {
        let is_start = matches!((self.line, byte), (LineStart::Colon, b':')) || (self.hashes == 2 && byte == b'[');
        self.line = match (self.line, byte) {
            (_, b'\n' | b'\r') => LineStart::Blank,
            (LineStart::Blank, b':') => LineStart::Colon,
            // Services skip blanks of Unicode too, so other characters outside of ASCII count as blanks.
            (LineStart::Blank, byte) if !byte.is_ascii_graphic() => LineStart::Blank,
            _ => LineStart::Other,
        };
        self.hashes = match (self.hashes, byte) {
            (0, b'#') => 1,
            (1 | 2, b'#') => 2,
            (2, byte) if byte.is_ascii_alphabetic() => 2,
            _ => 0,
        };
        is_start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_of_commands_are_divided_wherever_pieces_end() {
        for (text, shown) in [
            ("::set-output name=a::b\n", ": :set-output name=a::b\n"),
            ("a\n \t::stop-commands::x\r\n", "a\n \t: :stop-commands::x\r\n"),
            ("a\r::add-mask::passed", "a\r: :add-mask::passed"),
            ("\u{a0}\u{3000}::x\n\n::y", "\u{a0}\u{3000}: :x\n\n: :y"),
            (":::x\n:", ": ::x\n:"),
            ("a ##[add-mask]x ###[b]", "a ## [add-mask]x ### [b]"),
            ("##vso[task.setvariable]x", "##vso [task.setvariable]x"),
            ("a ##teamcity[buildStatus]", "a ##teamcity [buildStatus]"),
        ] {
            for piece in 1..=text.len() {
                let mut out = WithoutCommands { out: Vec::new(), scanner: Some(Scanner::default()) };
                text.as_bytes().chunks(piece).for_each(|piece| out.write_all(piece).unwrap());
                assert_eq!(String::from_utf8(out.out).unwrap(), shown, "in pieces of {piece}");
            }
        }
    }

    #[test]
    fn other_text_stays_as_it_is() {
        let text = "a::b::c\nstd::fs, ::a\n# [x] #[y] ## z\n## [x]\n: :\n";
        let mut scanner = Scanner::default();
        assert_eq!(scanner.divided(text.as_bytes()), text.as_bytes());
        let mut data = WithoutCommands::for_data(Vec::new());
        data.write_all(b"::x::\n##[y]").unwrap();
        assert_eq!(data.out, b"::x::\n##[y]");
    }
}
