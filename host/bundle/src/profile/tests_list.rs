//! Lists of tests: one name per line.

use plumbline_core::size::Bytes;

use super::model::is_version;

/// Maximum size of a list in bytes.
pub const MAX_LIST_BYTES: usize = 8 << 20;

/// Maximum number of tests in a list.
pub const MAX_TESTS: usize = 100_000;

/// Maximum number of tests that a mode requires: the limit of the judge `checks`.
pub const MAX_REQUIRED: usize = 500;

/// Maximum length of a name in bytes.
const MAX_NAME: usize = 2000;

/// Error in a list of tests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// The list is too large.
    #[error("it has {}, more than the limit of {}", Bytes(*.0), Bytes(MAX_LIST_BYTES as u64))]
    TooLarge(u64),
    /// The list is not UTF-8.
    #[error("it is not UTF-8 text")]
    NotUtf8,
    /// The list has too many tests.
    #[error("it has more than {0} tests")]
    TooMany(usize),
    /// A name is too long, or has control characters.
    #[error("line {0} is too long or has control characters")]
    Name(usize),
    /// The line is a difference from the list of another version.
    #[error("line {0} is a difference from the list of another version: only lists in `.gz` files can have them")]
    Difference(usize),
    /// The list has no test.
    #[error("it has no test")]
    Empty,
}

/// Reads a list of tests. Empty lines, and lines that begin with `#`, are skipped.
///
/// # Errors
/// Returns a [`ListError`]. An empty list is one, because it would make every run pass. So are
/// differences from another list, because `-NAME` is not the name of a test.
pub fn parse_tests(bytes: &[u8], most: usize) -> Result<Vec<String>, ListError> {
    if bytes.len() > MAX_LIST_BYTES {
        return Err(ListError::TooLarge(bytes.len() as u64));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| ListError::NotUtf8)?;
    let has_differences = text.lines().next().is_some_and(names_version);
    let mut names = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let name = line.trim();
        if name.is_empty() || name.starts_with('#') {
            continue;
        }
        if name.len() > MAX_NAME || name.contains(char::is_control) {
            return Err(ListError::Name(at + 1));
        }
        if has_differences && name.starts_with(['+', '-']) {
            return Err(ListError::Difference(at + 1));
        }
        if names.len() == most {
            return Err(ListError::TooMany(most));
        }
        names.push(name.to_owned());
    }
    if names.is_empty() { Err(ListError::Empty) } else { Ok(names) }
}

/// Returns whether the first line of a list names the version that differences refer to: `#v1.2.0`.
fn names_version(line: &str) -> bool {
    let version = line.trim_start_matches('\u{feff}').strip_prefix('#').map(str::trim);
    let version = version.map(|version| version.strip_prefix('v').unwrap_or(version));
    version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()) && is_version(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lines_without_comments() {
        let list = parse_tests(b"# tests of v1\n\n  a b  \n[sig] c\r\n", 2).unwrap();
        assert_eq!(list, ["a b", "[sig] c"]);
    }

    #[test]
    fn differences_from_another_list_are_not_names_of_tests() {
        assert_eq!(parse_tests(b"#v1.2.0\n-kite\n", 9), Err(ListError::Difference(2)));
        assert_eq!(parse_tests(b"# 1.2\nball\n+kite\n", 9), Err(ListError::Difference(3)));
        assert_eq!(parse_tests(b"# all flags\n-kite\n", 9).unwrap(), ["-kite"]);
        assert_eq!(parse_tests(b"#v1.2.0\nkite\n", 9).unwrap(), ["kite"]);
    }

    #[test]
    fn a_list_that_proves_nothing_or_too_much_is_an_error() {
        assert_eq!(parse_tests(b"# none\n", 9), Err(ListError::Empty));
        assert_eq!(parse_tests(b"a\nb\n", 1), Err(ListError::TooMany(1)));
        assert_eq!(parse_tests(b"a\n\x1b[2J\n", 9), Err(ListError::Name(2)));
        assert_eq!(parse_tests(b"\xff", 9), Err(ListError::NotUtf8));
        assert!(matches!(parse_tests(&vec![b'a'; MAX_LIST_BYTES + 1], 9), Err(ListError::TooLarge(_))));
    }
}
