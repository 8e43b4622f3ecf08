//! Parser for the list of tests that the suite's program prints.

use super::error::ListError;
use super::list::TestList;
use super::text::{MAX_LINE, MAX_TESTS};

/// Indentation of lines with tests.
const INDENT: &str = "    ";

/// Parses the output of `e2e.test --list-tests`: a heading, then indented lines `FILE:NUMBER:
/// NAME`. Early versions print the name alone. Lines without indentation are ignored. `source` is
/// for messages.
///
/// # Errors
/// When there is no test, or a limit for lists is exceeded.
pub fn from_program(output: &str, version: &str, source: &str) -> Result<TestList, ListError> {
    let large = |limit| ListError::TooLarge { place: source.to_owned(), limit };
    let lines = output.lines().filter_map(|line| line.strip_prefix(INDENT));
    let names: Vec<&str> = lines.map(name).filter(|name| !name.is_empty()).take(MAX_TESTS + 1).collect();
    if names.len() > MAX_TESTS {
        return Err(large("200,000 lines"));
    }
    if names.iter().any(|name| name.len() > MAX_LINE) {
        return Err(large("16 KiB in a line"));
    }
    if names.is_empty() {
        return Err(ListError::Empty { place: source.to_owned() });
    }
    Ok(TestList::new(version, names, source))
}

/// Removes the source location from a line.
fn name(line: &str) -> &str {
    let line = line.trim();
    let Some((place, name)) = line.split_once(": ") else { return line };
    match place.rsplit_once(':') {
        Some((file, number))
            if file.ends_with(".go") && !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) =>
        {
            name.trim()
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_places_and_talk() {
        let output = "W1121 log line: not a test\nThe following spec names can be used:\n    test/e2e/a.go:41: [sig-a] one: with a colon\n    \
                      [sig-b] two: 3\n    ../bugs.go:x: kept\n\n";
        let list = from_program(output, "v1.30.2", "it").unwrap();
        assert_eq!(list.tests, ["../bugs.go:x: kept", "[sig-a] one: with a colon", "[sig-b] two: 3"]);
        assert_eq!(from_program("nothing\n", "", "it").unwrap_err().to_string(), "`it` names no test");
        assert!(from_program(&"    a\n".repeat(MAX_TESTS + 1), "", "it").is_err());
        assert!(from_program(&format!("    {}", "a".repeat(MAX_LINE + 1)), "", "it").is_err());
    }
}
