//! SHA-256 digests in their usual form: `sha256:` and 64 hexadecimal digits.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Prefix before the digits (OCI image specification, "Digests").
const PREFIX: &str = "sha256:";

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
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads `from` to its end and returns the digest of everything.
    pub fn of_reader(mut from: impl Read) -> io::Result<Self> {
        let mut hasher = Sha256::new();
        io::copy(&mut from, &mut hasher)?;
        Ok(Self::of_hasher(hasher))
    }

    pub(crate) fn of_hasher(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }

    /// Returns the bytes of the digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the 64 digits without the prefix, for use in a file name.
    pub fn hex(&self) -> String {
        hex::encode(self.0)
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
    }
}
