//! Storage format of lists: text with one name per line, optionally compressed.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use super::error::ListError;
use super::list::{TestList, plain_name};
use super::version::Version;

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
    match kept(bytes, place)? {
        StoredList::Whole(names) => Ok(TestList::new(version, names.iter().map(String::as_str), place)),
        StoredList::Delta { of, .. } => Err(ListError::Unknown {
            version: of,
            place: format!("`{place}`, of which it is a delta"),
            known: "none next to it".to_owned(),
        }),
    }
}

pub(super) fn kept(bytes: &[u8], place: &str) -> Result<StoredList, ListError> {
    let large = |limit| ListError::TooLarge { place: place.to_owned(), limit };
    if bytes.len() as u64 > MAX_PACKED {
        return Err(large("16 MiB as it is kept"));
    }
    let mut text = Vec::new();
    let read = if bytes.starts_with(&GZIP) {
        MultiGzDecoder::new(bytes).take(MAX_TEXT + 1).read_to_end(&mut text)
    } else {
        text.extend_from_slice(bytes);
        Ok(text.len())
    };
    read.map_err(|error: io::Error| ListError::Read { place: place.to_owned(), error })?;
    if text.len() as u64 > MAX_TEXT {
        return Err(large("64 MiB of text"));
    }
    let text = String::from_utf8(text).map_err(|_| ListError::NoText { place: place.to_owned() })?;
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().take(MAX_TESTS + 1).collect();
    if lines.len() > MAX_TESTS {
        return Err(large("200,000 lines"));
    }
    if lines.iter().any(|line| line.len() > MAX_LINE) {
        return Err(large("16 KiB in a line"));
    }
    if lines.iter().any(|line| line.chars().any(|c| c.is_control() && c != '\t')) {
        return Err(ListError::NoText { place: place.to_owned() });
    }
    match lines.first().and_then(|line| line.strip_prefix('#')) {
        Some(of) => delta(of, &lines, place),
        None => {
            let names: Vec<String> =
                lines.into_iter().map(plain_name).filter(|name| !name.is_empty()).map(str::to_owned).collect();
            if names.is_empty() {
                return Err(ListError::Empty { place: place.to_owned() });
            }
            Ok(StoredList::Whole(names))
        }
    }
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
