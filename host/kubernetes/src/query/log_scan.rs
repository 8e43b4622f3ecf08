//! Counting lines of logs that look like errors or warnings.

use std::io::{self, BufRead};

/// What is looked at of one line. A hit behind that is not counted.
const MAX_LINE: usize = 64 << 10;

/// Lines of one log that look bad. A line counts at most once in each class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hits {
    pub(super) errors: u64,
    pub(super) warnings: u64,
}

/// Counts the lines of a log.
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

/// `[fF]ailed`, `[eE]rror`, `^E[0-9]+` (how klog begins an error), `level=error`, which the second finds as well.
fn is_error(line: &[u8]) -> bool {
    klog(line, b'E') || holds(line, b"Ff", b"ailed") || holds(line, b"Ee", b"rror")
}

/// `[wW]arn`, `^W[0-9]+`, `level=warn`, which the first finds as well.
fn is_warning(line: &[u8]) -> bool {
    klog(line, b'W') || holds(line, b"Ww", b"arn")
}

fn klog(line: &[u8], letter: u8) -> bool {
    line.first() == Some(&letter) && line.get(1).is_some_and(u8::is_ascii_digit)
}

/// Whether one of `first` stands before `rest` anywhere.
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
        // `horrors` holds `rror` behind an `o`.
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
