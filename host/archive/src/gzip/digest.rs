//! Writers that compute the size and SHA-256 digest of their data.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

/// The size and digest of all data written to a [`Sha256Writer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// The number of bytes written.
    pub bytes: u64,
    /// The SHA-256 digest (FIPS 180-4): 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// A writer that passes data on and computes its size and SHA-256 digest. Bytes count once the
/// inner writer has accepted them. After a failed write, the digest therefore covers what got
/// through.
#[derive(Debug)]
pub struct Sha256Writer<W> {
    out: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Sha256Writer<W> {
    /// Creates a writer that passes data on to `out`.
    pub fn new(out: W) -> Self {
        Self { out, hash: Sha256::new(), bytes: 0 }
    }

    /// Returns the number of bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the inner writer, and the digest of what it accepted. Does not flush.
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

    /// Accepts one byte at a time, and three in total.
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
