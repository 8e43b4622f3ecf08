//! Makes untrusted text (from results, files, servers and modules) safe to print on a terminal.

/// Returns whether a terminal acts on `c` instead of displaying it, or reorders the text around it.
///
/// These are control characters, line and paragraph separators, and marks that control the
/// direction of text (Unicode UAX #9).
#[must_use]
pub fn steers_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Replaces a character that controls a terminal: a tab by a space, any other by U+FFFD. Returns
/// all other characters unchanged.
#[must_use]
pub fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if steers_terminal(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// Returns `text` as one printable line. Line breaks become spaces.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.trim_end_matches(['\n', '\r'])
        .replace("\r\n", " ")
        .chars()
        .map(|c| if c == '\n' { ' ' } else { printable(c) })
        .collect()
}

/// Returns a log line as printable text, like [`one_line`], but keeps escape sequences that only
/// set colors.
#[must_use]
pub fn coloured_line(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line.trim_end_matches(['\n', '\r']);
    while let Some(start) = rest.find("\u{1b}[") {
        let (before, sequence) = rest.split_at(start);
        shown.extend(before.chars().map(printable));
        let parameters = sequence.get(2..).unwrap_or_default();
        let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':');
        match end.filter(|end| parameters.get(*end..).is_some_and(|rest| rest.starts_with('m'))) {
            Some(end) => {
                let (colour, after) = sequence.split_at(2 + end + 1);
                shown.push_str(colour);
                rest = after;
            }
            None => {
                shown.push(char::REPLACEMENT_CHARACTER);
                rest = sequence.get(1..).unwrap_or_default();
            }
        }
    }
    shown.extend(rest.chars().map(printable));
    shown
}

/// Returns the first `most` characters of `text` as one line, followed by `…` if there are more.
#[must_use]
pub fn excerpt(text: &str, most: usize) -> String {
    let cut = text.char_indices().nth(most).map(|(at, _)| at);
    let mut shown = one_line(text.get(..cut.unwrap_or(text.len())).unwrap_or_default());
    if cut.is_some() {
        shown.push('…');
    }
    shown
}

/// Returns the lines of `text` as printable text. Lines after the first start with `indent`, so
/// that none of them looks like a separate message.
#[must_use]
pub fn indented(text: &str, indent: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(one_line).collect();
    lines.join(&format!("\n{indent}"))
}

/// Joins the first `most` of `items` with `separator`, and appends how many more there are.
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
    fn colours_of_a_log_stay_and_everything_else_that_steers_goes() {
        assert_eq!(coloured_line("\u{1b}[1;31mfailed\u{1b}[0m \u{1b}[mü\r\n"), "\u{1b}[1;31mfailed\u{1b}[0m \u{1b}[mü");
        assert_eq!(coloured_line("\u{1b}[38:2:1:2:3mx"), "\u{1b}[38:2:1:2:3mx");
        for (line, shown) in [
            ("a\u{1b}[2Jb", "a\u{fffd}[2Jb"),
            ("\u{1b}]0;title\u{7}", "\u{fffd}]0;title\u{fffd}"),
            ("\u{1b}[", "\u{fffd}["),
            ("\u{1b}[31", "\u{fffd}[31"),
            ("\u{1b}[1;\u{1b}[31m", "\u{fffd}[1;\u{1b}[31m"),
            ("10 %\r20 %", "10 %\u{fffd}20 %"),
            ("a\u{202e}b\u{9b}31m", "a\u{fffd}b\u{fffd}31m"),
        ] {
            assert_eq!(coloured_line(line), shown, "{line:?}");
        }
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
