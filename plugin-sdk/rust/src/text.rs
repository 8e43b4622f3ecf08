//! Functions for untrusted texts: bounded lengths, patterns, and numbers as text.

use std::fmt::Display;

/// Returns at most the first `max` bytes of `text`, cut at a character boundary.
#[must_use]
pub fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}

/// Returns at most the first `max` bytes of `text`, followed by `…` if something was cut.
#[must_use]
pub fn shortened(text: &str, max: usize) -> String {
    let kept = cut(text, max);
    if kept.len() < text.len() { format!("{kept}…") } else { text.to_owned() }
}

/// Returns whether `pattern` matches the whole `text`; `*` matches any text. The time is proportional
/// to both lengths.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match text.find(piece) {
            Some(at) => text = text.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    text.ends_with(last)
}

/// Returns a count with its noun: `1 test`, `2 tests`.
#[must_use]
pub fn counted<T: Copy + Display + PartialEq + From<u8>>(count: T, noun: &str) -> String {
    let plural = if count == T::from(1) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Formats a number with at most this many decimals, and without trailing zeros.
#[must_use]
pub fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_a_character() {
        assert_eq!((cut("aü", 2), cut("aü", 3)), ("a", "aü"));
        assert_eq!((shortened("aü", 2), shortened("aü", 3)), ("a…".to_owned(), "aü".to_owned()));
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, fits) in [
            ("kernel", "kernel", true),
            ("kernel", "kernel 2", false),
            ("kubelet*", "kubelet.service", true),
            ("*.service", "kubelet.timer", false),
            ("sysctl *.conf.*.rp_filter", "sysctl net.ipv4.conf.all.rp_filter", true),
            ("sysctl *.conf.*.rp_filter", "sysctl net.ipv4.conf.rp_filter", false),
            ("a*b*c", "a--b--c", true),
            ("a*b*c", "ac", false),
            ("a*a", "a", false),
            ("ab*ba", "aba", false),
            ("a**b", "ab", true),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn a_noun_agrees_with_its_count() {
        assert_eq!([0_u64, 1, 2].map(|count| counted(count, "line")), ["0 lines", "1 line", "2 lines"]);
    }

    #[test]
    fn numbers_have_no_trailing_zeros() {
        for (value, decimals, text) in
            [(1.5, 6, "1.5"), (100.0, 2, "100"), (0.001_234_5, 3, "0.001"), (120.0, 0, "120")]
        {
            assert_eq!(decimal(value, decimals), text);
        }
    }
}
