//! Cuts a stream into JSON objects, without looking into them.

use std::io::BufRead;

use memchr::memchr2;

/// Bytes of an event at most: 8 MiB. Go cuts lines of output after a few KiB, so real events are far smaller.
pub const MAX_EVENT: usize = 8 << 20;

/// Bytes of foreign text in a reason.
const MAX_SHOWN: usize = 60;

/// What some editors and shells put before UTF-8.
const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Objects that follow each other, with nothing but white space between them.
pub(crate) struct Scanner<R> {
    input: R,
    /// The object that is being gathered.
    object: Vec<u8>,
    /// The line of the next byte, counted from 1.
    line: u64,
    /// Bytes of the mark that were seen.
    mark: usize,
    at_start: bool,
}

/// Where in an object the scanner is.
#[derive(Default)]
struct Inside {
    /// Brackets and braces that are open.
    depth: u64,
    in_text: bool,
    /// The last byte was a backslash that is not itself escaped.
    escaped: bool,
}

impl<R: BufRead> Scanner<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, object: Vec::new(), line: 1, mark: 0, at_start: true }
    }

    /// The next object, and the line that it begins on; `None` at the end. What is returned begins with a brace and ends with what
    /// closes it; it need not be JSON otherwise.
    ///
    /// # Errors
    /// A sentence: something else stands there, the object is too long, the file ends in it, or the file cannot be read.
    pub(crate) fn next_object(&mut self) -> Result<Option<(u64, &[u8])>, String> {
        if !self.skip_white_space()? {
            return Ok(None);
        }
        let begin = self.line;
        self.object.clear();
        let mut inside = Inside::default();
        loop {
            let buffer = self.input.fill_buf().map_err(|error| error.to_string())?;
            if buffer.is_empty() {
                return Err(format!("line {begin}: the file ends within an event"));
            }
            let end = inside.end(buffer);
            let taken = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or(buffer);
            if self.object.len() + taken.len() > MAX_EVENT {
                return Err(format!("line {begin}: an event is longer than {MAX_EVENT} bytes"));
            }
            self.object.extend_from_slice(taken);
            self.line += lines(taken);
            let length = taken.len();
            self.input.consume(length);
            if end.is_some() {
                return Ok(Some((begin, &self.object)));
            }
        }
    }

    /// False at the end; else the next byte is a brace.
    fn skip_white_space(&mut self) -> Result<bool, String> {
        loop {
            let buffer = self.input.fill_buf().map_err(|error| error.to_string())?;
            if buffer.is_empty() {
                return Ok(false);
            }
            let mut blanks = 0;
            for byte in buffer {
                if self.at_start && MARK.get(self.mark) == Some(byte) {
                    self.mark += 1;
                } else if byte.is_ascii_whitespace() {
                    self.at_start = false;
                } else {
                    break;
                }
                blanks += 1;
            }
            let (skipped, rest) = buffer.split_at(blanks);
            match rest.first() {
                None | Some(b'{') => {}
                Some(_) => {
                    return Err(format!("line {}: `{}` is not an event", self.line + lines(skipped), shown(rest)));
                }
            }
            let found = !rest.is_empty();
            self.line += lines(skipped);
            self.input.consume(blanks);
            if found {
                self.at_start = false;
                return Ok(true);
            }
        }
    }
}

impl Inside {
    /// Goes on with these bytes. The number of bytes up to and including the one that closes the object, if it is among them.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut place = 0;
        while let Some(&byte) = bytes.get(place) {
            if self.escaped {
                self.escaped = false;
            } else if self.in_text {
                // Nearly all bytes of an event stand in texts.
                place += memchr2(b'"', b'\\', bytes.get(place..)?)?;
                match bytes.get(place)? {
                    b'"' => self.in_text = false,
                    _ => self.escaped = true,
                }
            } else {
                match byte {
                    b'"' => self.in_text = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                if self.depth == 0 {
                    return Some(place + 1);
                }
            }
            place += 1;
        }
        None
    }
}

fn lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The first line of `bytes` as it can be shown in a reason.
fn shown(bytes: &[u8]) -> String {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let cut = line.get(..MAX_SHOWN).unwrap_or(line);
    let dots = if cut.len() < line.len() { "…" } else { "" };
    format!("{}{dots}", String::from_utf8_lossy(cut).escape_debug())
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// The objects and their lines, and the reason why there are no more.
    fn objects(text: &[u8], piece: usize) -> (Vec<String>, Option<String>) {
        let mut scanner = Scanner::new(BufReader::with_capacity(piece, text));
        let mut found = Vec::new();
        loop {
            match scanner.next_object() {
                Ok(Some((line, bytes))) => found.push(format!("{line} {}", String::from_utf8_lossy(bytes))),
                Ok(None) => return (found, None),
                Err(reason) => return (found, Some(reason)),
            }
        }
    }

    #[test]
    fn objects_are_cut_wherever_the_buffer_ends() {
        let text = b"\xEF\xBB\xBF {\"a\":1}{\"b\":{\"c\":[\"}\\\"]{\\\\\"]}}\r\n\n{\n\"d\":2\n}\t\n{}";
        for piece in 1..text.len() {
            let (found, reason) = objects(text, piece);
            assert_eq!(reason, None, "{piece}");
            assert_eq!(
                found,
                ["1 {\"a\":1}", "1 {\"b\":{\"c\":[\"}\\\"]{\\\\\"]}}", "3 {\n\"d\":2\n}", "6 {}"],
                "{piece}"
            );
        }
    }

    #[test]
    fn what_is_no_object_is_shown_with_its_line() {
        let (found, reason) = objects(b"{}\n\n# example.com/p\nmore\n", 1000);
        assert_eq!(found, ["1 {}"]);
        assert_eq!(reason.unwrap(), "line 3: `# example.com/p` is not an event");
        let long = [b'x'; 200];
        let (_, reason) = objects(&long, 1000);
        assert_eq!(reason.unwrap(), format!("line 1: `{}…` is not an event", "x".repeat(60)));
    }

    #[test]
    fn a_mark_is_only_one_at_the_beginning() {
        assert_eq!(objects(b"\xEF\xBB\xBF", 1), (vec![], None));
        let (found, reason) = objects(b"{}\xEF\xBB\xBF{}", 1);
        assert_eq!(found, ["1 {}"]);
        assert!(reason.is_some());
    }

    #[test]
    fn the_end_within_an_object_and_a_length_over_the_bound_have_reasons() {
        assert_eq!(objects(b"{}\n{\"a\":\"x", 7).1.unwrap(), "line 2: the file ends within an event");
        let mut long = b"{\"a\":\"".to_vec();
        long.resize(MAX_EVENT - 2, b'x');
        long.extend(b"\"}");
        assert_eq!(objects(&long, 4096).0.len(), 1);
        long.insert(9, b'x');
        assert_eq!(objects(&long, 4096).1.unwrap(), "line 1: an event is longer than 8388608 bytes");
    }
}
