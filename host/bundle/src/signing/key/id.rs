//! Key IDs in envelopes.

use std::fmt;

use ring::digest::{SHA256, digest};

/// ID of a key: `sha256:` and the hexadecimal SHA-256 of the public key (SubjectPublicKeyInfo,
/// DER). It is always computed from the key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(String);

impl KeyId {
    /// Returns the ID of the public key with this DER form.
    pub(crate) fn of(spki: &[u8]) -> Self {
        Self(format!("sha256:{}", hex::encode(digest(&SHA256, spki))))
    }

    /// Returns the whole ID.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the key ID `hint` of an envelope refers to this key. Other tools omit
    /// `sha256:`.
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
