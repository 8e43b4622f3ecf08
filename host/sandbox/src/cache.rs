//! The cache of compiled code on disk. Compiling a component with a language runtime takes seconds,
//! and loading its code takes milliseconds.
//!
//! Machine code is executed without any check, so an entry is used only if all of these conditions
//! hold:
//!
//! * Its directory belongs to this user, and nobody else may write to it.
//! * The file itself belongs to this user.
//! * An engine with the same fingerprint compiled it from exactly the component to load.
//! * It still has the digest with which it was written.
//!
//! Any other entry counts as missing.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use crate::private_dir::{Listed, PrivateDir};

/// The age in seconds after which an incomplete file was left behind by a killed process. No write
/// takes that long.
const ABANDONED: i64 = 3600;

#[derive(Debug)]
pub(crate) struct Cache {
    dir: PrivateDir,
    path: PathBuf,
    max_bytes: u64,
}

impl Cache {
    /// Opens a cache in the directory `path` of at most `max_bytes`.
    pub(crate) fn open(path: &Path, max_bytes: u64) -> io::Result<Self> {
        Ok(Self { dir: PrivateDir::open(path)?, path: path.to_owned(), max_bytes })
    }

    /// Passes the verified entry of `key` to `take`. Returns `None` if there is no usable entry, or
    /// if `take` fails.
    pub(crate) fn get<R>(&self, key: &Key, take: impl FnOnce(Entry<'_>) -> Result<R, String>) -> Option<R> {
        let name = key.file_name();
        let bytes = match self.dir.read(&name, self.max_bytes) {
            Ok(bytes) => bytes?,
            Err(error) => {
                self.discard(&name, &error.to_string());
                return None;
            }
        };
        let taken = Entry::read_verified(&bytes, key).map_err(|error| error.to_string()).and_then(take);
        taken.inspect_err(|reason| self.discard(&name, reason)).ok()
    }

    pub(crate) fn put(&self, key: &Key, code: &[u8]) {
        let bytes = Entry::write(key, code);
        let size = bytes.len() as u64;
        if size > self.max_bytes {
            return;
        }
        let kept = self.make_room(size).and_then(|()| self.dir.write(&key.file_name(), &bytes));
        if let Err(error) = kept {
            tracing::warn!(cache = %self.path.display(), "failed to cache the compiled code of a module: {error}");
        }
    }

    fn discard(&self, name: &str, reason: &str) {
        tracing::warn!(cache = %self.path.display(), entry = name, "ignored the cached code of a module, which is compiled again: {reason}");
        if let Err(error) = self.dir.remove(name) {
            tracing::debug!(cache = %self.path.display(), entry = name, "failed to remove it: {error}");
        }
    }

    /// Removes the least recently used entries until `size` more bytes fit, and incomplete files
    /// that were left behind.
    fn make_room(&self, size: u64) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let (unfinished, mut entries): (Vec<Listed>, Vec<Listed>) =
            self.dir.list()?.into_iter().partition(|file| file.unfinished);
        for file in unfinished.iter().filter(|file| file.modified < now.saturating_sub(ABANDONED)) {
            self.dir.remove(&file.name)?;
        }
        let mut used: u64 = entries.iter().map(|file| file.bytes).sum();
        entries.sort_by(|a, b| (a.modified, &a.name).cmp(&(b.modified, &b.name)));
        for file in entries {
            if used.saturating_add(size) <= self.max_bytes {
                break;
            }
            self.dir.remove(&file.name)?;
            used = used.saturating_sub(file.bytes);
        }
        Ok(())
    }
}

/// The file format. A later format ends with another number.
const MAGIC: &[u8; 16] = b"plumbline-code\0\x01";
const DIGEST: usize = 32;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EntryError {
    #[error("it is not a compiled module, or is truncated")]
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

    pub(crate) fn head(key: &Key, code: &[u8]) -> Vec<u8> {
        let digest: [u8; DIGEST] = Sha256::digest(code).into();
        [&MAGIC[..], &key.engine, &key.component, &digest].concat()
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
