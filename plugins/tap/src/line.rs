//! Parses lines of TAP.

/// A line without its indentation.
#[derive(Debug, PartialEq)]
pub(crate) enum Line<'a> {
    Version,
    Plan { last: u64, reason: &'a str },
    Point(Point),
    BailOut(&'a str),
    Subtest(&'a str),
    Comment(&'a str),
    Other,
}

/// A test point.
#[derive(Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) ok: bool,
    pub(crate) number: Option<u64>,
    pub(crate) description: String,
    pub(crate) directive: Option<Directive>,
    /// The text after the directive.
    pub(crate) reason: String,
}

/// The directive of a test point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directive {
    Skip,
    Todo,
}

/// The words of directives. Many tools write `skipped`.
const WORDS: [(&str, Directive); 3] =
    [("skip", Directive::Skip), ("skipped", Directive::Skip), ("todo", Directive::Todo)];

impl<'a> Line<'a> {
    /// Returns whether the line is more than a comment or other text.
    pub(crate) fn is_tap(text: &str) -> bool {
        !matches!(Line::parse(text), Line::Comment(_) | Line::Other)
    }

    pub(crate) fn parse(text: &'a str) -> Self {
        if let Some(comment) = text.strip_prefix('#') {
            let inner = comment.trim();
            return match inner.strip_prefix("Subtest") {
                Some("") => Self::Subtest(""),
                Some(name) if name.starts_with(':') => Self::Subtest(name.trim_start_matches(':').trim()),
                _ => Self::Comment(comment.strip_prefix(' ').unwrap_or(comment)),
            };
        }
        if let Some(point) = point(text) {
            return Self::Point(point);
        }
        // Spaces are gone already, but a bail-out may also follow tabs.
        if let Some(reason) = strip_prefix_ignore_case(text.trim_start(), "bail out!") {
            return Self::BailOut(reason.trim());
        }
        if let Some(version) = text.strip_prefix("TAP version ") {
            return if version.trim().parse::<u64>().is_ok() { Self::Version } else { Self::Other };
        }
        plan(text).unwrap_or(Self::Other)
    }
}

fn plan(text: &str) -> Option<Line<'_>> {
    let rest = text.strip_prefix("1..")?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (last, rest) = rest.split_at(digits);
    let rest = rest.trim();
    if digits == 0 || !(rest.is_empty() || rest.starts_with('#')) {
        return None;
    }
    Some(Line::Plan { last: last.parse().unwrap_or(u64::MAX), reason: rest.trim_start_matches('#').trim() })
}

fn point(text: &str) -> Option<Point> {
    let (ok, rest) = match text.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix("ok")?),
    };
    if !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let mut rest = rest.trim();
    let word = rest.split([' ', '\t']).next().unwrap_or_default();
    // `ok 2nd try` has no number.
    let number = word.parse().ok().filter(|_| word.starts_with(|c: char| c.is_ascii_digit()));
    if number.is_some() {
        rest = rest.strip_prefix(word).unwrap_or(rest).trim_start();
    }
    if rest == "-" || rest.starts_with("- ") {
        rest = rest.strip_prefix('-').unwrap_or(rest).trim_start();
    }
    let (description, directive, reason) = directive(rest);
    Some(Point { ok, number, description: unescape(description), directive, reason: unescape(reason) })
}

/// Splits off a directive. It starts at the first unescaped `#` that is at the start or after white
/// space, and is followed by a known word. `TODO` makes a failed test count as skipped, so it must
/// follow the very first such `#`, as for `prove`.
fn directive(text: &str) -> (&str, Option<Directive>, &str) {
    let mut before = ' ';
    let mut escaped = false;
    let mut first = true;
    for (at, c) in text.char_indices() {
        if c == '#' && !escaped && matches!(before, ' ' | '\t') {
            let (description, rest) = text.split_at(at);
            let word = rest.trim_start_matches('#').trim_start();
            for (name, directive) in WORDS {
                if let Some(rest) = strip_prefix_ignore_case(word, name)
                    && !rest.starts_with(is_in_word)
                    && (first || directive == Directive::Skip)
                {
                    // Punctuation attached to the word belongs to it, as in `# Skipped: reason`.
                    let reason = rest.find(char::is_whitespace).and_then(|end| rest.get(end..)).unwrap_or_default();
                    return (description.trim_end(), Some(directive), reason.trim());
                }
            }
            first = false;
        }
        escaped = c == '\\' && !escaped;
        before = c;
    }
    (text.trim_end(), None, "")
}

/// Returns whether a directive that `c` follows is part of a longer word, such as `todos`.
fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn strip_prefix_ignore_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Replaces `\#` and `\\` by the second character.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(&next @ ('\\' | '#'))) => {
                plain.push(next);
                chars.next();
            }
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (bool, Option<u64>, String, Option<Directive>, String) {
        match Line::parse(text) {
            Line::Point(Point { ok, number, description, directive, reason }) => {
                (ok, number, description, directive, reason)
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn test_points_are_taken_apart() {
        let (skip, todo) = (Some(Directive::Skip), Some(Directive::Todo));
        for (text, ok, number, description, directive, reason) in [
            ("ok", true, None, "", None, ""),
            ("not ok 2 - a # b", false, Some(2), "a # b", None, ""),
            ("ok 3 a # SKIP no network", true, Some(3), "a", skip, "no network"),
            ("not ok 4 # todo", false, Some(4), "", todo, ""),
            ("ok 5 - a # Skipped: why", true, Some(5), "a", skip, "why"),
            ("ok 5 a # SKIP: why", true, Some(5), "a", skip, "why"),
            ("ok 5 a # skip-list #1", true, Some(5), "a", skip, "#1"),
            ("not ok 5 counts # todos left", false, Some(5), "counts # todos left", None, ""),
            ("not ok 5 # TODO_LIST", false, Some(5), "# TODO_LIST", None, ""),
            ("not ok 5 # todoß", false, Some(5), "# todoß", None, ""),
            ("ok 5 a # skips the header", true, Some(5), "a # skips the header", None, ""),
            ("not ok 5 a # b # TODO x", false, Some(5), "a # b # TODO x", None, ""),
            ("ok 5 a #7 # skip x", true, Some(5), "a #7", skip, "x"),
            ("ok 6 a \\# SKIP b \\\\ # TODO \\#1", true, Some(6), "a # SKIP b \\", todo, "#1"),
            ("ok 2nd try", true, None, "2nd try", None, ""),
            ("ok 7 a#skip", true, Some(7), "a#skip", None, ""),
            ("ok 99999999999999999999999 a", true, None, "99999999999999999999999 a", None, ""),
        ] {
            assert_eq!(parse(text), (ok, number, description.into(), directive, reason.into()), "{text}");
        }
        for text in ["okay", "not okay", "ok\u{a0}1", "OK 1", "", "notok"] {
            assert_eq!(Line::parse(text), Line::Other, "{text}");
        }
    }

    #[test]
    fn other_lines_are_distinguished() {
        assert_eq!(Line::parse("1..3"), Line::Plan { last: 3, reason: "" });
        assert_eq!(Line::parse("1..0 # SKIP no disk"), Line::Plan { last: 0, reason: "SKIP no disk" });
        assert_eq!(Line::parse("1..99999999999999999999"), Line::Plan { last: u64::MAX, reason: "" });
        assert_eq!(Line::parse("1..3 steps"), Line::Other);
        assert_eq!(Line::parse("bail OUT! why"), Line::BailOut("why"));
        assert_eq!(Line::parse("\tBail out!"), Line::BailOut(""));
        assert_eq!(Line::parse("TAP version 14"), Line::Version);
        assert_eq!(Line::parse("# Subtest: a"), Line::Subtest("a"));
        assert_eq!(Line::parse("#   at x"), Line::Comment("  at x"));
    }
}
