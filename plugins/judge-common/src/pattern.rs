//! Regular expressions for names and lines.

use regex::bytes::{Regex, RegexBuilder};

/// Maximum size of a pattern in bytes: far more than a name has.
pub const MAX_PATTERN: usize = 2000;

/// Maximum size in bytes of a compiled pattern, so that all of them fit into a module's memory.
const MAX_COMPILED: usize = 1 << 20;

/// Compiles a pattern.
///
/// `\d`, `\w`, `\s` and `(?i)` mean ASCII, as in Go, whose patterns are common for these tests. The
/// module therefore does not need the Unicode tables.
///
/// # Errors
/// The pattern is not a valid regular expression, or is too large. The message is one line.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(format!("the pattern has more than {MAX_PATTERN} bytes"));
    }
    RegexBuilder::new(pattern).unicode(false).size_limit(MAX_COMPILED).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "the pattern is too large once its repetitions are written out".to_owned(),
        // The last line has the message; the lines before it show the position.
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            format!("the pattern is not a regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_somewhere_in_a_name() {
        assert!(compile(r"^\[sig-storage\]").unwrap().is_match(b"[sig-storage] a"));
        assert!(compile(r"(?i)\bSLOW\b").unwrap().is_match("über [Slow]".as_bytes()));
        assert!(compile("ü.*l").unwrap().is_match("x über all".as_bytes()));
    }

    #[test]
    fn errors_of_patterns_are_one_line() {
        assert_eq!(compile("(a").unwrap_err(), "the pattern is not a regular expression: unclosed group");
        assert!(compile("((a{100}){100}){100}").unwrap_err().contains("too large"));
        assert!(compile(&"a".repeat(3000)).unwrap_err().contains("2000 bytes"));
    }
}
