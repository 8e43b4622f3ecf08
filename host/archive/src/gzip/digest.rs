//! Size and SHA-256 of what is written, computed on the way.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

/// Size and digest of everything that went through a [`Sha256Writer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Bytes written.
    pub bytes: u64,
    /// SHA-256 (FIPS 180-4), 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// Passes writes on and keeps their size and SHA-256. Bytes count once the writer behind has taken them, so after a failed
/// write the digest is that of what got through.
#[derive(Debug)]
pub struct Sha256Writer<W> {
    out: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Sha256Writer<W> {
    /// Passes writes on to `out`.
    pub fn new(out: W) -> Self {
        Self { out, hash: Sha256::new(), bytes: 0 }
    }

    /// Bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The writer behind, and the digest of what it was given. Does not flush.
    pub fn finish(self) -> (W, Digest) {
        (self.out, Digest { bytes: self.bytes, sha256: hex::encode(self.hash.finalize()) })
    }
}

impl<W: Write> Write for Sha256Writer<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let taken = self.out.write(data)?;
        let through = data.get(..taken).unwrap_or(data);
        self.hash.update(through);
        self.bytes = self.bytes.saturating_add(through.len() as u64);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes one byte at a time, and at most three.
    struct Narrow(Vec<u8>);

    impl Write for Narrow {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            if self.0.len() == 3 {
                return Err(io::Error::new(io::ErrorKind::StorageFull, "full"));
            }
            self.0.extend_from_slice(&data[..1]);
            Ok(1)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_digest_is_that_of_the_bytes_that_got_through() {
        let mut writer = Sha256Writer::new(Narrow(Vec::new()));
        assert_eq!(writer.write_all(b"abcdef").unwrap_err().kind(), io::ErrorKind::StorageFull);
        let (out, digest) = writer.finish();
        assert_eq!(out.0, b"abc");
        assert_eq!(digest.bytes, 3);
        // The first example of FIPS 180-4.
        assert_eq!(digest.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
