//! Counts log lines that look like errors or warnings.

use std::io::{self, BufRead};

/// Number of bytes of a line that are searched. A match after that is not counted.
const MAX_LINE: usize = 64 << 10;

/// Numbers of suspicious lines in a log. A line counts at most once in each class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hits {
    pub(super) errors: u64,
    pub(super) warnings: u64,
}

/// Counts the suspicious lines of a log.
pub(super) fn scan(mut log: impl BufRead) -> io::Result<Hits> {
    let mut hits = Hits::default();
    let mut line = Vec::new();
    loop {
        let piece = log.fill_buf()?;
        if piece.is_empty() {
            count(&line, &mut hits);
            return Ok(hits);
        }
        let end = piece.iter().position(|&b| b == b'\n');
        let text = end.and_then(|end| piece.get(..end)).unwrap_or(piece);
        let room = MAX_LINE.saturating_sub(line.len());
        line.extend_from_slice(text.get(..room).unwrap_or(text));
        let taken = text.len() + usize::from(end.is_some());
        log.consume(taken);
        if end.is_some() {
            count(&line, &mut hits);
            line.clear();
        }
    }
}

fn count(line: &[u8], hits: &mut Hits) {
    if is_error(line) {
        hits.errors += 1;
    }
    if is_warning(line) {
        hits.warnings += 1;
    }
}

/// Matches `[fF]ailed`, `[eE]rror`, and `^E[0-9]+` (an error in klog). `level=error` is covered by
/// the second.
fn is_error(line: &[u8]) -> bool {
    klog(line, b'E') || holds(line, b"Ff", b"ailed") || holds(line, b"Ee", b"rror")
}

/// Matches `[wW]arn` and `^W[0-9]+`. `level=warn` is covered by the first.
fn is_warning(line: &[u8]) -> bool {
    klog(line, b'W') || holds(line, b"Ww", b"arn")
}

fn klog(line: &[u8], letter: u8) -> bool {
    line.first() == Some(&letter) && line.get(1).is_some_and(u8::is_ascii_digit)
}

/// Returns true if a byte of `first` is directly before `rest` anywhere in the line.
fn holds(line: &[u8], first: &[u8], rest: &[u8]) -> bool {
    line.windows(rest.len() + 1)
        .any(|at| at.split_first().is_some_and(|(head, tail)| first.contains(head) && tail == rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_once_in_each_class() {
        let log = "E0101 10:00 x\nE0 failed with an Error\nlevel=error\nlevel=warn Failed\nWarning\nW1\nEx W2\nall is well\nhorrors, ERROR\nwarn";
        // `horrors` contains `rror` after an `o`.
        assert_eq!(scan(log.as_bytes()).unwrap(), Hits { errors: 4, warnings: 4 });
        assert_eq!(scan(&b""[..]).unwrap(), Hits::default());
    }

    #[test]
    fn lines_without_end_are_read_piece_by_piece() {
        let mut log = vec![b'x'; 1 << 20];
        log.extend_from_slice(b" Error\nfailed\n");
        let small = io::BufReader::with_capacity(7, log.as_slice());
        assert_eq!(scan(small).unwrap(), Hits { errors: 1, warnings: 0 });
    }
}
