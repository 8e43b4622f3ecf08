//! Lines for a terminal: coloured text whose width in columns is known.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use plumbline_core::text::printable;
use unicode_width::UnicodeWidthChar;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tone {
    /// The terminal's own colour.
    #[default]
    Plain,
    /// Green: passed.
    Good,
    /// Red: failed, or results are missing.
    Bad,
    /// Yellow: unknown, or something may be wrong.
    Warning,
    /// Faint: secondary information.
    Dim,
}

impl Tone {
    fn style(self) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Self::Plain => Style::new(),
            Self::Good => colour(AnsiColor::Green),
            Self::Bad => colour(AnsiColor::Red),
            Self::Warning => colour(AnsiColor::Yellow),
            Self::Dim => Style::new().dimmed(),
        }
    }
}

/// One line of text. Control characters in its text are replaced, so it cannot steer the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Line {
    spans: Vec<(Tone, String)>,
    width: usize,
}

impl Line {
    pub(super) fn of(tone: Tone, text: &str) -> Self {
        let mut line = Self::default();
        line.push(tone, text);
        line
    }

    pub(super) fn push(&mut self, tone: Tone, text: &str) -> &mut Self {
        let text: String = text.chars().map(printable).collect();
        self.width += width(&text);
        self.spans.push((tone, text));
        self
    }

    pub(super) fn pad_to(&mut self, column: usize) -> &mut Self {
        let gap = column.saturating_sub(self.width);
        self.push(Tone::Plain, &" ".repeat(gap))
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns the line cut to at most this many columns; `…` replaces what is cut off.
    pub(super) fn cut(self, columns: usize) -> Self {
        if self.width <= columns {
            return self;
        }
        let mut cut = Self::default();
        for (tone, text) in &self.spans {
            let left = columns.saturating_sub(cut.width);
            // Text that reaches the last column is cut even if it fits, because more follows.
            if width(text) < left {
                cut.push(*tone, text);
            } else {
                cut.push(*tone, &cut_end(&format!("{text}…"), left));
                break;
            }
        }
        cut
    }

    /// Returns the text, with escape sequences for its colours if `colour` is set.
    pub(super) fn render(&self, colour: bool) -> String {
        let mut out = String::new();
        for (tone, text) in &self.spans {
            let style = if colour { tone.style() } else { Style::new() };
            // Cannot fail: writing to a String.
            let _ = write!(out, "{style}{text}{style:#}");
        }
        out
    }
}

/// Returns the maximum width of `text` in columns. Wide characters take two, combining ones none.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    match c {
        // This selector requests the wide form of the preceding character.
        '\u{fe0f}' => 1,
        c => c.width().unwrap_or(1),
    }
}

/// Shortens `text` to at most `columns` columns; `…` replaces the end.
pub(super) fn cut_end(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let mut out = head(text, room).to_owned();
    out.push('…');
    out
}

/// Shortens `text` to at most `columns` columns; `…` replaces the middle.
pub(super) fn cut_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let start = head(text, room.div_ceil(2));
    let mut left = room - room.div_ceil(2);
    let end = text.char_indices().rev().take_while(|&(_, c)| take(&mut left, c)).last();
    let end = end.and_then(|(at, _)| text.get(at..)).unwrap_or_default();
    format!("{start}…{end}")
}

/// Returns the start of `text` that fits into `columns`.
fn head(text: &str, mut columns: usize) -> &str {
    let end = text.char_indices().find(|&(_, c)| !take(&mut columns, c)).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

fn take(columns: &mut usize, c: char) -> bool {
    match columns.checked_sub(char_width(c)) {
        Some(left) => {
            *columns = left;
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_are_never_halved() {
        assert_eq!((width("節點"), width("e\u{301}"), width("❤\u{fe0f}")), (4, 1, 2));
        assert_eq!(cut_end("節點檢查", 5), "節點…");
        assert_eq!(cut_end("節點檢查", 4), "節…");
        assert_eq!(cut_middle("節點檢查", 6), "節…查");
        for columns in 0..=9 {
            assert!(width(&cut_end("a節點檢查", columns)) <= columns, "{columns}");
            assert!(width(&cut_middle("a節點檢查", columns)) <= columns, "{columns}");
        }
    }

    #[test]
    fn names_lose_their_middle_and_sentences_their_end() {
        assert_eq!(cut_middle("kube-bench-retry-1", 12), "kube-b…try-1");
        assert_eq!(cut_end("image cannot be pulled", 12), "image canno…");
        assert_eq!(
            (cut_end("abc", 3).as_str(), cut_middle("abc", 1).as_str(), cut_end("abc", 0).as_str()),
            ("abc", "…", "")
        );
    }

    #[test]
    fn a_line_is_cut_across_its_colours() {
        let mut line = Line::default();
        line.push(Tone::Good, "passed").pad_to(8).push(Tone::Bad, "2 failed");
        assert_eq!(line.width(), 16);
        assert_eq!(line.clone().cut(16).render(false), "passed  2 failed");
        assert_eq!(line.clone().cut(12).render(false), "passed  2 f…");
        assert_eq!(line.clone().cut(8).render(false), "passed …");
        assert_eq!(line.clone().cut(6).render(false), "passe…");
        assert_eq!(line.render(true), "\u{1b}[32mpassed\u{1b}[0m  \u{1b}[31m2 failed\u{1b}[0m");
    }

    #[test]
    fn no_text_steers_the_terminal() {
        let mut line = Line::default();
        line.push(Tone::Plain, "a\u{1b}[2J\u{9b}b\u{202e}\nc\t");
        assert_eq!(line.render(true), "a\u{fffd}[2J\u{fffd}b\u{fffd}\u{fffd}c ");
        assert_eq!(line.width(), width(&line.render(false)));
    }
}
