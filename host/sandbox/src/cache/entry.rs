//! A cache entry: compiled code together with its component and engine.

use sha2::{Digest, Sha256};

/// The file format. A later format ends with another number.
const MAGIC: &[u8; 16] = b"plumbline-code\0\x01";
const DIGEST: usize = 32;

/// The identity of compiled code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    /// The [`fingerprint`](crate::engine::fingerprint) of the engine that compiled it.
    pub(crate) engine: [u8; DIGEST],
    /// The SHA-256 digest of the component.
    pub(crate) component: [u8; DIGEST],
}

impl Key {
    /// Returns the name of the file. It starts with the engine, so that entries of one engine are
    /// adjacent.
    pub(crate) fn file_name(&self) -> String {
        let engine = self.engine.first_chunk::<8>().map_or_else(String::new, hex::encode);
        format!("{engine}-{}.code", hex::encode(self.component))
    }
}

/// An entry: a header (format, key, digest of the code), followed by the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    digest: [u8; DIGEST],
    pub(crate) code: &'a [u8],
}

/// Why data is not the requested entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EntryError {
    #[error("it is not compiled code of this kind, or cut off")]
    NoEntry,
    #[error("it was compiled by another engine")]
    OtherEngine,
    #[error("it was compiled from another component")]
    OtherComponent,
    #[error("its content does not match its digest")]
    Corrupt,
}

impl<'a> Entry<'a> {
    /// Parses the entry of `key` without verifying its digest.
    pub(crate) fn read(bytes: &'a [u8], key: &Key) -> Result<Self, EntryError> {
        fn digest(bytes: &mut &[u8]) -> Result<[u8; DIGEST], EntryError> {
            let (digest, rest) = bytes.split_first_chunk().ok_or(EntryError::NoEntry)?;
            *bytes = rest;
            Ok(*digest)
        }
        let mut rest = bytes.strip_prefix(MAGIC).ok_or(EntryError::NoEntry)?;
        if digest(&mut rest)? != key.engine {
            return Err(EntryError::OtherEngine);
        }
        if digest(&mut rest)? != key.component {
            return Err(EntryError::OtherComponent);
        }
        Ok(Self { digest: digest(&mut rest)?, code: rest })
    }

    /// Parses the entry of `key` and verifies its digest.
    pub(crate) fn read_verified(bytes: &'a [u8], key: &Key) -> Result<Self, EntryError> {
        let entry = Self::read(bytes, key)?;
        if Sha256::digest(entry.code).as_slice() != entry.digest {
            return Err(EntryError::Corrupt);
        }
        Ok(entry)
    }

    /// Returns the bytes of the entry of `key` with `code`.
    pub(crate) fn write(key: &Key, code: &[u8]) -> Vec<u8> {
        [&Self::head(key, code), code].concat()
    }

    /// Returns the header that precedes `code` in the entry of `key`.
    pub(crate) fn head(key: &Key, code: &[u8]) -> Vec<u8> {
        let digest: [u8; DIGEST] = Sha256::digest(code).into();
        [&MAGIC[..], &key.engine, &key.component, &digest].concat()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: Key = Key { engine: [1; 32], component: [2; 32] };

    #[test]
    fn what_was_written_is_read() {
        let bytes = Entry::write(&KEY, b"code");
        assert_eq!(Entry::read_verified(&bytes, &KEY).unwrap().code, b"code");
        let name = KEY.file_name();
        assert!(name.starts_with("0101010101010101-0202") && name.ends_with("02.code"), "{name}");
    }

    #[test]
    fn each_difference_is_named() {
        let bytes = Entry::write(&KEY, b"code");
        let read = |key: &Key| Entry::read_verified(&bytes, key).unwrap_err();
        assert_eq!(read(&Key { engine: [9; 32], ..KEY }), EntryError::OtherEngine);
        assert_eq!(read(&Key { component: [9; 32], ..KEY }), EntryError::OtherComponent);
        assert_eq!(Entry::read_verified(b"", &KEY), Err(EntryError::NoEntry));
        assert_eq!(Entry::read_verified(&bytes[..bytes.len() - 1], &KEY), Err(EntryError::Corrupt));
    }

    proptest! {
        #[test]
        fn no_changed_bit_and_no_cut_goes_unnoticed(at in 0usize..1000, bit in 0u8..8, cut in 0usize..1000) {
            let bytes = Entry::write(&KEY, b"some code that is longer than nothing");
            let mut changed = bytes.clone();
            let at = at % changed.len();
            changed[at] ^= 1 << bit;
            prop_assert!(Entry::read_verified(&changed, &KEY).is_err());
            prop_assert!(Entry::read_verified(&bytes[..cut % bytes.len()], &KEY).is_err());
        }
    }
}
