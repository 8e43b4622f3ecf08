//! A place in an expression.

use super::error::Fault;

/// What is left to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    whole: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(whole: &'a str) -> Self {
        Self { whole, at: 0 }
    }

    /// The byte where it stands.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Everything from here on.
    pub(super) fn rest(&self) -> &'a str {
        self.whole.get(self.at..).unwrap_or_default()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Goes past `text` if it stands here.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let here = self.rest().starts_with(text);
        if here {
            self.at += text.len();
        }
        here
    }

    /// Goes on by `bytes`, which end at a character's end.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.at = self.whole.len().min(self.at + bytes);
    }

    /// What was read since `from`, as a fault.
    pub(super) fn fault(&self, from: usize, what: &'static str) -> Fault {
        Fault { what, from, to: self.at }
    }

    /// From `from` to the end of the expression, as a fault.
    pub(super) fn fault_to_end(&self, from: usize, what: &'static str) -> Fault {
        Fault { what, from, to: self.whole.len() }
    }
}
