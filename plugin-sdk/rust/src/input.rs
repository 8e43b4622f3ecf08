//! The files that a module reads.

use std::fmt;
use std::io::{self, BufRead, Read};

/// Number of bytes to request from the host in one call: half of the host's maximum. A call costs
/// well under a microsecond, so larger pieces gain nothing. They even lose: a piece of this size is
/// still in the processor's cache when it is copied from host to guest.
pub const READ_BYTES: u32 = 1 << 19;

/// A source of a file's bytes: the host, or a test.
pub(crate) trait Source {
    /// Returns the next bytes, at most `max`. An empty list means the end; the error is a sentence
    /// with the cause.
    fn read(&mut self, max: u32) -> Result<Vec<u8>, String>;
}

/// A file of the result set, or of a judge's evidence. It is read-only, sequential, and can be read
/// once.
///
/// The file implements [`BufRead`] on the buffer that the host filled, so nothing is copied twice.
/// An [`io::Error`] displays the host's sentence unchanged. Put it under the metadata key `error`
/// of the file's item.
pub struct InputFile {
    path: String,
    size: u64,
    source: Box<dyn Source>,
    buffer: Vec<u8>,
    position: usize,
}

impl InputFile {
    pub(crate) fn new(path: String, size: u64, source: Box<dyn Source>) -> Self {
        Self { path, size, source, buffer: Vec::new(), position: 0 }
    }

    /// Returns the path of the file, relative to the plugin's directory in the archive and
    /// separated by `/`, such as `results/global/junit_01.xml`. The path is unique within a result
    /// set.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the last part of the path, such as `junit_01.xml`.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the size in bytes at the start of the call.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl BufRead for InputFile {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position >= self.buffer.len() {
            // Free the old buffer before requesting the next one, so that only one is in memory.
            self.buffer = Vec::new();
            self.position = 0;
            self.buffer = self.source.read(READ_BYTES).map_err(io::Error::other)?;
        }
        Ok(self.buffer.get(self.position..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.position = self.position.saturating_add(amount).min(self.buffer.len());
    }
}

impl Read for InputFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let read = available.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputFile").field("path", &self.path).field("size", &self.size).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns these pieces, one per read, with an error where one is listed.
    struct Pieces(Vec<Result<&'static str, &'static str>>);

    impl Source for Pieces {
        fn read(&mut self, max: u32) -> Result<Vec<u8>, String> {
            assert_eq!(max, READ_BYTES);
            if self.0.is_empty() {
                return Ok(Vec::new());
            }
            self.0.remove(0).map(|piece| piece.as_bytes().to_vec()).map_err(str::to_owned)
        }
    }

    fn file(pieces: &[Result<&'static str, &'static str>]) -> InputFile {
        InputFile::new("results/global/a.b/c.txt".to_owned(), 7, Box::new(Pieces(pieces.to_vec())))
    }

    #[test]
    fn lines_do_not_depend_on_where_the_host_cuts() {
        let lines: Vec<String> =
            file(&[Ok("on"), Ok("e\ntw"), Ok("o"), Ok("\n")]).lines().map(Result::unwrap).collect();
        assert_eq!(lines, ["one", "two"]);
    }

    #[test]
    fn small_reads_lose_nothing() {
        let mut file = file(&[Ok("abc"), Ok("de")]);
        let mut read = Vec::new();
        let mut two = [0; 2];
        loop {
            match file.read(&mut two).unwrap() {
                0 => break,
                count => read.extend_from_slice(&two[..count]),
            }
        }
        assert_eq!(read, b"abcde");
        file.consume(100);
        assert_eq!(file.fill_buf().unwrap(), b"", "consuming what is not there does no harm");
    }

    #[test]
    fn the_sentence_of_the_host_is_the_error() {
        let mut text = String::new();
        let error = file(&[Ok("abc"), Err("the disk is gone")]).read_to_string(&mut text).unwrap_err();
        assert_eq!(error.to_string(), "the disk is gone");
    }

    #[test]
    fn names_are_the_last_part_of_the_path() {
        let file = file(&[]);
        assert_eq!((file.file_name(), file.size()), ("c.txt", 7));
        assert_eq!(format!("{file:?}"), "InputFile { path: \"results/global/a.b/c.txt\", size: 7, .. }");
    }
}
