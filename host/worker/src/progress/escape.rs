//! Recognizes terminal escape sequences byte by byte.

/// The byte that starts an escape sequence.
const ESCAPE: u8 = 0x1b;

/// The state with respect to escape sequences (`ESC [ parameters letter`, which set colours).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Escapes {
    #[default]
    Text,
    Escape,
    Sequence,
}

impl Escapes {
    /// Returns true if `byte` is text, and not part of an escape sequence.
    pub(super) fn is_text(&mut self, byte: u8) -> bool {
        let (next, text) = match (*self, byte) {
            (_, ESCAPE) => (Self::Escape, false),
            (Self::Escape, b'[') | (Self::Sequence, 0x20..=0x3f) => (Self::Sequence, false),
            (Self::Sequence, 0x40..=0x7e) => (Self::Text, false),
            _ => (Self::Text, true),
        };
        *self = next;
        text
    }
}
