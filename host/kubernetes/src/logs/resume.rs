//! Tracks how far a log was read, so that it resumes there after a lost connection.
//!
//! No line is lost or repeated, as far as the timestamps of lines can tell.

use jiff::Timestamp;

use super::lines::Piece;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Resume {
    last: Option<Timestamp>,
    /// The number of lines already read with that timestamp. Several lines may share it.
    at_last: usize,
    /// The number of lines without a timestamp that were read of this instance. A server without
    /// timestamps sends the log from its start.
    plain: u64,
}

/// One pass over a log from a position on.
#[derive(Debug)]
pub(super) struct Pass {
    /// Lines up to this time were read before.
    point: Option<Timestamp>,
    /// The number of lines with exactly this time that were read before.
    equal: usize,
    /// The number of lines without a timestamp that were read before.
    plain: u64,
    /// Whether the line of a cut piece is passed on.
    passing: bool,
}

impl Resume {
    /// Returns the time from which to request the log.
    ///
    /// It is in whole seconds, because requests do not support fractions. Repeated lines are
    /// dropped.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.last.and_then(|at| Timestamp::from_second(at.as_second()).ok())
    }

    pub(super) fn pass(&self) -> Pass {
        Pass { point: self.last, equal: self.at_last, plain: self.plain, passing: true }
    }

    pub(super) fn next_instance(&mut self) {
        self.plain = 0;
    }

    /// Processes a piece of the log, and returns its text without the timestamp if it is new.
    pub(super) fn take(&mut self, pass: &mut Pass, piece: Piece) -> Option<Vec<u8>> {
        if piece.continued {
            return pass.passing.then_some(piece.text);
        }
        let (at, text) = split(piece.text);
        pass.passing = match at {
            Some(at) => pass.is_new(at),
            None if pass.plain > 0 => {
                pass.plain -= 1;
                false
            }
            None => true,
        };
        if !pass.passing {
            return None;
        }
        match at {
            Some(at) if self.last == Some(at) => self.at_last += 1,
            Some(at) => (self.last, self.at_last) = (Some(at), 1),
            None => self.plain += 1,
        }
        Some(text)
    }
}

impl Pass {
    fn is_new(&mut self, at: Timestamp) -> bool {
        match self.point {
            Some(point) if at < point => false,
            Some(point) if at == point && self.equal > 0 => {
                self.equal -= 1;
                false
            }
            _ => {
                // From here on everything is new, even if the node's clock is set back.
                self.point = None;
                true
            }
        }
    }
}

/// Splits off the timestamp that the server prepends. A line without one is unchanged.
fn split(mut line: Vec<u8>) -> (Option<Timestamp>, Vec<u8>) {
    // 35 is the length of a timestamp with nanoseconds and an offset.
    let end = line.iter().take(36).position(|&b| b == b' ').unwrap_or(line.len());
    let at =
        line.get(..end).filter(|head| head.len() >= 20).and_then(|head| std::str::from_utf8(head).ok()?.parse().ok());
    if at.is_some() {
        line.drain(..line.len().min(end + 1));
    }
    (at, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str) -> Piece {
        Piece { text: text.as_bytes().to_vec(), continued: false }
    }

    fn read(resume: &mut Resume, lines: &[&str]) -> Vec<String> {
        let mut pass = resume.pass();
        lines
            .iter()
            .filter_map(|line| resume.take(&mut pass, piece(line)))
            .map(|text| String::from_utf8(text).unwrap())
            .collect()
    }

    const A: &str = "2026-01-01T00:00:01.100000000Z a";
    const B: &str = "2026-01-01T00:00:01.2Z b";
    const B2: &str = "2026-01-01T00:00:01.2Z b2";
    const C: &str = "2026-01-01T01:00:01.300000000+01:00 c c";

    #[test]
    fn no_line_comes_twice_and_none_is_lost() {
        let mut resume = Resume::default();
        assert_eq!(resume.since(), None);
        assert_eq!(read(&mut resume, &[A, B]), ["a", "b"]);
        assert_eq!(resume.since().unwrap().to_string(), "2026-01-01T00:00:01Z");
        // The whole second arrives again, and a line with exactly the last timestamp is new.
        assert_eq!(read(&mut resume, &[A, B, B2, C]), ["b2", "c c"]);
        assert!(read(&mut resume, &[A, B, B2, C]).is_empty());
    }

    #[test]
    fn a_clock_that_is_set_back_loses_nothing() {
        let mut resume = Resume::default();
        assert_eq!(read(&mut resume, &[B, A, B]), ["b", "a", "b"]);
    }

    #[test]
    fn without_times_lines_are_counted() {
        let mut resume = Resume::default();
        assert_eq!(read(&mut resume, &["x", "y"]), ["x", "y"]);
        assert_eq!(read(&mut resume, &["x", "y", "z"]), ["z"]);
        resume.next_instance();
        assert_eq!(read(&mut resume, &["x"]), ["x"]);
        assert_eq!(read(&mut resume, &["2026-01-01T00:00:01Z"]), [""]);
    }

    #[test]
    fn pieces_go_the_way_of_their_line() {
        let mut resume = Resume::default();
        read(&mut resume, &[A]);
        let mut pass = resume.pass();
        assert_eq!(resume.take(&mut pass, piece(A)), None);
        assert_eq!(resume.take(&mut pass, Piece { text: vec![1], continued: true }), None);
        assert!(resume.take(&mut pass, piece(B)).is_some());
        assert!(resume.take(&mut pass, Piece { text: vec![1], continued: true }).is_some());
    }
}
