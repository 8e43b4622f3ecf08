//! SHA-256 digests in their usual form: `sha256:` and 64 hexadecimal digits.

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Prefix before the digits (OCI image specification, "Digests").
const PREFIX: &str = "sha256:";

/// Bytes to read at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// The SHA-256 digest of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// Error for a string that is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest: write `sha256:` and 64 lower-case hexadecimal digits")]
pub struct DigestError(String);

impl Digest {
    /// Returns the digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads `from` to its end and returns the digest of everything.
    ///
    /// # Errors
    /// Those of `from`.
    pub fn of_reader(mut from: impl Read) -> io::Result<Self> {
        let mut hasher = DigestWriter::new(io::sink());
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match from.read(&mut chunk) {
                Ok(0) => return Ok(hasher.digest()),
                Ok(read) => hasher.write_all(chunk.get(..read).unwrap_or_default())?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the bytes of the digest.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the 64 digits without the prefix, for use in a file name.
    #[must_use]
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }
}

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.hex())
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    /// Accepts only lower case. A digest has one spelling, so that digests can also be compared as
    /// strings.
    fn from_str(text: &str) -> Result<Self, DigestError> {
        let wrong = || DigestError(text.chars().take(100).collect());
        let digits = text.strip_prefix(PREFIX).filter(|digits| !digits.contains(|c: char| c.is_ascii_uppercase()));
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits.ok_or_else(wrong)?, &mut bytes).map_err(|_| wrong())?;
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// A writer that passes bytes on and tracks their number and digest.
#[derive(Debug)]
pub struct DigestWriter<W> {
    to: W,
    hasher: Sha256,
    bytes: u64,
}

impl<W: Write> DigestWriter<W> {
    /// Creates a writer that passes everything on to `to`.
    pub fn new(to: W) -> Self {
        Self { to, hasher: Sha256::new(), bytes: 0 }
    }

    /// Returns the digest of the bytes written so far.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest(self.hasher.clone().finalize().into())
    }

    /// Returns the number of bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<W: Write> Write for DigestWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = self.to.write(data)?;
        self.hasher.update(data.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_one_spelling() {
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), text);
        assert_eq!(text.parse::<Digest>().unwrap(), Digest::of(b""));
        for bad in ["", "sha256:", &text.to_uppercase(), &text[7..], &text[..70], &format!("{text}00"), "sha256:é"] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
        let upper = text.replace("e3b0", "E3B0");
        assert!(upper.parse::<Digest>().is_err());
    }

    #[test]
    fn streams_and_bytes_agree() {
        let data = vec![7; 200_000];
        assert_eq!(Digest::of_reader(data.as_slice()).unwrap(), Digest::of(&data));
        let mut writer = DigestWriter::new(Vec::new());
        writer.write_all(&data).unwrap();
        assert_eq!((writer.digest(), writer.bytes()), (Digest::of(&data), 200_000));
    }
}
