//! Reads the lines of a log, whatever their length.

use std::io::{self, BufRead};

/// Number of bytes of a line that are examined: 64 KiB. The values of a line are near its start.
pub const MAX_LINE: usize = 64 << 10;

/// Passes each line to `tell`, without its line break and cut to [`MAX_LINE`] bytes.
pub(crate) fn each(mut from: impl BufRead, mut tell: impl FnMut(&[u8])) -> io::Result<()> {
    let mut line = Vec::new();
    let mut any = false;
    loop {
        let piece = from.fill_buf()?;
        if piece.is_empty() {
            if any {
                tell(trimmed(&line));
            }
            return Ok(());
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let (part, used) = match end {
            Some(at) => (piece.get(..at).unwrap_or_default(), at + 1),
            None => (piece, piece.len()),
        };
        let room = MAX_LINE - line.len();
        match (end, line.is_empty()) {
            // The most frequent case: a whole line within the buffer, which need not be copied.
            (Some(_), true) => tell(trimmed(part.get(..room).unwrap_or(part))),
            (Some(_), false) => {
                line.extend_from_slice(part.get(..room).unwrap_or(part));
                tell(trimmed(&line));
                line.clear();
            }
            (None, _) => line.extend_from_slice(part.get(..room).unwrap_or(part)),
        }
        any = end.is_none();
        from.consume(used);
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], capacity: usize) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        each(io::BufReader::with_capacity(capacity, text), |line| lines.push(line.to_vec())).unwrap();
        lines
    }

    #[test]
    fn lines_do_not_depend_on_the_pieces_in_which_they_come() {
        for capacity in [1, 2, 3, 100] {
            assert_eq!(lines(b"one\r\n\ntwo\nthree", capacity), [&b"one"[..], b"", b"two", b"three"], "{capacity}");
            assert_eq!(lines(b"one\n", capacity), [b"one"]);
        }
        assert!(lines(b"", 5).is_empty());
    }

    #[test]
    fn long_lines_are_cut_and_the_next_one_is_whole() {
        let text = [&vec![b'x'; MAX_LINE + 5][..], b"\nnext"].concat();
        for capacity in [7, 2 * MAX_LINE] {
            let lines = lines(&text, capacity);
            assert_eq!((lines[0].len(), lines[1].as_slice()), (MAX_LINE, &b"next"[..]));
        }
    }
}
