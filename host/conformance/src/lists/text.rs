//! Lists as they are kept: text, one name per line, often compressed.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use super::error::ListError;
use super::list::{TestList, plain_name};
use super::version::Version;

/// Bytes of a list as it is kept. Those of a version are below 100 KiB.
pub const MAX_PACKED: u64 = 16 << 20;
/// Bytes of its text. Those of a version are below 2 MiB.
pub const MAX_TEXT: u64 = 64 << 20;
/// Bytes of a name.
pub const MAX_LINE: usize = 16 << 10;
/// Names of a list.
pub const MAX_TESTS: usize = 200_000;

/// With which bytes gzip begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    /// The names.
    Whole(Vec<String>),
    /// What is different from the list of another version.
    Delta { of: String, added: Vec<String>, removed: Vec<String> },
}

/// Reads a list that is whole: text, or text under gzip. `place` is for messages.
///
/// # Errors
/// When it is no such text, breaks a limit, names nothing, or is a delta, for which it takes [`resolve`](super::resolve()).
pub fn parse(bytes: &[u8], version: &str, place: &str) -> Result<TestList, ListError> {
    match kept(bytes, place)? {
        Kept::Whole(names) => Ok(TestList::new(version, names.iter().map(String::as_str), place)),
        Kept::Delta { of, .. } => Err(ListError::Unknown {
            version: of,
            place: format!("`{place}`, which is told by the differences to it"),
            known: "none next to it".to_owned(),
        }),
    }
}

pub(super) fn kept(bytes: &[u8], place: &str) -> Result<Kept, ListError> {
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
            Ok(Kept::Whole(names))
        }
    }
}

fn delta(of: &str, lines: &[&str], place: &str) -> Result<Kept, ListError> {
    // It becomes the name of a file or a part of an address: nothing but a version may stand there.
    let of = Version::parse(of.trim()).ok_or_else(|| ListError::Version(of.trim().to_owned()))?.name();
    // What is neither would be lost: a list whose beginning was damaged would be that of another version.
    let strange = lines.iter().skip(1).position(|line| !line.trim().is_empty() && !line.starts_with(['+', '-']));
    if let Some(at) = strange {
        return Err(ListError::Difference { place: place.to_owned(), line: at + 2 });
    }
    let with = |sign| {
        let lines = lines.iter().skip(1).filter_map(move |line| line.strip_prefix(sign));
        lines.map(plain_name).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    Ok(Kept::Delta { of, added: with('+'), removed: with('-') })
}
