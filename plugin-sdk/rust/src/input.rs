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

    /// Reads the rest of the file; `None` if it has more than `max` bytes.
    ///
    /// # Errors
    ///
    /// The file cannot be read to its end.
    pub fn read_within(&mut self, max: u64) -> io::Result<Option<Vec<u8>>> {
        // The size is only a hint; what is read counts.
        let likely = usize::try_from(self.size.min(max)).unwrap_or_default();
        let mut bytes = Vec::with_capacity(likely.saturating_add(1));
        self.by_ref().take(max.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= max))
    }
}

/// Number of bytes in which [`read_line`] skips the rest of a line, so that it does not need the memory
/// of a second line.
const SKIPPED_BYTES: usize = 64 << 10;

/// The end of a line that [`read_line`] has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineEnd {
    /// Whether the line has more bytes than were kept.
    pub is_cut: bool,
    /// Whether the line ends with a line feed. Otherwise it is the last one, and may be incomplete.
    pub is_complete: bool,
}

/// Reads the next line into `line`, without its line feed, and skips what follows its first `max`
/// bytes. Returns `None` at the end of the input.
///
/// # Errors
///
/// The input cannot be read.
pub fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, max: usize) -> io::Result<Option<LineEnd>> {
    line.clear();
    let Some(mut is_complete) = read_piece(input, line, max)? else { return Ok(None) };
    let is_cut = line.len() > max;
    let mut rest = Vec::new();
    while is_cut && !is_complete {
        rest.clear();
        let Some(ends) = read_piece(input, &mut rest, max.min(SKIPPED_BYTES))? else { break };
        is_complete = ends;
    }
    line.truncate(max);
    Ok(Some(LineEnd { is_cut, is_complete }))
}

/// Appends at most one byte more than `max` of the line. Returns whether the line ends there, or
/// `None` at the end of the input.
fn read_piece(input: &mut impl BufRead, into: &mut Vec<u8>, max: usize) -> io::Result<Option<bool>> {
    let read = input.by_ref().take(max as u64 + 1).read_until(b'\n', into)?;
    let ends = into.last() == Some(&b'\n');
    if ends {
        into.pop();
    }
    Ok((read > 0).then_some(ends))
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
    fn a_file_above_the_limit_is_not_returned() {
        assert_eq!(file(&[Ok("abc"), Ok("de")]).read_within(5).unwrap().as_deref(), Some(&b"abcde"[..]));
        assert_eq!(file(&[Ok("abc"), Ok("de")]).read_within(4).unwrap(), None);
        assert!(file(&[Ok("abc"), Err("the disk is gone")]).read_within(9).is_err());
    }

    #[test]
    fn long_lines_are_cut_and_the_next_one_is_whole() {
        for capacity in [1, 2, 3, 100] {
            let mut input = io::BufReader::with_capacity(capacity, &b"one\n\nlonger line\nfour\n12345"[..]);
            let (mut line, mut lines) = (Vec::new(), Vec::new());
            while let Some(LineEnd { is_cut, is_complete }) = read_line(&mut input, &mut line, 4).unwrap() {
                lines.push((String::from_utf8(line.clone()).unwrap(), is_cut, is_complete));
            }
            let lines: Vec<_> = lines.iter().map(|(line, cut, complete)| (line.as_str(), *cut, *complete)).collect();
            let want = [
                ("one", false, true),
                ("", false, true),
                ("long", true, true),
                ("four", false, true),
                ("1234", true, false),
            ];
            assert_eq!(lines, want, "{capacity}");
        }
    }

    #[test]
    fn names_are_the_last_part_of_the_path() {
        let file = file(&[]);
        assert_eq!((file.file_name(), file.size()), ("c.txt", 7));
        assert_eq!(format!("{file:?}"), "InputFile { path: \"results/global/a.b/c.txt\", size: 7, .. }");
    }
}
