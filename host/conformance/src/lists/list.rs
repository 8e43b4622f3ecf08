//! Lists of tests, and the forms in which they are stored and printed.

use std::io::{self, Read as _};

use flate2::read::MultiGzDecoder;
use thiserror::Error;

use super::version::Version;

/// Prefix of test names in reports and lists.
const MARK: &str = "[It]";

/// Prefixes of the suite's setup and teardown nodes. Reports and lists contain them, but focus and
/// skip do not apply to them.
const NODES: [&str; 8] = [
    "[AfterSuite]",
    "[BeforeSuite]",
    "[DeferCleanup (Suite)]",
    "[ReportAfterSuite]",
    "[ReportBeforeSuite]",
    "[SynchronizedAfterSuite]",
    "[SynchronizedBeforeSuite]",
    "[TOP-LEVEL]",
];

/// Names of the tests of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestList {
    /// Version of the list, such as `v1.30.2`. Empty if it is not known.
    pub version: String,
    /// Names without `[It] `, sorted and unique. Setup and teardown nodes are included
    /// ([`is_suite_node`]).
    pub tests: Vec<String>,
    /// Source of the list, for messages.
    pub source: String,
}

impl TestList {
    /// Creates a list of `names`. They can be in any order, contain duplicates, and have the prefix
    /// `[It] `.
    pub fn new<'a>(version: &str, names: impl IntoIterator<Item = &'a str>, source: &str) -> Self {
        let names = names.into_iter().map(plain_name).filter(|name| !name.is_empty());
        let mut tests: Vec<String> = names.map(str::to_owned).collect();
        tests.sort_unstable();
        tests.dedup();
        Self { version: version.to_owned(), tests, source: source.to_owned() }
    }

    /// Returns the tests without setup and teardown nodes.
    pub fn specs(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().map(String::as_str).filter(|name| !is_suite_node(name))
    }

    /// Returns a sentence for users who requested `version` and get this list. `None` if the list
    /// is of that version, or its version is not known.
    pub fn replacement_note(&self, version: &str) -> Option<String> {
        let name = Version::parse(version)?.name();
        if self.version.is_empty() || self.version == name {
            return None;
        }
        let minor = Version::parse(&self.version)
            .is_some_and(|own| Version::parse(&name).is_some_and(|of| own.same_minor(&of)));
        let means = if minor { "" } else { ", although tests were added and renamed since" };
        Some(format!("no list of the tests of {name} in {}: using that of {}{means}", self.source, self.version))
    }
}

/// Returns a name without the prefix of reports and without surrounding whitespace.
pub fn plain_name(name: &str) -> &str {
    let name = name.trim();
    let marked = name.strip_prefix(MARK).filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
    marked.map_or(name, str::trim_start)
}

/// Returns whether the name is a setup or teardown node of the suite, not a test.
pub fn is_suite_node(name: &str) -> bool {
    let name = plain_name(name);
    NODES.iter().any(|node| name.starts_with(node))
}

/// Maximum size of a stored list in bytes. Lists of one version have less than 100 KiB.
pub const MAX_PACKED: u64 = 16 << 20;
/// Maximum size of its text in bytes. Lists of one version have less than 2 MiB.
pub const MAX_TEXT: u64 = 64 << 20;
/// Maximum length of a name in bytes.
pub const MAX_LINE: usize = 16 << 10;
/// Maximum number of names in a list.
pub const MAX_TESTS: usize = 200_000;

/// First bytes of gzip data.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Content of a list file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StoredList {
    /// A full list of names.
    Whole(Vec<String>),
    /// Differences to the list of another version.
    Delta { of: String, added: Vec<String>, removed: Vec<String> },
}

/// Parses a full list, as text or gzip-compressed text. `place` is for messages.
///
/// # Errors
/// When the bytes are not such a text, exceed a limit, contain no name, or are a delta, which needs
/// [`resolve`](super::resolve()).
pub fn parse(bytes: &[u8], version: &str, place: &str) -> Result<TestList, ListError> {
    match decode(bytes, place, &mut TextBudget::default())? {
        StoredList::Whole(names) => Ok(TestList::new(version, names.iter().map(String::as_str), place)),
        StoredList::Delta { of, .. } => Err(ListError::Unknown {
            version: of,
            place: format!("`{place}`, of which it is a delta"),
            known: "no list".to_owned(),
        }),
    }
}

/// The bytes of text that a list and the deltas of a chain may still have.
pub(super) struct TextBudget(u64);

impl Default for TextBudget {
    fn default() -> Self {
        Self(MAX_TEXT)
    }
}

/// Decodes a list, and takes its text from `budget`. `place` is for messages.
pub(super) fn decode(bytes: &[u8], place: &str, budget: &mut TextBudget) -> Result<StoredList, ListError> {
    let large = |limit| ListError::TooLarge { place: place.to_owned(), limit };
    if bytes.len() as u64 > MAX_PACKED {
        return Err(large("16 MiB as stored"));
    }
    let mut text = Vec::new();
    if bytes.starts_with(&GZIP) {
        MultiGzDecoder::new(bytes)
            .take(budget.0 + 1)
            .read_to_end(&mut text)
            .map_err(|error| ListError::Read { place: place.to_owned(), error })?;
    } else {
        text.extend_from_slice(bytes);
    }
    budget.0 = budget.0.checked_sub(text.len() as u64).ok_or_else(|| match budget.0 {
        MAX_TEXT => large("64 MiB of text"),
        _ => large("64 MiB of text, with the lists that refer to it"),
    })?;
    let text = String::from_utf8(text).map_err(|_| ListError::NoText(place.to_owned()))?;
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().take(MAX_TESTS + 1).collect();
    check_lines(&lines, place)?;
    if lines.iter().any(|line| line.chars().any(|c| c.is_control() && c != '\t')) {
        return Err(ListError::NoText(place.to_owned()));
    }
    match lines.first().and_then(|line| line.strip_prefix('#')) {
        Some(of) => delta(of, &lines, place),
        None => {
            let names: Vec<String> =
                lines.into_iter().map(plain_name).filter(|name| !name.is_empty()).map(str::to_owned).collect();
            if names.is_empty() {
                return Err(ListError::Empty(place.to_owned()));
            }
            Ok(StoredList::Whole(names))
        }
    }
}

/// Checks the limits of a list with these lines.
fn check_lines(lines: &[&str], place: &str) -> Result<(), ListError> {
    let limit = if lines.len() > MAX_TESTS {
        "200,000 lines"
    } else if lines.iter().any(|line| line.len() > MAX_LINE) {
        "16 KiB in a line"
    } else {
        return Ok(());
    };
    Err(ListError::TooLarge { place: place.to_owned(), limit })
}

fn delta(of: &str, lines: &[&str], place: &str) -> Result<StoredList, ListError> {
    // It becomes part of a file name or URL, so it must be a version.
    let of = Version::parse(of.trim()).ok_or_else(|| ListError::Version(of.trim().to_owned()))?.name();
    // Reject other lines. If the first line of a delta were damaged, names would silently be lost.
    let strange = lines.iter().skip(1).position(|line| !line.trim().is_empty() && !line.starts_with(['+', '-']));
    if let Some(at) = strange {
        return Err(ListError::Difference { place: place.to_owned(), line: at + 2 });
    }
    let with = |sign| {
        let lines = lines.iter().skip(1).filter_map(move |line| line.strip_prefix(sign));
        lines.map(plain_name).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    Ok(StoredList::Delta { of, added: with('+'), removed: with('-') })
}

/// Indentation of lines with tests.
const INDENT: &str = "    ";

/// Parses the output of `e2e.test --list-tests`: a heading, then indented lines `FILE:NUMBER:
/// NAME`. Early versions print the name alone. Lines without indentation are ignored. `source` is
/// for messages.
pub fn from_program(output: &str, version: &str, source: &str) -> Result<TestList, ListError> {
    let lines = output.lines().filter_map(|line| line.strip_prefix(INDENT));
    let names: Vec<&str> = lines.map(without_location).filter(|name| !name.is_empty()).take(MAX_TESTS + 1).collect();
    check_lines(&names, source)?;
    if names.is_empty() {
        return Err(ListError::Empty(source.to_owned()));
    }
    Ok(TestList::new(version, names, source))
}

/// Removes the source location from a line.
fn without_location(line: &str) -> &str {
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

/// Error while reading a test list.
#[derive(Debug, Error)]
pub enum ListError {
    /// There is no list for this version.
    #[error("no list of tests of {version} in {place}; it has {known}")]
    Unknown {
        /// The requested version.
        version: String,
        /// Where the list was searched.
        place: String,
        /// The available versions, for messages.
        known: String,
    },
    /// The string is not a valid version.
    #[error("invalid version `{0}`: expected a version such as `v1.30.2`")]
    Version(String),
    /// A file or a stream is not readable.
    #[error("failed to read `{place}`")]
    Read {
        /// Name of the file or stream.
        place: String,
        /// The underlying I/O error.
        #[source]
        error: io::Error,
    },
    /// The input exceeds a limit for lists.
    #[error("`{place}` is too large for a list of tests: more than {limit}")]
    TooLarge {
        /// Name of the file or stream.
        place: String,
        /// The exceeded limit.
        limit: &'static str,
    },
    /// A directory has too many entries to find all lists in it.
    #[error("directory `{place}` has more than {most} entries, so not all lists of tests in it can be found")]
    TooMany {
        /// Path of the directory.
        place: String,
        /// Maximum number of entries.
        most: usize,
    },
    /// The input is not text.
    #[error("`{0}` is not UTF-8 text")]
    NoText(String),
    /// The list has no tests.
    #[error("`{0}` has no tests")]
    Empty(String),
    /// A delta has an invalid line.
    #[error(
        "`{place}` is a delta, and line {line} is invalid: expected `+NAME` for a test that is added, `-NAME` for one that is removed"
    )]
    Difference {
        /// Name of the file or stream.
        place: String,
        /// Line number, starting at 1.
        line: usize,
    },
    /// A chain of deltas does not end at a full list.
    #[error("the list of {version} in {place} is a delta of others that lead {how}: {chain}")]
    Deltas {
        /// The requested version.
        version: String,
        /// Where the lists are.
        place: String,
        /// `in a circle` or `too far`.
        how: &'static str,
        /// The versions in the chain.
        chain: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_sorted_and_there_once() {
        let list =
            TestList::new("v1.30.2", [" [It] b [It] c ", "a", "", "[It] a", "  ", "[SynchronizedBeforeSuite]"], "x");
        assert_eq!(list.tests, ["[SynchronizedBeforeSuite]", "a", "b [It] c"]);
        assert_eq!(list.specs().collect::<Vec<_>>(), ["a", "b [It] c"]);
    }

    #[test]
    fn a_mark_alone_is_not_a_name() {
        for (name, plain) in [("[It]", ""), ("[It]x", "[It]x"), ("  [It]  x ", "x"), ("x [It] y", "x [It] y")] {
            assert_eq!(plain_name(name), plain, "{name}");
        }
    }

    #[test]
    fn a_list_names_the_version_that_it_replaces() {
        let list = TestList::new("v1.30.2", ["a"], "this program");
        assert_eq!(list.replacement_note("1.30.2+k3s1"), None);
        assert!(
            list.replacement_note("v1.30.9").is_some_and(|said| said.contains("v1.30.9") && said.contains("v1.30.2"))
        );
    }

    #[test]
    fn test_names_are_distinguished_from_locations_and_log_lines() {
        let output = "W1121 log line: not a test\nThe following spec names can be used:\n    test/e2e/a.go:41: [sig-a] one: with a colon\n    \
                      [sig-b] two: 3\n    ../bugs.go:x: kept\n\n";
        let list = from_program(output, "v1.30.2", "it").unwrap();
        assert_eq!(list.tests, ["../bugs.go:x: kept", "[sig-a] one: with a colon", "[sig-b] two: 3"]);
        assert_eq!(from_program("nothing\n", "", "it").unwrap_err().to_string(), "`it` has no tests");
        assert!(from_program(&"    a\n".repeat(MAX_TESTS + 1), "", "it").is_err());
        assert!(from_program(&format!("    {}", "a".repeat(MAX_LINE + 1)), "", "it").is_err());
    }
}
