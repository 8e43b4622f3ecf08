//! A file that holds the newest bytes of a stream. It is a ring, so memory is one buffer and disk
//! use is bounded.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

const PIECE: usize = 64 << 10;

/// The amount of logs that did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

/// A ring file with the newest bytes that were written.
#[derive(Debug)]
pub(crate) struct Newest<'f> {
    file: &'f File,
    limit: u64,
    /// Total number of bytes written.
    bytes: u64,
    /// Total number of lines written.
    pub(crate) lines: u64,
    last: Option<u8>,
}

impl<'f> Newest<'f> {
    /// Creates a ring of at most `limit` bytes, and at least 1, in the empty `file`.
    pub(crate) fn new(file: &'f File, limit: u64) -> Self {
        Self { file, limit: limit.max(1), bytes: 0, lines: 0, last: None }
    }

    /// Terminates the last line if it was interrupted.
    pub(crate) fn end_line(&mut self) -> io::Result<()> {
        if self.last.is_some_and(|byte| byte != b'\n') { self.write_all(b"\n") } else { Ok(()) }
    }

    /// Returns true if the file still holds everything that was written.
    pub(crate) fn is_whole(&self) -> bool {
        self.bytes <= self.limit
    }

    /// Returns how many lines and bytes are missing from the whole lines in the file.
    pub(crate) fn missing(&self) -> io::Result<Missing> {
        let start = self.first_line()?;
        let mut kept = 0;
        self.each_piece(start, |piece| {
            kept += count(piece);
            Ok(())
        })?;
        Ok(Missing { lines: self.lines.saturating_sub(kept), bytes: start })
    }

    /// Copies the whole lines to `out`, oldest first.
    pub(crate) fn copy_to(&self, out: &mut dyn Write) -> io::Result<()> {
        self.each_piece(self.first_line()?, |piece| out.write_all(piece))
    }

    /// Returns the stream position of the first line that is still complete.
    fn first_line(&self) -> io::Result<u64> {
        if self.is_whole() {
            return Ok(0);
        }
        let mut at = self.bytes.saturating_sub(self.limit);
        let mut found = None;
        self.each_piece(at, |piece| {
            if found.is_none() {
                found = memchr::memchr(b'\n', piece).map(|end| at + end as u64 + 1);
                at += piece.len() as u64;
            }
            Ok(())
        })?;
        Ok(found.unwrap_or(self.bytes))
    }

    /// Calls `take` with pieces of the stream from position `at` to the end.
    fn each_piece(&self, mut at: u64, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut buffer = vec![0; PIECE];
        while at < self.bytes {
            let place = at % self.limit;
            let length = (self.bytes - at).min(self.limit - place).min(PIECE as u64);
            let Some(piece) = buffer.get_mut(..usize::try_from(length).unwrap_or(PIECE)) else { break };
            self.file.read_exact_at(piece, place)?;
            take(piece)?;
            at += length;
        }
        Ok(())
    }
}

impl Write for Newest<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let place = self.bytes % self.limit;
        let room = usize::try_from(self.limit - place).unwrap_or(usize::MAX);
        let piece = bytes.get(..room.min(bytes.len())).unwrap_or(bytes);
        self.file.write_all_at(piece, place)?;
        self.bytes += piece.len() as u64;
        self.lines += count(piece);
        self.last = piece.last().copied().or(self.last);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn count(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(limit: u64, pieces: &[&str]) -> (String, Missing, bool) {
        let file = tempfile::tempfile().unwrap();
        let mut newest = Newest::new(&file, limit);
        for piece in pieces {
            newest.write_all(piece.as_bytes()).unwrap();
        }
        newest.end_line().unwrap();
        let mut out = Vec::new();
        newest.copy_to(&mut out).unwrap();
        (String::from_utf8(out).unwrap(), newest.missing().unwrap(), newest.is_whole())
    }

    #[test]
    fn the_newest_whole_lines_stay_and_the_rest_is_counted() {
        assert_eq!(kept(100, &["one\ntw", "o\n"]), ("one\ntwo\n".to_owned(), Missing { lines: 0, bytes: 0 }, true));
        assert_eq!(kept(8, &["one\n", "two\n", "six\n"]).0, "six\n");
        assert_eq!(
            kept(9, &["one\n", "two\n", "six\n"]),
            ("two\nsix\n".to_owned(), Missing { lines: 1, bytes: 4 }, false)
        );
        // A line that does not fit at all, because it was interrupted.
        assert_eq!(kept(4, &["a very long line"]), (String::new(), Missing { lines: 1, bytes: 17 }, false));
        assert_eq!(kept(0, &[]).0, "");
    }

    proptest! {
        #[test]
        fn the_newest_lines_are_kept(lines in proptest::collection::vec("[a-z]{0,12}", 0..40), limit in 1_u64..80) {
            let whole: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let (text, missing, all) = kept(limit, &[&whole]);
            prop_assert!(whole.ends_with(&text));
            prop_assert!(text.len() as u64 <= limit);
            prop_assert_eq!(missing.bytes, (whole.len() - text.len()) as u64);
            prop_assert_eq!(missing.lines, (whole.lines().count() - text.lines().count()) as u64);
            prop_assert_eq!(all, missing.bytes == 0);
            // No line is dropped that would have fit.
            if let Some(last) = whole[..whole.len() - text.len()].lines().last() {
                prop_assert!(text.len() + last.len() + 1 >= limit as usize);
            }
        }
    }
}
