//! Reads the lines of a log, whatever their length.

use std::io::{self, BufRead};

/// Number of bytes of a line that are examined: 64 KiB. The values of a line are near its start.
pub const MAX_LINE: usize = 64 << 10;

/// A line without its line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// At most [`MAX_LINE`] bytes.
    pub(crate) text: &'a [u8],
    /// Whether the line has more bytes.
    pub(crate) is_cut: bool,
}

impl<'a> Line<'a> {
    fn of(text: &'a [u8], is_cut: bool) -> Self {
        let text = if is_cut { text } else { text.strip_suffix(b"\r").unwrap_or(text) };
        Self { text, is_cut }
    }
}

/// Passes each line to `tell`.
pub(crate) fn each(mut from: impl BufRead, mut tell: impl FnMut(Line<'_>)) -> io::Result<()> {
    let mut line = Vec::new();
    let (mut any, mut is_cut) = (false, false);
    loop {
        let piece = from.fill_buf()?;
        if piece.is_empty() {
            if any {
                tell(Line::of(&line, is_cut));
            }
            return Ok(());
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let (part, used) = match end {
            Some(at) => (piece.get(..at).unwrap_or_default(), at + 1),
            None => (piece, piece.len()),
        };
        let room = MAX_LINE - line.len();
        is_cut |= part.len() > room;
        let kept = part.get(..room).unwrap_or(part);
        match (end, line.is_empty()) {
            // The most frequent case: a whole line within the buffer, which need not be copied.
            (Some(_), true) => tell(Line::of(kept, is_cut)),
            (Some(_), false) => {
                line.extend_from_slice(kept);
                tell(Line::of(&line, is_cut));
                line.clear();
            }
            (None, _) => line.extend_from_slice(kept),
        }
        is_cut &= end.is_none();
        any = end.is_none();
        from.consume(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], capacity: usize) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        each(io::BufReader::with_capacity(capacity, text), |line| lines.push(line.text.to_vec())).unwrap();
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
        for (longer, end) in [(0, ""), (0, "\n"), (0, "\nnext"), (1, ""), (1, "\nnext"), (MAX_LINE, "\nnext\n")] {
            let text = [&vec![b'x'; MAX_LINE + longer][..], end.as_bytes()].concat();
            for capacity in [7, 2 * MAX_LINE] {
                let mut lines = Vec::new();
                let from = io::BufReader::with_capacity(capacity, text.as_slice());
                each(from, |line| lines.push((line.text.len(), line.is_cut))).unwrap();
                let next = end.contains("next").then_some((4, false));
                let want: Vec<_> = [(MAX_LINE, longer > 0)].into_iter().chain(next).collect();
                assert_eq!(lines, want, "{longer} {end:?} {capacity}");
            }
        }
    }
}
