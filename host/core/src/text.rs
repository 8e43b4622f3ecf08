//! Text from outside (results, files, servers, modules) as it may be shown on a terminal.

/// Whether a terminal acts on `c` instead of showing it, or shows the text around it in another order: control characters, line
/// and paragraph separators, and the marks that control the direction of text (Unicode UAX #9).
#[must_use]
pub fn steers_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `c`, or a replacement for a character that steers a terminal: a space for a tab, U+FFFD for any other.
#[must_use]
pub fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if steers_terminal(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// `text` on one line: line breaks become spaces.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.trim_end_matches(['\n', '\r'])
        .replace("\r\n", " ")
        .chars()
        .map(|c| if c == '\n' { ' ' } else { printable(c) })
        .collect()
}

/// The first `most` characters of `text` on one line, followed by `…` if there are more.
#[must_use]
pub fn excerpt(text: &str, most: usize) -> String {
    let cut = text.char_indices().nth(most).map(|(at, _)| at);
    let mut shown = one_line(text.get(..cut.unwrap_or(text.len())).unwrap_or_default());
    if cut.is_some() {
        shown.push('…');
    }
    shown
}

/// The lines of `text`, each safe to show; lines after the first begin with `indent`, so that none of them can pass for a message of its
/// own.
#[must_use]
pub fn indented(text: &str, indent: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(one_line).collect();
    lines.join(&format!("\n{indent}"))
}

/// The first `most` of `items`, separated by `separator`, and how many more there are.
#[must_use]
pub fn listed<T: AsRef<str>>(items: &[T], most: usize, separator: &str) -> String {
    let mut shown: Vec<String> = items.iter().take(most).map(|item| one_line(item.as_ref())).collect();
    if items.len() > most {
        shown.push(format!("… {} more", items.len().saturating_sub(most)));
    }
    shown.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_replaced() {
        for c in
            ['\u{1b}', '\r', '\u{7f}', '\u{85}', '\u{9b}', '\u{200f}', '\u{202e}', '\u{2028}', '\u{2066}', '\u{61c}']
        {
            assert_eq!(one_line(&format!("a{c}b")), "a\u{fffd}b", "{c:?}");
        }
        assert_eq!(one_line("a\tb\nc\r\nd\n"), "a b c d");
        assert_eq!(one_line("grüße 漢字 e\u{301}"), "grüße 漢字 e\u{301}");
    }

    #[test]
    fn an_excerpt_says_that_it_is_one() {
        assert_eq!(excerpt("äöü", 3), "äöü");
        assert_eq!(excerpt("äöü\u{1b}", 3), "äöü…");
        assert_eq!(excerpt("", 0), "");
    }

    #[test]
    fn later_lines_are_indented() {
        assert_eq!(indented("a\n\u{1b}b\n", "  "), "a\n  \u{fffd}b");
    }

    #[test]
    fn a_long_list_ends_with_how_many_more_there_are() {
        assert_eq!(listed(&["a", "b\n", "c"], 2, ", "), "a, b, … 1 more");
        assert_eq!(listed(&["a", "b"], 2, ", "), "a, b");
    }
}
