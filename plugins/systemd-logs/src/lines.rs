//! Reads the lines of a stream, with a maximum length.

use std::io::{self, BufRead};

/// Maximum size of a line in bytes: 16 MiB, twice the worker's maximum.
pub const MAX_LINE: usize = 16 << 20;

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The line is in the buffer.
    Line,
    /// The line is too long.
    TooLong,
    /// There are no more lines.
    End,
}

/// Reads the next line into `line`, without its line break.
pub(crate) fn next(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Next> {
    line.clear();
    let mut too_long = false;
    let mut any = false;
    loop {
        let buffer = from.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        any = true;
        let end = memchr::memchr(b'\n', buffer);
        let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        if line.len() + part.len() > MAX_LINE {
            too_long = true;
            line.clear();
        }
        if !too_long {
            line.extend_from_slice(part);
        }
        let used = end.map_or(buffer.len(), |end| end + 1);
        from.consume(used);
        if end.is_some() {
            break;
        }
    }
    Ok(match (any, too_long) {
        (false, _) => Next::End,
        (true, true) => Next::TooLong,
        (true, false) => Next::Line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_and_without_an_end() {
        let mut from = io::BufReader::with_capacity(2, &b"one\n\nthree"[..]);
        let mut line = Vec::new();
        let mut read = Vec::new();
        while next(&mut from, &mut line).unwrap() == Next::Line {
            read.push(String::from_utf8(line.clone()).unwrap());
        }
        assert_eq!(read, ["one", "", "three"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let mut text = vec![b'x'; MAX_LINE + 1];
        text.extend(b"\nnext\n");
        let mut from = io::BufReader::new(&text[..]);
        let mut line = Vec::new();
        assert_eq!(next(&mut from, &mut line).unwrap(), Next::TooLong);
        assert_eq!(next(&mut from, &mut line).unwrap(), Next::Line);
        assert_eq!((line.as_slice(), next(&mut from, &mut Vec::new()).unwrap()), (&b"next"[..], Next::End));
    }
}
