//! A layer of an image: a compressed tar archive with two digests.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::tree::{self, Tree};

/// Bytes with their digest.
#[derive(Debug)]
pub(crate) struct Blob {
    pub(crate) bytes: Vec<u8>,
    /// The SHA-256 digest in hexadecimal.
    pub(crate) sha256: String,
}

impl Blob {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let sha256 = format!("{:x}", Sha256::digest(&bytes));
        Self { bytes, sha256 }
    }

    /// Returns the digest as manifests write it.
    pub(crate) fn digest(&self) -> String {
        format!("sha256:{}", self.sha256)
    }
}

/// A layer as it is stored.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) blob: Blob,
    /// The digest of the archive before compression.
    pub(crate) diff_id: String,
}

impl Layer {
    pub(crate) fn new(tree: &Tree) -> io::Result<Self> {
        // The gzip header has no time and no name unless they are set, so the same files give the
        // same bytes.
        let mut out = Tee { hash: Sha256::new(), inner: GzEncoder::new(Vec::new(), Compression::default()) };
        tree::write(tree, &mut out)?;
        let diff_id = format!("sha256:{:x}", out.hash.finalize());
        Ok(Self { blob: Blob::new(out.inner.finish()?), diff_id })
    }
}

/// Hashes all bytes that pass through.
struct Tee<W> {
    hash: Sha256,
    inner: W,
}

impl<W: Write> Write for Tee<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
