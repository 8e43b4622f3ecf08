//! A text with which every match of a pattern starts. It is searched first: most lines of a log do
//! not contain it. This search takes a fraction of the time of the regular expression.

use memchr::memmem::Finder;

/// Minimum number of bytes of a text that is worth searching.
const SHORTEST: usize = 3;

/// The special characters of regular expressions.
const SPECIAL: &str = r"\.+*?()[]{}^$|";

/// A text that every matching line contains, if one is known.
#[derive(Debug)]
pub(crate) struct Needle(Option<Finder<'static>>);

impl Needle {
    /// Returns the text with which all matches of `pattern` start, as far as it is obvious from the
    /// pattern.
    pub(crate) fn of(pattern: &str) -> Self {
        let end = pattern.find(|c| SPECIAL.contains(c)).unwrap_or(pattern.len());
        let (plain, rest) = pattern.split_at(end);
        // A repeated character may be missing, and alternatives may start with another text.
        let plain = match rest.starts_with(['*', '?', '{', '+']) {
            true => plain.char_indices().last().map_or("", |(at, _)| plain.split_at(at).0),
            false => plain,
        };
        let sure = plain.len() >= SHORTEST && !pattern.contains('|');
        Self(sure.then(|| Finder::new(plain.as_bytes()).into_owned()))
    }

    /// Returns whether `line` may match.
    pub(crate) fn may_be_in(&self, line: &[u8]) -> bool {
        self.0.as_ref().is_none_or(|finder| finder.find(line).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_every_match_begins_with_is_looked_for() {
        let needle =
            |pattern: &str| Needle::of(pattern).0.map(|finder| String::from_utf8_lossy(finder.needle()).into_owned());
        for (pattern, text) in [
            (r#"apply request took too long.*"took":"([^"]+)""#, Some("apply request took too long")),
            (r#""took":"([^"]+)""#, Some(r#""took":""#)),
            ("error", Some("error")),
            ("errors?", Some("error")),
            ("erro{0}", Some("err")),
            ("took+", Some("too")),
            ("ab*", None),
            ("error|warning", None),
            ("error (a|b)", None),
            ("(?i)error", None),
            (r"^\[x", None),
            ("", None),
        ] {
            assert_eq!(needle(pattern).as_deref(), text, "{pattern}");
        }
        assert!(Needle::of("error").may_be_in(b"an error") && !Needle::of("error").may_be_in(b"all is well"));
        assert!(Needle::of("a|b").may_be_in(b""));
    }
}
