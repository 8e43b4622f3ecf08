//! File names from the network, and the header `Content-Disposition` (RFC 6266, RFC 2183) that carries
//! them.
//!
//! Existing clients do not quote any name, so one with a space cannot be parsed. Such a header,
//! like a missing one, means [`SafeFileName::FALLBACK`]. Only a name that was parsed and is unsafe
//! is an error.

use std::str::FromStr;

use http::HeaderValue;
use percent_encoding::utf8_percent_encode;
use plumbline_core::text::Printable;

use crate::percent::{self, IN_VALUE};

/// The maximum length of a file name in bytes: the limit of Linux for one path segment
/// (`NAME_MAX`).
pub const MAX_FILE_NAME_BYTES: usize = 255;

/// A name that is safe as one path segment: not empty, not `.` or `..`, and without `/`, `\` and
/// control characters. It has at most [`MAX_FILE_NAME_BYTES`].
///
/// A leading dash is allowed, because the name is never passed to a shell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeFileName(String);

/// Error for an invalid file name. Respond with 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileNameError {
    /// The name is empty.
    #[error("the file name is empty")]
    Empty,
    /// The name leads out of its directory, or refers to it.
    #[error("file name `{0}` is a path: send the name of one file")]
    Path(String),
    /// The name has a control character, which may harm terminals and archive tools.
    #[error("file name `{0}` has a control character")]
    Control(Printable),
    /// The name is too long for a file system.
    #[error("the file name has {0} bytes: the limit is {MAX_FILE_NAME_BYTES}")]
    TooLong(usize),
}

impl SafeFileName {
    /// The name of a file whose sender gives none (docs/protocol.md, "Results").
    pub const FALLBACK: &str = "result";

    /// Returns the name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SafeFileName {
    type Err = FileNameError;

    fn from_str(text: &str) -> Result<Self, FileNameError> {
        if text.is_empty() {
            return Err(FileNameError::Empty);
        }
        if text.len() > MAX_FILE_NAME_BYTES {
            return Err(FileNameError::TooLong(text.len()));
        }
        if text.chars().any(char::is_control) {
            return Err(FileNameError::Control(Printable::escaped(text, usize::MAX)));
        }
        if text.contains(['/', '\\']) || matches!(text, "." | "..") {
            return Err(FileNameError::Path(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// Returns the file name in a `Content-Disposition` header. Without a header, or if it has no name
/// or does not parse, the name is [`SafeFileName::FALLBACK`]. `filename*` (RFC 8187, in UTF-8 or
/// US-ASCII) takes precedence over `filename`.
///
/// ```
/// use plumbline_phonehome::disposition_file_name;
///
/// assert_eq!(disposition_file_name(Some(b"attachment;filename=e2e.tar.gz"))?.as_str(), "e2e.tar.gz");
/// assert_eq!(disposition_file_name(None)?.as_str(), "result");
/// assert!(disposition_file_name(Some(br#"attachment; filename="../x""#)).is_err());
/// # Ok::<(), plumbline_phonehome::FileNameError>(())
/// ```
///
/// # Errors
/// Returns an error if the header has a name that is not a single path segment. Respond with 400.
pub fn disposition_file_name(header: Option<&[u8]>) -> Result<SafeFileName, FileNameError> {
    match header.and_then(|header| std::str::from_utf8(header).ok()).and_then(named) {
        Some(name) if !name.is_empty() => name.parse(),
        _ => Ok(SafeFileName(SafeFileName::FALLBACK.to_owned())),
    }
}

/// Returns the value of a `Content-Disposition` header for `name`.
///
/// A token is unquoted, as every server reads it. `filename*` is added for names beyond ASCII.
pub fn content_disposition(name: &SafeFileName) -> HeaderValue {
    let name = name.as_str();
    let text = if name.bytes().all(is_token_byte) {
        format!("attachment;filename={name}")
    } else if name.is_ascii() {
        format!("attachment;filename={}", quoted(name))
    } else {
        let plain: String = name.chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
        format!("attachment;filename={};filename*=UTF-8''{}", quoted(&plain), utf8_percent_encode(name, IN_VALUE))
    };
    // This cannot fail: the text has no control characters, and only ASCII.
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the name in a well-formed header.
fn named(header: &str) -> Option<String> {
    let (kind, mut rest) = token(header.trim_start_matches(is_space));
    if kind.is_empty() {
        return None;
    }
    let mut plain: Option<String> = None;
    let mut extended: Option<String> = None;
    loop {
        rest = rest.trim_start_matches(is_space);
        if rest.is_empty() {
            return extended.as_deref().and_then(decode_extended).or(plain);
        }
        rest = rest.strip_prefix(';')?.trim_start_matches(is_space);
        if rest.is_empty() {
            continue;
        }
        let (key, after) = token(rest);
        if key.is_empty() {
            return None;
        }
        let after = after.trim_start_matches(is_space).strip_prefix('=')?.trim_start_matches(is_space);
        let (value, after) = value(after)?;
        rest = after;
        let place = match key.to_ascii_lowercase().as_str() {
            "filename" => &mut plain,
            "filename*" => &mut extended,
            _ => continue,
        };
        // Two different values are ambiguous.
        if place.as_ref().is_some_and(|earlier| *earlier != value) {
            return None;
        }
        *place = Some(value);
    }
}

/// Splits a token or quoted string off `text`.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(inside) = text.strip_prefix('"') else {
        let (value, rest) = token(text);
        return (!value.is_empty()).then(|| (value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut characters = inside.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return inside.get(at + 1..).map(|rest| (value, rest)),
            '\r' | '\n' => return None,
            // Browsers on Windows do not escape, so a backslash only escapes what needs it.
            '\\' if characters.peek().is_some_and(|(_, next)| is_special(*next)) => {
                value.extend(characters.next().map(|(_, next)| next));
            }
            other => value.push(other),
        }
    }
    None
}

/// Decodes `UTF-8'language'percent-encoded` (RFC 8187, section 3.2).
fn decode_extended(text: &str) -> Option<String> {
    let mut parts = text.splitn(3, '\'');
    let (charset, _language, encoded) = (parts.next()?, parts.next()?, parts.next()?);
    let name = percent::decode(encoded)?;
    match charset.to_ascii_lowercase().as_str() {
        "utf-8" => Some(name),
        "us-ascii" => name.is_ascii().then_some(name),
        _ => None,
    }
}

/// Splits the longest token (RFC 2045, section 5.1) off the start of `text`.
fn token(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !is_token_byte(byte)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !is_special(char::from(byte))
}

fn is_special(character: char) -> bool {
    "()<>@,;:\\\"/[]?=".contains(character)
}

fn is_space(character: char) -> bool {
    character.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::{Component, Path};

    #[test]
    fn ordinary_names_pass() {
        for name in
            ["result", "e2e.tar.gz", ".hidden", "...", "a b (1).xml", "-rf", "ergebnis-für-müller.json", "日本.txt"]
        {
            assert_eq!(name.parse::<SafeFileName>().unwrap().as_str(), name);
        }
        assert!("x".repeat(255).parse::<SafeFileName>().is_ok());
    }

    #[test]
    fn hostile_names_are_refused_with_the_reason() {
        for (name, message) in [
            ("", "the file name is empty"),
            (".", "file name `.` is a path: send the name of one file"),
            ("..", "file name `..` is a path: send the name of one file"),
            ("../../etc/passwd", "file name `../../etc/passwd` is a path: send the name of one file"),
            ("/etc/passwd", "file name `/etc/passwd` is a path: send the name of one file"),
            ("a\\b", "file name `a\\b` is a path: send the name of one file"),
            ("a\0b", "file name `a\\u{0}b` has a control character"),
            ("a\nb", "file name `a\\nb` has a control character"),
            ("a\u{1b}[2Jb", "file name `a\\u{1b}[2Jb` has a control character"),
            ("a\u{85}b", "file name `a\\u{85}b` has a control character"),
        ] {
            assert_eq!(name.parse::<SafeFileName>().unwrap_err().to_string(), message);
        }
        let long = "é".repeat(128).parse::<SafeFileName>().unwrap_err();
        assert_eq!(long.to_string(), "the file name has 256 bytes: the limit is 255");
    }

    proptest! {
        #[test]
        fn an_accepted_file_name_is_one_path_segment(text in "[\\PC./\\\\]{0,300}") {
            if let Ok(name) = text.parse::<SafeFileName>() {
                let path = Path::new(name.as_str());
                let parts: Vec<_> = path.components().collect();
                prop_assert!(matches!(parts.as_slice(), [Component::Normal(part)] if **part == *name.as_str()));
            }
        }
    }

    fn name(header: &str) -> String {
        disposition_file_name(Some(header.as_bytes())).unwrap().as_str().to_owned()
    }

    #[test]
    fn headers_of_clients_are_parsed() {
        for (header, expected) in [
            ("attachment;filename=e2e.tar.gz", "e2e.tar.gz"),
            ("attachment; filename=systemd_logs", "systemd_logs"),
            ("ATTACHMENT ; FileName = \"a b.xml\" ; x=y;", "a b.xml"),
            ("attachment; filename=\"a \\\"b\\\".xml\"", "a \"b\".xml"),
            ("attachment; filename=\"naïve.txt\"", "naïve.txt"),
            ("attachment; filename=\"na_ve.txt\"; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
            ("attachment; filename*=utf-8'de'%41.txt; filename=b.txt", "A.txt"),
            ("inline;filename=a;filename=a", "a"),
        ] {
            assert_eq!(name(header), expected, "{header}");
        }
    }

    #[test]
    fn an_unreadable_header_gives_the_name_result() {
        for header in [
            "",
            ";",
            "attachment",
            "attachment;",
            "attachment;filename",
            "attachment;filename=",
            "attachment;filename=\"\"",
            "attachment;filename=a b.xml",
            "attachment;filename=ä.xml",
            "attachment;filename=\"open",
            "attachment;filename=\"two\r\nlines\"",
            "attachment;filename=a;filename=b",
            "attachment;filename=a/b",
            "attachment;filename*=UTF-16''a",
            "attachment;filename*=UTF-8''%zz",
            "filename=a",
        ] {
            assert_eq!(name(header), "result", "{header}");
        }
        assert_eq!(disposition_file_name(Some(b"attachment;filename=\"\xff\"")).unwrap().as_str(), "result");
    }

    #[test]
    fn hostile_names_are_errors() {
        for header in [
            "attachment;filename=..",
            "attachment;filename=\"../../x\"",
            "attachment;filename=\"/etc/passwd\"",
            "attachment;filename=\"C:\\temp\\x\"",
            "attachment;filename*=UTF-8''%2e%2e%2fx",
            "attachment;filename*=UTF-8''a%00b",
        ] {
            assert!(disposition_file_name(Some(header.as_bytes())).is_err(), "{header}");
        }
    }

    #[test]
    fn tokens_are_sent_as_the_field_sends_them() {
        let header = |name: &str| content_disposition(&name.parse().unwrap());
        assert_eq!(header("e2e.tar.gz"), "attachment;filename=e2e.tar.gz");
        assert_eq!(header("a b.xml"), "attachment;filename=\"a b.xml\"");
        assert_eq!(header("für.xml"), "attachment;filename=\"f_r.xml\";filename*=UTF-8''f%C3%BCr.xml");
    }

    proptest! {
        #[test]
        fn a_written_header_reads_back(name in "\\PC{1,60}") {
            if let Ok(name) = name.parse::<SafeFileName>() {
                let header = content_disposition(&name);
                prop_assert_eq!(disposition_file_name(Some(header.as_bytes())), Ok(name));
            }
        }

        #[test]
        fn any_bytes_give_a_safe_name_or_an_error(header in proptest::collection::vec(any::<u8>(), 0..120)) {
            check(&header)?;
        }

        #[test]
        fn so_does_anything_that_looks_like_a_header(
            header in "(attachment)?([; =\"\\\\*'a%./]|filename|%2f|%5C|%00|UTF-8''|\\.\\.|\u{1b}){0,30}",
        ) {
            check(header.as_bytes())?;
        }

        #[test]
        fn so_does_any_name_however_it_is_written(name in "[a./\\\\%\u{0}-\u{20}é\"]{0,20}") {
            check(format!("attachment;filename={name}").as_bytes())?;
            check(format!("attachment;filename={}", quoted(&name)).as_bytes())?;
            check(format!("attachment;filename*=UTF-8''{}", utf8_percent_encode(&name, IN_VALUE)).as_bytes())?;
        }
    }

    /// Checks that any accepted name stays inside the directory to which it is joined.
    fn check(header: &[u8]) -> Result<(), TestCaseError> {
        if let Ok(name) = disposition_file_name(Some(header)) {
            let place = Path::new("/place");
            let file = place.join(name.as_str());
            prop_assert_eq!(file.parent(), Some(place));
            prop_assert_eq!(file.file_name(), Some(std::ffi::OsStr::new(name.as_str())));
            prop_assert!(!name.as_str().chars().any(char::is_control));
        }
        Ok(())
    }
}
