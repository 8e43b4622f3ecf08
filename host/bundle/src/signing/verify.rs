//! Verifying: one signature by a trusted key that says what is wanted is enough; of everything else, why it does not count.

use std::fmt;

use jiff::Timestamp;

use crate::signing::dsse::{Envelope, PAYLOAD_TYPE, Signature, pae};
use crate::signing::policy::TrustedKey;
use crate::signing::statement::{Predicate, Statement, StatementError, Subject, shown};

/// Reasons that a message tells.
const MAX_TOLD: usize = 4;

/// A signature that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The key, as the policy calls it.
    pub key: String,
    /// Its id.
    pub key_id: String,
    /// What the signer said besides.
    pub predicate: Predicate,
}

/// Why a signature does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody has signed.
    #[error("there is no signature")]
    NoSignature,
    /// It names a key that does not count for this name.
    #[error("it is signed by the key `{0}`, which is not trusted for this name")]
    Untrusted(String),
    /// It names no key, and none of the trusted ones has made it.
    #[error("there is a signature that no trusted key has made")]
    NoKeyFits,
    /// It names a trusted key, which has not made it.
    #[error("the signature does not fit: what is signed was changed, or key `{0}` has not made it")]
    DoesNotFit(String),
    /// The key's time is over.
    #[error("the signature is by key `{key}`, which counted until {not_after}")]
    Expired {
        /// The key, as the policy calls it.
        key: String,
        /// Until when it counted.
        not_after: Timestamp,
    },
    /// What is signed is something else.
    #[error("what key `{key}` has signed is of type `{found}`, not `{PAYLOAD_TYPE}`")]
    PayloadType {
        /// The key, as the policy calls it.
        key: String,
        /// The type that it has.
        found: String,
    },
    /// What is signed is no statement about a bundle.
    #[error("the signature by key `{key}` does not count: {source}")]
    Statement {
        /// The key, as the policy calls it.
        key: String,
        /// The cause.
        source: StatementError,
    },
    /// Another bundle is signed, or another state of it.
    #[error("what key `{key}` has signed has the digest sha256:{found}; this is {expected}")]
    OtherDigest {
        /// The key, as the policy calls it.
        key: String,
        /// The digest that was signed.
        found: String,
        /// The one that was wanted.
        expected: String,
    },
    /// The same bytes are signed under another name.
    #[error("key `{key}` has signed this under the name `{found}`, not `{expected}`")]
    OtherName {
        /// The key, as the policy calls it.
        key: String,
        /// The name that was signed.
        found: String,
        /// The one that was wanted.
        expected: String,
    },
}

/// No signature counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotVerified {
    /// Why, for each signature; each reason once.
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

/// Looks among `envelopes` for a statement that `subject` is what it is, signed by one of `trusted`. `now` decides which keys are still
/// good: when something was signed, only the signer says.
///
/// # Errors
/// When there is none: why each signature does not count.
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

/// The trusted key that has made `signature`. The name of the key in the envelope narrows the search and decides nothing.
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

/// Whether `envelope`, which `key` has signed, says that `subject` is what it is.
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
