//! Keeps the start and the end of a text that arrives in pieces.

/// Number of bytes to keep of one text: 64 KiB, half from its start and half from its end. The
/// reason for a failure is usually in one of them.
pub const MAX_EXCERPT: usize = 64 << 10;

const HALF: usize = MAX_EXCERPT / 2;

/// A text whose middle is dropped when it grows long.
#[derive(Debug, Default)]
pub(crate) struct Excerpt {
    head: String,
    /// Up to twice its final size, so that it is cut only occasionally instead of after every
    /// piece.
    tail: String,
    left_out: u64,
}

impl Excerpt {
    pub(crate) fn push(&mut self, mut piece: &str) {
        if self.tail.is_empty() && self.head.len() < HALF {
            let (fits, rest) = piece.split_at(piece.floor_char_boundary(HALF - self.head.len()));
            self.head.push_str(fits);
            piece = rest;
        }
        self.tail.push_str(piece);
        if self.tail.len() > MAX_EXCERPT {
            self.shorten();
        }
    }

    /// Records that a piece of this many bytes was dropped.
    pub(crate) fn leave_out(&mut self, bytes: usize) {
        self.left_out = self.left_out.saturating_add(bytes as u64);
    }

    /// Returns the number of bytes held.
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    pub(crate) fn into_text(mut self) -> String {
        if self.tail.len() > HALF {
            self.shorten();
        }
        let Self { head: mut text, tail, left_out } = self;
        if left_out > 0 {
            text.push_str(&format!("\n[{left_out} bytes are left out here]\n"));
        }
        text.push_str(&tail);
        text
    }

    fn shorten(&mut self) {
        let from = self.tail.ceil_char_boundary(self.tail.len().saturating_sub(HALF));
        self.left_out = self.left_out.saturating_add(from as u64);
        self.tail.drain(..from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_kept_whole() {
        let mut excerpt = Excerpt::default();
        let line = "ä line\n";
        let lines = MAX_EXCERPT / line.len();
        for _ in 0..lines {
            excerpt.push(line);
        }
        assert_eq!(excerpt.into_text(), line.repeat(lines));
    }

    #[test]
    fn of_a_long_text_both_ends_are_kept() {
        let mut excerpt = Excerpt::default();
        for number in 0..100_000 {
            excerpt.push(&format!("{number:06}ä"));
            assert!(excerpt.len() <= HALF + MAX_EXCERPT);
        }
        let text = excerpt.into_text();
        assert!(text.starts_with("000000ä000001ä") && text.ends_with("099999ä"));
        assert!(text.len() < MAX_EXCERPT + 100, "{}", text.len());
        let note = text.lines().find(|line| line.starts_with('[')).unwrap();
        let left_out: usize = note.split([' ', '[']).nth(1).unwrap().parse().unwrap();
        let kept = text.len() - note.len() - 2;
        assert_eq!(kept + left_out, 100_000 * 8);
    }
}
