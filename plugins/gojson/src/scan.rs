//! Splits a stream into JSON objects, without parsing them.

use std::io::{BufRead, Read};

use memchr::memchr2;

/// Maximum size of an event in bytes: 8 MiB. Go cuts lines of output after a few KiB, so real
/// events are far smaller.
pub const MAX_EVENT: usize = 8 << 20;

/// Maximum number of bytes of other text before the first event: 64 KiB.
const MAX_NOISE: u64 = 64 << 10;

/// How lines start that report a failure. Such a line is never skipped.
const FAILURES: [&[u8]; 4] = [b"FAIL", b"--- FAIL", b"panic:", b"# "];

/// Maximum number of bytes of untrusted text in a reason.
const MAX_SHOWN: usize = 60;

/// The UTF-8 byte order mark.
const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Successive objects, separated only by white space. Lines of other text may precede the first one,
/// such as the command that `make` prints.
pub(crate) struct Scanner<R> {
    input: R,
    /// The current object.
    object: Vec<u8>,
    /// The line of the next byte, from 1.
    line: u64,
    /// Number of bytes of the byte order mark that were seen.
    mark: usize,
    at_start: bool,
    /// Whether an object was found.
    begun: bool,
}

/// The scanner's state within an object.
#[derive(Default)]
struct Inside {
    /// Number of open brackets and braces.
    depth: u64,
    in_text: bool,
    /// Whether the last byte was a backslash that is not escaped itself.
    escaped: bool,
}

impl<R: BufRead> Scanner<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, object: Vec::new(), line: 1, mark: 0, at_start: true, begun: false }
    }

    /// Returns the next object and the line on which it starts; `None` at the end. The object
    /// starts with a brace and ends with the matching one. Its content need not be valid JSON.
    ///
    /// # Errors
    /// A sentence: there is something other than an object, the object is too long, the file ends
    /// within it, or the file cannot be read.
    pub(crate) fn next_object(&mut self) -> Result<Option<(u64, &[u8])>, String> {
        match self.skip_white_space()? {
            None => return Ok(None),
            Some(b'{') => {}
            Some(_) if self.begun => return Err(self.unexpected()),
            Some(_) => self.skip_noise()?,
        }
        self.begun = true;
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

    /// Skips white space. Returns the next byte, or `None` at the end.
    fn skip_white_space(&mut self) -> Result<Option<u8>, String> {
        loop {
            let buffer = self.input.fill_buf().map_err(|error| error.to_string())?;
            if buffer.is_empty() {
                return Ok(None);
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
            let next = rest.first().copied();
            self.line += lines(skipped);
            self.input.consume(blanks);
            if next.is_some() {
                self.at_start = false;
                return Ok(next);
            }
        }
    }

    /// Skips lines of other text before the first object. The next byte is then a brace.
    ///
    /// # Errors
    /// A sentence about the first line: no object follows, or a line could hide a failure.
    fn skip_noise(&mut self) -> Result<(), String> {
        let first = self.line;
        let mut reason = None;
        let mut left = MAX_NOISE;
        loop {
            let mut line = Vec::new();
            self.input.by_ref().take(left).read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
            left = left.saturating_sub(line.len() as u64);
            let reason = reason.get_or_insert_with(|| not_an_event(first, &line));
            let reports = FAILURES.iter().any(|start| line.starts_with(start));
            if reports || line.contains(&b'{') || !line.ends_with(b"\n") {
                return Err(std::mem::take(reason));
            }
            self.line += 1;
            match self.skip_white_space()? {
                None => return Err(std::mem::take(reason)),
                Some(b'{') => return Ok(()),
                Some(_) => {}
            }
        }
    }

    /// Returns the reason why the next bytes are not an object. It quotes the same bytes however the
    /// input splits them.
    fn unexpected(&mut self) -> String {
        let mut line = Vec::new();
        // One byte more than the reason shows, so that a longer line ends with an ellipsis.
        let mut start = self.input.by_ref().take(MAX_SHOWN as u64 + 1);
        match start.read_until(b'\n', &mut line) {
            Ok(_) => not_an_event(self.line, &line),
            Err(error) => error.to_string(),
        }
    }
}

impl Inside {
    /// Scans these bytes. Returns the number of bytes up to the end of the object, if it is among
    /// them.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut place = 0;
        while let Some(&byte) = bytes.get(place) {
            if self.escaped {
                self.escaped = false;
            } else if self.in_text {
                // Nearly all bytes of an event are in strings.
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

fn not_an_event(line: u64, bytes: &[u8]) -> String {
    format!("line {line}: `{}` is not an event", shown(bytes))
}

/// Returns the first line of `bytes`, escaped for a message.
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

    /// Returns the objects with their lines, and the reason why there are no more.
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
    fn an_invalid_event_is_quoted_with_its_line() {
        let (found, reason) = objects(b"{}\n\n# example.com/p\nmore\n", 1000);
        assert_eq!(found, ["1 {}"]);
        assert_eq!(reason.unwrap(), "line 3: `# example.com/p` is not an event");
        let long = [b'x'; 200];
        let (_, reason) = objects(&long, 1000);
        assert_eq!(reason.unwrap(), format!("line 1: `{}…` is not an event", "x".repeat(60)));
    }

    #[test]
    fn an_invalid_event_is_quoted_alike_wherever_the_buffer_ends() {
        let long = format!("{{}}\n{}\n", "x".repeat(70));
        for (text, shown) in [
            ("{}\n# example.com/p\nmore\n", "# example.com/p".to_owned()),
            (long.as_str(), format!("{}…", "x".repeat(60))),
            ("{}null", "null".to_owned()),
        ] {
            let line = 1 + text.get(..3).unwrap().matches('\n').count();
            for piece in 1..=text.len() {
                let (found, reason) = objects(text.as_bytes(), piece);
                assert_eq!(found, ["1 {}"]);
                assert_eq!(reason.unwrap(), format!("line {line}: `{shown}` is not an event"), "pieces of {piece}");
            }
        }
    }

    #[test]
    fn lines_before_the_first_event_are_skipped_unless_they_could_hide_a_failure() {
        let text = b"\xEF\xBB\xBFgo test -json ./...\r\n\n  go: downloading example.com/x v1\n {\"a\":1}\n{}";
        for piece in 1..text.len() {
            assert_eq!(objects(text, piece), (vec!["4 {\"a\":1}".to_owned(), "5 {}".to_owned()], None), "{piece}");
        }
        for (noise, shown) in [
            ("make\nFAIL\tp [build failed]\n", "make"),
            ("# example.com/p\n", "# example.com/p"),
            ("a: {\"Action\":\"fail\"}\n", "a: {\\\"Action\\\":\\\"fail\\\"}"),
            ("waiting... ", "waiting... {}"),
        ] {
            let (found, reason) = objects(format!("{noise}{{}}").as_bytes(), 4);
            assert_eq!((found.len(), reason), (0, Some(format!("line 1: `{shown}` is not an event"))));
        }
        let long = format!("x\n{}\n{{}}", "y".repeat(64 << 10));
        assert_eq!(objects(long.as_bytes(), 4096).1.unwrap(), "line 1: `x` is not an event");
        // After an event, every other text is one that hides what follows.
        assert_eq!(objects(b"{}\nmake\n{}", 4096).1.unwrap(), "line 2: `make` is not an event");
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
