//! Regular expressions on names and on lines.

use regex::bytes::{Regex, RegexBuilder};

/// Bytes of a pattern at most: far more than a name has.
pub const MAX_PATTERN: usize = 2000;

/// Bytes that one pattern may be compiled to, so that all of them together fit into a module's memory.
const MAX_COMPILED: usize = 1 << 20;

/// Compiles a pattern. `\d`, `\w`, `\s` and `(?i)` mean ASCII, as in Go, whose patterns people have at hand for these tests: that also spares the
/// module the tables of Unicode.
///
/// # Errors
/// When it is no regular expression, or too large a one: in one line.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(format!("the pattern has more than {MAX_PATTERN} bytes"));
    }
    RegexBuilder::new(pattern).unicode(false).size_limit(MAX_COMPILED).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "the pattern is too large once its repetitions are written out".to_owned(),
        // The last line says what is wrong; those before it draw where.
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
    fn what_is_wrong_is_one_line() {
        assert_eq!(compile("(a").unwrap_err(), "the pattern is not a regular expression: unclosed group");
        assert!(compile("((a{100}){100}){100}").unwrap_err().contains("too large"));
        assert!(compile(&"a".repeat(3000)).unwrap_err().contains("2000 bytes"));
    }
}
