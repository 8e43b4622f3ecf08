//! What a key is called in envelopes.

use std::fmt;

use ring::digest::{SHA256, digest};

/// `sha256:` and the SHA-256 of the public key (SubjectPublicKeyInfo, DER), in hexadecimal: computed from the key, never chosen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(String);

impl KeyId {
    /// Of the public key with this DER form.
    pub(crate) fn of(spki: &[u8]) -> Self {
        Self(format!("sha256:{}", hex::encode(digest(&SHA256, spki))))
    }

    /// The whole id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether an envelope that names its key as `hint` means this one. Other tools leave `sha256:` out.
    #[must_use]
    pub fn is_meant_by(&self, hint: &str) -> bool {
        let bare = self.0.strip_prefix("sha256:").unwrap_or(&self.0);
        let hint = hint.strip_prefix("sha256:").or_else(|| hint.strip_prefix("SHA256:")).unwrap_or(hint);
        hint.eq_ignore_ascii_case(bare)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
