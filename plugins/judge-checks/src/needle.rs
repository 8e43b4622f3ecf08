//! A text that every match begins with, which is looked for first: most lines of a log do not have it, and finding that out takes a fraction of the
//! time that the regular expression takes.

use memchr::memmem::Finder;

/// Bytes of a text that is worth looking for.
const SHORTEST: usize = 3;

/// Characters that mean something in a regular expression.
const SPECIAL: &str = r"\.+*?()[]{}^$|";

/// A text without which there is no match.
#[derive(Debug)]
pub(crate) struct Needle(Option<Finder<'static>>);

impl Needle {
    /// What the matches of `pattern` begin with, as far as its text shows it plainly.
    pub(crate) fn of(pattern: &str) -> Self {
        let end = pattern.find(|c| SPECIAL.contains(c)).unwrap_or(pattern.len());
        let (plain, rest) = pattern.split_at(end);
        // What is repeated may be missing; and an alternative begins otherwise.
        let plain = match rest.starts_with(['*', '?', '{', '+']) {
            true => plain.char_indices().last().map_or("", |(at, _)| plain.split_at(at).0),
            false => plain,
        };
        let sure = plain.len() >= SHORTEST && !pattern.contains('|');
        Self(sure.then(|| Finder::new(plain.as_bytes()).into_owned()))
    }

    /// Whether `line` may match.
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
