//! The fields of an entry: objects `NAME=value`, perhaps compressed.

use std::io::Read;

use super::blocks::Blocks;
use super::format::{Damage, Header, Kind, object, u64_at};

/// Bytes of a field that are kept; the rest of it is cut off. Fields of this size are core dumps of long ago, or a mistake.
pub const MAX_FIELD_BYTES: usize = 1 << 20;

/// Where the value of a data object begins: with 64-bit offsets, and compact ones, which have two more.
const PAYLOAD: u64 = 64;
const COMPACT_PAYLOAD: u64 = 72;

const XZ: u8 = 1;
const LZ4: u8 = 1 << 1;
const ZSTD: u8 = 1 << 2;

/// The most history that a zstd frame may want: 8 MiB, more than journald's frames of at most 1 MiB that are kept here need.
const MAX_WINDOW: u64 = 8 << 20;

/// A field.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// `NAME=value`.
    Whole(Vec<u8>),
    /// The beginning of it.
    Cut(Vec<u8>),
    /// It is compressed in a way that cannot be read here.
    Unreadable(&'static str),
}

/// The field at `at`.
pub(super) fn field(file: &mut Blocks, header: &Header, at: u64) -> Result<Field, Damage> {
    let payload = if header.compact { COMPACT_PAYLOAD } else { PAYLOAD };
    let object = object(file, header, at, Kind::Data, payload)?;
    let stored = object.size - payload;
    let compression = object.flags & (XZ | LZ4 | ZSTD);
    // What does not fit compressed is larger still without.
    let kept = usize::try_from(stored).unwrap_or(usize::MAX).min(MAX_FIELD_BYTES);
    let mut bytes = vec![0; kept];
    file.read(at + payload, &mut bytes)?;
    let whole = kept as u64 == stored;
    match compression {
        0 if whole => Ok(Field::Whole(bytes)),
        0 => Ok(Field::Cut(bytes)),
        ZSTD => zstd(&bytes, whole).ok_or_else(|| Damage::at(at, "does not decompress (zstd)")),
        LZ4 if !whole => Ok(Field::Unreadable("too large")),
        LZ4 => lz4(&bytes).ok_or_else(|| Damage::at(at, "does not decompress (LZ4)")),
        XZ => Ok(Field::Unreadable("compressed with xz")),
        _ => Err(Damage::at(at, "is compressed in two ways at once")),
    }
}

fn zstd(stored: &[u8], whole: bool) -> Option<Field> {
    let decoder = ruzstd::decoding::StreamingDecoder::new_with_max_window_size(stored, MAX_WINDOW).ok()?;
    let mut bytes = Vec::new();
    let read = decoder.take(MAX_FIELD_BYTES as u64 + 1).read_to_end(&mut bytes);
    if bytes.len() > MAX_FIELD_BYTES {
        bytes.truncate(MAX_FIELD_BYTES);
        return Some(Field::Cut(bytes));
    }
    match read {
        Ok(_) => Some(Field::Whole(bytes)),
        Err(_) if !whole && !bytes.is_empty() => Some(Field::Cut(bytes)),
        Err(_) => None,
    }
}

/// Eight bytes with the size that it has without compression, then a block.
fn lz4(stored: &[u8]) -> Option<Field> {
    let size = usize::try_from(u64_at(stored, 0)).ok()?;
    let block = stored.get(8..)?;
    if size > MAX_FIELD_BYTES {
        return Some(Field::Unreadable("too large"));
    }
    let mut bytes = vec![0; size];
    let written = lz4_flex::block::decompress_into(block, &mut bytes).ok()?;
    (written == size).then_some(Field::Whole(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same text compressed by the reference program of LZ4: a literal of 5, then a repetition.
    #[test]
    fn lz4_blocks() {
        // Token: 5 literals and a match of 4+10 at offset 5, then a last run of 5 literals.
        let mut stored = 24_u64.to_le_bytes().to_vec();
        stored.extend([0x5a, b'A', b'=', b'x', b'y', b'z', 5, 0]);
        stored.extend([0x50, b'1', b'2', b'3', b'4', b'5']);
        assert_eq!(lz4(&stored), Some(Field::Whole(b"A=xyzA=xyzA=xyzA=xy12345".to_vec())));
        let cut = &stored[..stored.len() - 3];
        assert_eq!(lz4(cut), None);
        stored[0] = 25;
        assert_eq!(lz4(&stored), None, "the size must be right");
        stored[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(lz4(&stored), Some(Field::Unreadable("too large")));
        assert_eq!(lz4(b"short"), None);
    }

    #[test]
    fn rubbish_does_not_decompress() {
        assert_eq!(zstd(b"no frame", true), None);
        assert_eq!(zstd(&[0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff, 0xff], true), None);
    }
}
