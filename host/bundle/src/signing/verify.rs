//! Verification of signatures. One matching statement signed by a trusted key is enough. Every
//! other signature gets a reason why it does not count.

use std::fmt;

use jiff::Timestamp;

use crate::signing::dsse::{Envelope, PAYLOAD_TYPE, Signature, pae};
use crate::signing::policy::TrustedKey;
use crate::signing::statement::{Predicate, Statement, StatementError, Subject, shown};

/// Maximum number of reasons in a message.
const MAX_TOLD: usize = 4;

/// A signature that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Name of the key in the policy.
    pub key: String,
    /// ID of the key.
    pub key_id: String,
    /// Additional information from the signer.
    pub predicate: Predicate,
}

/// Reason why a signature does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no signature.
    #[error("there is no signature")]
    NoSignature,
    /// The key ID belongs to a key that is not trusted for this name.
    #[error("it is signed by the key `{0}`, which is not trusted for this name")]
    Untrusted(String),
    /// The signature has no key ID, and no trusted key verifies it.
    #[error("there is a signature that no trusted key has made")]
    NoKeyFits,
    /// The key ID belongs to a trusted key, but that key does not verify the signature.
    #[error("the signature does not fit: what is signed was changed, or key `{0}` has not made it")]
    DoesNotFit(String),
    /// The key has expired.
    #[error("the signature is by key `{key}`, which counted until {not_after}")]
    Expired {
        /// Name of the key in the policy.
        key: String,
        /// Time at which the key expired.
        not_after: Timestamp,
    },
    /// The payload has another type.
    #[error("what key `{key}` has signed is of type `{found}`, not `{PAYLOAD_TYPE}`")]
    PayloadType {
        /// Name of the key in the policy.
        key: String,
        /// The actual type.
        found: String,
    },
    /// The payload is not a statement about a bundle.
    #[error("the signature by key `{key}` does not count: {source}")]
    Statement {
        /// Name of the key in the policy.
        key: String,
        /// The underlying error.
        source: StatementError,
    },
    /// The signature is for another digest.
    #[error("what key `{key}` has signed has the digest sha256:{found}; this is {expected}")]
    OtherDigest {
        /// Name of the key in the policy.
        key: String,
        /// The signed digest.
        found: String,
        /// The expected digest.
        expected: String,
    },
    /// The signature is for the same digest under another name.
    #[error("key `{key}` has signed this under the name `{found}`, not `{expected}`")]
    OtherName {
        /// Name of the key in the policy.
        key: String,
        /// The signed name.
        found: String,
        /// The expected name.
        expected: String,
    },
}

/// Error when no signature counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotVerified {
    /// The reason for each signature, without duplicates.
    pub reasons: Vec<Refusal>,
}

impl fmt::Display for NotVerified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, reason) in self.reasons.iter().take(MAX_TOLD).enumerate() {
            write!(f, "{}{reason}", if at == 0 { "" } else { "; " })?;
        }
        match self.reasons.len().saturating_sub(MAX_TOLD) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl std::error::Error for NotVerified {}

/// Searches `envelopes` for a statement about `subject` that is signed by one of the `trusted`
/// keys.
///
/// `now` decides which keys have expired. The time of a signature is not used, because only the
/// signer vouches for it.
///
/// # Errors
/// The reason for each signature, when none counts.
pub fn verify(
    envelopes: &[Envelope],
    subject: &Subject,
    trusted: &[&TrustedKey],
    now: Timestamp,
) -> Result<Verified, NotVerified> {
    let mut reasons = Vec::new();
    for envelope in envelopes {
        let message = pae(&envelope.payload_type, &envelope.payload);
        for signature in &envelope.signatures {
            let counts = signer(signature, &message, trusted).and_then(|key| {
                let predicate = says(envelope, subject, key, now)?;
                Ok(Verified { key: key.name.clone(), key_id: key.key.id().to_string(), predicate })
            });
            match counts {
                Ok(verified) => return Ok(verified),
                Err(reason) if reasons.contains(&reason) => {}
                Err(reason) => reasons.push(reason),
            }
        }
    }
    if reasons.is_empty() {
        reasons.push(Refusal::NoSignature);
    }
    Err(NotVerified { reasons })
}

/// Returns the trusted key that created `signature`. The key ID in the envelope only narrows the
/// search.
fn signer<'a>(signature: &Signature, message: &[u8], trusted: &[&'a TrustedKey]) -> Result<&'a TrustedKey, Refusal> {
    let hint = signature.key_id.as_str();
    let meant = |key: &&&TrustedKey| hint.is_empty() || key.key.id().is_meant_by(hint);
    let mut candidates = trusted.iter().filter(meant).peekable();
    let Some(first) = candidates.peek().map(|key| key.name.clone()) else {
        return Err(if hint.is_empty() { Refusal::NoKeyFits } else { Refusal::Untrusted(shown(hint)) });
    };
    let fits = candidates.find(|key| key.key.verifies(message, &signature.bytes)).copied();
    fits.ok_or(if hint.is_empty() { Refusal::NoKeyFits } else { Refusal::DoesNotFit(first) })
}

/// Checks that `envelope`, which `key` signed, contains a valid statement about `subject`, and
/// returns its predicate.
fn says(envelope: &Envelope, subject: &Subject, key: &TrustedKey, now: Timestamp) -> Result<Predicate, Refusal> {
    let name = || key.name.clone();
    if let Some(not_after) = key.not_after.filter(|not_after| *not_after < now) {
        return Err(Refusal::Expired { key: name(), not_after });
    }
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(Refusal::PayloadType { key: name(), found: shown(&envelope.payload_type) });
    }
    let statement = Statement::parse(&envelope.payload).map_err(|source| Refusal::Statement { key: name(), source })?;
    let wanted = hex::encode(subject.sha256);
    let about: Vec<(&str, &str)> = statement.subjects().collect();
    if about.iter().any(|&(name, digest)| name == subject.name && digest == wanted) {
        return Ok(statement.predicate);
    }
    if let Some((other, _)) = about.iter().find(|(_, digest)| *digest == wanted) {
        return Err(Refusal::OtherName { key: name(), found: shown(other), expected: subject.name.clone() });
    }
    let Some((_, found)) = about.first() else {
        return Err(Refusal::Statement { key: name(), source: StatementError::NoSubject });
    };
    Err(Refusal::OtherDigest { key: name(), found: shown(found), expected: subject.digest() })
}
