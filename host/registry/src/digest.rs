//! Digests of blobs and manifests.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The SHA-256 digest of some bytes, written `sha256:<64 lower-case hexadecimal digits>` (OCI image
/// specification, "Digests").
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// Error for a string that is not a supported digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The string has no algorithm, or not the right number of hexadecimal digits.
    #[error("`{0}` is not a digest: expected `sha256:` and 64 lower-case hexadecimal digits")]
    Malformed(String),
    /// The algorithm is not SHA-256.
    #[error("`{0}` is a digest of another algorithm than sha256, which is not supported")]
    Algorithm(String),
}

impl Digest {
    /// Returns the digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the digest of a finished hash.
    pub(crate) fn finished(hash: Sha256) -> Self {
        Self(hash.finalize().into())
    }

    /// Returns a writer that computes a digest.
    #[must_use]
    pub fn writer() -> DigestWriter {
        DigestWriter(Sha256::new())
    }

    /// Returns the 64 digits without the algorithm. Blob files and fallback tags for referrers use
    /// this form.
    #[must_use]
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }
}

/// Computes the digest of the bytes written to it.
#[derive(Debug, Clone)]
pub struct DigestWriter(Sha256);

impl DigestWriter {
    /// Returns the digest of everything written.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest::finished(self.0)
    }
}

impl std::io::Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let malformed = || DigestError::Malformed(shortened(text));
        let (algorithm, value) = text.split_once(':').ok_or_else(malformed)?;
        if algorithm != "sha256" {
            let known = matches!(algorithm, "sha384" | "sha512" | "blake3");
            return Err(if known { DigestError::Algorithm(shortened(text)) } else { malformed() });
        }
        if value.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(malformed());
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(value, &mut bytes).map_err(|_| malformed())?;
        Ok(Self(bytes))
    }
}

/// Truncates untrusted text for a message.
fn shortened(text: &str) -> String {
    plumbline_core::text::excerpt(text, 100)
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

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_spelling_is_a_digest() {
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), text);
        assert_eq!(text.parse(), Ok(Digest::of(b"")));
        for bad in
            ["", "sha256:", "sha256:00", &text.to_uppercase(), &text.replace('e', "E"), &format!("{text}0"), "md5:00"]
        {
            assert!(matches!(bad.parse::<Digest>(), Err(DigestError::Malformed(_))), "{bad}");
        }
        let long = format!("sha512:{}", "0".repeat(128));
        assert!(matches!(long.parse::<Digest>(), Err(DigestError::Algorithm(_))));
    }
}
