//! Tar headers of 512 bytes.

use crate::name::{self, EntryFault};
use crate::ustar::BLOCK;

/// Size of the field for the last part of a name, in bytes.
const NAME: usize = 100;
/// Size of the field for the directories before it, in bytes.
const PREFIX: usize = 155;

/// The fields of a header that can vary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) executable: bool,
}

/// Reason why a block is not a valid header of a bundle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// The checksum is wrong: the block is damaged, or not a header.
    Checksum,
    /// The header is for an entry that cannot be part of a bundle. Holds its name for display, and
    /// the reason.
    Refused(String, EntryFault),
}

/// Returns whether `name` fits into a header.
pub(crate) fn fits(name: &str) -> bool {
    split(name).is_some()
}

/// Splits a name into the directories for the prefix field and the rest. The prefix is as short as
/// possible, so that the split is unique.
fn split(name: &str) -> Option<(&str, &str)> {
    if name.len() <= NAME {
        return Some(("", name));
    }
    let (prefix, rest) = name
        .match_indices('/')
        .filter_map(|(at, _)| Some((name.get(..at)?, name.get(at + 1..)?)))
        .find(|(_, rest)| rest.len() <= NAME)?;
    (!prefix.is_empty() && prefix.len() <= PREFIX && !rest.is_empty()).then_some((prefix, rest))
}

impl Header {
    /// Encodes the header as a block. `None` if the name does not fit.
    pub(crate) fn encode(&self) -> Option<[u8; BLOCK]> {
        let (prefix, name) = split(&self.name)?;
        let mut block = [0; BLOCK];
        let mut put = |at: usize, text: &[u8]| {
            if let Some(field) = block.get_mut(at..at + text.len()) {
                field.copy_from_slice(text);
            }
        };
        put(0, name.as_bytes());
        put(100, if self.executable { b"0000755\0" } else { b"0000644\0" });
        put(108, b"0000000\0"); // uid
        put(116, b"0000000\0"); // gid
        put(124, format!("{:011o}\0", self.size).as_bytes());
        put(136, b"00000000000\0"); // mtime
        put(148, b"        "); // the checksum, while it is computed
        put(156, b"0"); // a regular file
        put(257, b"ustar\x0000");
        put(329, b"0000000\0"); // major and minor number of a device
        put(337, b"0000000\0");
        put(345, prefix.as_bytes());
        let sum = checksum(&block);
        if let Some(field) = block.get_mut(148..156) {
            field.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
        Some(block)
    }

    /// Decodes a block that is not all zeros.
    pub(crate) fn decode(block: &[u8; BLOCK]) -> Result<Self, HeaderError> {
        let field = |at: usize, len: usize| block.get(at..at + len).unwrap_or_default();
        if octal(field(148, 8)) != Some(u64::from(checksum(block))) {
            return Err(HeaderError::Checksum);
        }
        let mut raw = text(field(345, PREFIX)).to_vec();
        if !raw.is_empty() {
            raw.push(b'/');
        }
        raw.extend_from_slice(text(field(0, NAME)));
        let refused = |fault| HeaderError::Refused(name::shown(&raw), fault);
        // Check the type first. For a link, that is the useful message, not a problem with its
        // name.
        if let Some(fault) = kind(field(156, 1).first().copied().unwrap_or_default()) {
            return Err(refused(fault));
        }
        let name = name::check(&raw).map_err(refused)?.to_owned();
        let size = octal(field(124, 12)).ok_or_else(|| refused(EntryFault::Header))?;
        let header = Self { name, size, executable: field(100, 8) == b"0000755\0" };
        match header.encode() {
            Some(again) if again == *block => Ok(header),
            _ => Err(refused(EntryFault::Header)),
        }
    }
}

/// Returns what is wrong with the type of an entry.
fn kind(byte: u8) -> Option<EntryFault> {
    Some(match byte {
        b'0' => return None,
        // Type of regular files before POSIX.
        0 => EntryFault::Header,
        b'1' => EntryFault::HardLink,
        b'2' => EntryFault::Symlink,
        b'3' | b'4' => EntryFault::Device,
        b'5' => EntryFault::Directory,
        b'6' => EntryFault::Fifo,
        b'S' => EntryFault::Sparse,
        b'x' | b'X' => EntryFault::Extended("pax"),
        b'g' => EntryFault::Extended("pax, for all entries"),
        b'L' | b'K' => EntryFault::Extended("GNU long name"),
        other => EntryFault::Type(other),
    })
}

/// Returns the sum of all bytes, with the checksum field counted as spaces.
fn checksum(block: &[u8; BLOCK]) -> u32 {
    let own = 148..156;
    block.iter().enumerate().map(|(at, &byte)| u32::from(if own.contains(&at) { b' ' } else { byte })).sum()
}

/// Returns a field up to its first NUL.
fn text(field: &[u8]) -> &[u8] {
    field.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Parses octal digits up to a NUL or space.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.split(|&byte| matches!(byte, 0 | b' ')).next()?;
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| match digit {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_names_are_split_in_one_way() {
        let long = format!("{}/{}/{}", "a".repeat(60), "b".repeat(60), "c".repeat(60));
        let (prefix, rest) = split(&long).unwrap();
        assert_eq!((prefix.len(), rest.len()), (121, 60));
        assert_eq!(split("a/b"), Some(("", "a/b")));
        assert_eq!(split(&format!("/{}", "b".repeat(100))), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(parts in prop::collection::vec("[a-zA-Z0-9._ä-]{1,60}", 1..5), size in 0u64..1 << 33, executable: bool) {
            let name = parts.join("/");
            prop_assume!(name::check(name.as_bytes()).is_ok());
            let header = Header { name, size, executable };
            prop_assert_eq!(Header::decode(&header.encode().unwrap()), Ok(header));
        }

        #[test]
        fn a_header_with_one_byte_changed_is_refused(at in 0usize..BLOCK, byte: u8, fix: bool) {
            let header = Header { name: "tests/case/expected.yaml".to_owned(), size: 512, executable: false };
            let mut block = header.encode().unwrap();
            prop_assume!(block[at] != byte);
            block[at] = byte;
            if fix {
                let sum = format!("{:06o}\0 ", checksum(&block));
                block[148..156].copy_from_slice(sum.as_bytes());
            }
            if let Ok(read) = Header::decode(&block) {
                prop_assert!(fix && read != header || (148..156).contains(&at), "{read:?}");
            }
        }
    }
}
