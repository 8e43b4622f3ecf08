//! Texts with the colours of a terminal, as parts with a style.

use plumbline_core::text::coloured_line;

/// A part of a text with one style: names of classes of the style sheet, separated by spaces.
pub(super) type Part = (String, String);

/// The characters of a long text that are kept, at its start and at its end. Logs tell most there.
pub(super) const KEPT: (usize, usize) = (8 << 10, 24 << 10);

/// Splits a text into parts with one style each. Escape sequences that do not set colours, and other
/// control characters, become U+FFFD. `source` is the file in the archive that has the whole text,
/// to which a cut refers.
pub(super) fn parts(text: &str, source: &str) -> Vec<Part> {
    if let Some((head, left_out, tail)) = cut(text) {
        return shortened(head, &format!("{left_out} characters"), tail, source);
    }
    let mut parts = Parts::default();
    parts.text(text);
    parts.done
}

/// Splits the start and the end of a text in the same way. `left_out` says how much is between them.
pub(super) fn shortened(head: &str, left_out: &str, tail: &str, source: &str) -> Vec<Part> {
    let mut parts = Parts::default();
    parts.text(head);
    let place = if source.is_empty() { "the archive has them".to_owned() } else { format!("see {source}") };
    parts.style = Style::default();
    parts.push(&format!("\n… {left_out} are left out: {place} …\n"));
    parts.text(tail);
    parts.done
}

/// The start and the end of a text that is too long, and how many characters are between them.
fn cut(text: &str) -> Option<(&str, usize, &str)> {
    if text.len() <= KEPT.0 + KEPT.1 {
        return None;
    }
    let count = text.chars().count();
    let left_out = count.checked_sub(KEPT.0 + KEPT.1).filter(|n| *n > 0)?;
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    Some((text.get(..at(KEPT.0))?, left_out, text.get(at(count - KEPT.1)..)?))
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Style {
    /// 0 is none, otherwise the number of the colour plus 1.
    colour: u8,
    background: u8,
    is_bold: bool,
    is_italic: bool,
    is_underlined: bool,
}

impl Style {
    fn classes(self) -> String {
        let mut classes = Vec::new();
        if self.colour > 0 {
            classes.push(format!("c{}", self.colour - 1));
        }
        if self.background > 0 {
            classes.push(format!("g{}", self.background - 1));
        }
        for (is_set, class) in [(self.is_bold, "bo"), (self.is_italic, "it"), (self.is_underlined, "un")] {
            if is_set {
                classes.push(class.to_owned());
            }
        }
        classes.join(" ")
    }

    /// Applies the parameters of a sequence (ECMA-48, "SGR").
    fn apply(&mut self, parameters: &str) {
        let mut numbers = parameters.split([';', ':']).map(|number| number.parse().unwrap_or(0_u16));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                3 => self.is_italic = true,
                4 => self.is_underlined = true,
                22 => self.is_bold = false,
                23 => self.is_italic = false,
                24 => self.is_underlined = false,
                30..=37 => self.colour = (number - 29) as u8,
                40..=47 => self.background = (number - 39) as u8,
                90..=97 => self.colour = (number - 81) as u8,
                100..=107 => self.background = (number - 91) as u8,
                39 => self.colour = 0,
                49 => self.background = 0,
                38 => self.colour = palette(&mut numbers).unwrap_or(self.colour),
                48 => self.background = palette(&mut numbers).unwrap_or(self.background),
                _ => {}
            }
        }
    }
}

/// A colour of the first 16 of the palette, plus 1. All others are shown in the text's own colour,
/// because they may be unreadable on the page's background.
fn palette(numbers: &mut impl Iterator<Item = u16>) -> Option<u8> {
    match numbers.next()? {
        5 => numbers.next().map(|number| u8::try_from(number).ok().filter(|n| *n < 16).map_or(0, |n| n + 1)),
        2 => numbers.nth(2).map(|_| 0),
        _ => None,
    }
}

#[derive(Default)]
struct Parts {
    done: Vec<Part>,
    style: Style,
}

impl Parts {
    fn text(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.push("\n");
            }
            self.line(&coloured_line(line));
        }
    }

    /// Adds a line in which all escape sequences set colours.
    fn line(&mut self, line: &str) {
        let mut rest = line;
        while let Some((before, sequence)) = rest.split_once("\u{1b}[") {
            self.push(before);
            let (parameters, after) = sequence.split_once('m').unwrap_or((sequence, ""));
            self.style.apply(parameters);
            rest = after;
        }
        self.push(rest);
    }

    fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let classes = self.style.classes();
        match self.done.last_mut() {
            Some((style, last)) if *style == classes => last.push_str(text),
            _ => self.done.push((classes, text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, String)> {
        parts(text, "")
    }

    #[test]
    fn colours_become_classes_and_other_sequences_are_visible() {
        let parts = of("a\u{1b}[1;31mred\nstill\u{1b}[0m plain\u{1b}[2J\u{202e}");
        let want = [("", "a"), ("c1 bo", "red\nstill"), ("", " plain\u{fffd}[2J\u{fffd}")];
        assert_eq!(parts, want.map(|(style, text)| (style.to_owned(), text.to_owned())));
        assert_eq!(of("\u{1b}[38;5;9mx\u{1b}[38;2;1;2;3my")[0].0, "c9");
        assert_eq!(of("\u{1b}[38;2;1;2;3my")[0].0, "");
        assert_eq!(of("\u{1b}[38mx\u{1b}[999;;mz"), [(String::new(), "xz".to_owned())]);
        assert_eq!(of("\u{1b}[44;97mx")[0].0, "c15 g4");
        assert!(of("").is_empty());
    }

    #[test]
    fn a_long_text_keeps_its_start_and_its_end() {
        let text = format!("{}é{}", "a".repeat(50_000), "b".repeat(50_000));
        let shown = parts(&text, "plugins/p/results/x").into_iter().map(|(_, text)| text).collect::<String>();
        assert!(shown.starts_with("aaa") && shown.ends_with("bbb"), "{}", &shown[..20]);
        assert!(shown.contains("… 67233 characters are left out: see plugins/p/results/x …"));
        assert_eq!(of(&"é".repeat(20_000))[0].1.chars().count(), 20_000);
    }
}
