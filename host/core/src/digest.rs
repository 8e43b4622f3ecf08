//! SHA-256 digests in their usual form: `sha256:` and 64 lower-case hexadecimal digits (OCI image
//! specification, "Digests").

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::name::serde_text;

/// The SHA-256 digest of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// Error for a string that is not a supported digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The string has no algorithm, or not the right number of hexadecimal digits.
    #[error("invalid digest `{0}`: expected `sha256:` and 64 lower-case hexadecimal digits")]
    Malformed(String),
    /// The algorithm is not SHA-256.
    #[error("unsupported digest `{0}`: only sha256 is supported")]
    Algorithm(String),
}

impl Digest {
    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads `from` to its end and returns the digest of everything.
    pub fn of_reader(mut from: impl Read) -> io::Result<Self> {
        let mut writer = DigestWriter::new(io::sink());
        io::copy(&mut from, &mut writer)?;
        Ok(writer.digest())
    }

    /// Returns the bytes of the digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the 64 digits without the algorithm, for use in file names and tags.
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    /// Accepts only lower case. A digest has one spelling, so that digests can also be compared as
    /// strings.
    fn from_str(text: &str) -> Result<Self, DigestError> {
        let shown = || crate::text::excerpt(text, 100);
        let (algorithm, digits) = text.split_once(':').ok_or_else(|| DigestError::Malformed(shown()))?;
        if matches!(algorithm, "sha384" | "sha512" | "blake3") {
            return Err(DigestError::Algorithm(shown()));
        }
        let mut bytes = [0; 32];
        if algorithm != "sha256"
            || digits.contains(|c: char| c.is_ascii_uppercase())
            || hex::decode_to_slice(digits, &mut bytes).is_err()
        {
            return Err(DigestError::Malformed(shown()));
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

serde_text!(Digest, DigestError);

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
    pub fn digest(&self) -> Digest {
        Digest(self.hasher.clone().finalize().into())
    }

    /// Returns the number of bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the writer that everything was passed on to.
    pub fn into_inner(self) -> W {
        self.to
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
        assert_eq!(text.parse(), Ok(Digest::of(b"")));
        for bad in [
            "",
            "sha256:",
            "sha256:00",
            "sha256:é",
            "md5:00",
            &text.to_uppercase(),
            &text.replace('e', "E"),
            &text[7..],
            &text[..70],
            &format!("{text}0"),
            &format!("{text}00"),
        ] {
            assert!(matches!(bad.parse::<Digest>(), Err(DigestError::Malformed(_))), "{bad}");
        }
        let long = format!("sha512:{}", "0".repeat(128));
        assert!(matches!(long.parse::<Digest>(), Err(DigestError::Algorithm(_))));
    }

    #[test]
    fn streams_and_bytes_agree() {
        let data = vec![7; 200_000];
        assert_eq!(Digest::of_reader(data.as_slice()).unwrap(), Digest::of(&data));
        let mut writer = DigestWriter::new(Vec::new());
        writer.write_all(&data).unwrap();
        assert_eq!((writer.digest(), writer.bytes()), (Digest::of(&data), 200_000));
        assert_eq!(writer.into_inner(), data);
    }

    #[test]
    fn the_digest_is_that_of_the_bytes_that_got_through() {
        let mut three = [0; 3];
        let mut writer = DigestWriter::new(&mut three[..]);
        assert_eq!(writer.write_all(b"abcdef").unwrap_err().kind(), io::ErrorKind::WriteZero);
        assert_eq!((writer.digest(), writer.bytes()), (Digest::of(b"abc"), 3));
    }
}
