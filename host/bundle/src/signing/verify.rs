//! Verification of attestations about bundles. One matching statement by a trusted signer is enough.
//! Every other signature gets a reason why it does not count.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use super::attestation::{Attestation, Signer};
use super::dsse::{Envelope, PAYLOAD_TYPE, Signature, pae};
use super::policy::TrustedKey;
use super::statement::{NO_SUBJECT, Predicate, RELEASE, Statement, Subject};
use super::statement::{first_digest, not_a_statement, parse_statement, shown};

/// Size of a digest, in bytes.
const SHA256_BYTES: usize = 32;

/// A signature of a bundle that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Name of the key in the policy.
    pub key: String,
    /// ID of the key.
    pub key_id: String,
    /// Additional information from the signer.
    pub predicate: Predicate,
}

/// Searches `attestations` for a statement that releases the bundle `subject`, signed by one of the
/// `trusted` keys.
///
/// `now` decides which keys have expired. The time of a signature is not used, because only the
/// signer vouches for it.
///
/// # Errors
/// The reason why each signature does not count, as sentences without duplicates.
pub fn verify(
    attestations: &[Attestation],
    subject: &Subject,
    trusted: &[&TrustedKey],
    now: Timestamp,
) -> Result<Verified, Vec<String>> {
    let (found, reasons) = all_that_count(attestations, |attestation, signature| {
        let key = signer(attestation, signature, trusted, now)?;
        let name = format!("key `{}`", key.name);
        let statement = statement(attestation.envelope(), RELEASE, &name)?;
        released(&statement.subjects, subject, &name)?;
        let predicate = match statement.predicate {
            Value::Null => Predicate::default(),
            predicate => serde_json::from_value(predicate).map_err(|error| invalid(&name, &not_a_statement(&error)))?,
        };
        Ok(Verified { key: key.name.clone(), key_id: key.key.id().to_owned(), predicate })
    });
    found.into_iter().next().ok_or(reasons)
}

/// Returns what `look` returns for each signature, and the reasons why others do not count, without
/// duplicates. If none counts, there is a reason.
pub(super) fn all_that_count<T>(
    attestations: &[Attestation],
    look: impl Fn(&Attestation, &Signature) -> Result<T, String>,
) -> (Vec<T>, Vec<String>) {
    let (mut found, mut reasons) = (Vec::new(), Vec::new());
    for attestation in attestations {
        for signature in &attestation.envelope().signatures {
            match look(attestation, signature) {
                Ok(one) => found.push(one),
                Err(reason) if reasons.contains(&reason) => {}
                Err(reason) => reasons.push(reason),
            }
        }
    }
    if found.is_empty() && reasons.is_empty() {
        reasons.push("it is not signed".to_owned());
    }
    (found, reasons)
}

/// Returns the trusted key that created `signature`. The key ID in the envelope and the hint in the
/// bundle only matter for the reason.
pub(super) fn signer<'a>(
    attestation: &Attestation,
    signature: &Signature,
    trusted: &[&'a TrustedKey],
    now: Timestamp,
) -> Result<&'a TrustedKey, String> {
    let Signer::Key(bundle_hint) = attestation.signer() else {
        return Err("it is signed with a certificate, not with a key".to_owned());
    };
    let Envelope { payload_type, payload, .. } = attestation.envelope();
    let message = pae(payload_type, payload);
    let hint = if signature.key_id.is_empty() { as_key_id(bundle_hint) } else { signature.key_id.clone() };
    let Some(key) = trusted.iter().find(|key| key.key.verifies(&message, &signature.bytes)) else {
        let meant = trusted.iter().find(|key| key.key.is_meant_by(&hint));
        return Err(match meant {
            _ if hint.is_empty() => "it has a signature, but none by a trusted key".to_owned(),
            None => format!("it is signed by the key `{}`, which is not trusted for this name", shown(&hint)),
            Some(TrustedKey { name, .. }) => {
                format!("the signature does not match: the signed data was changed, or key `{name}` did not sign it")
            }
        });
    };
    match key.not_after.filter(|not_after| *not_after < now) {
        Some(not_after) => Err(format!("it is signed by key `{}`, which was trusted until {not_after}", key.name)),
        None => Ok(key),
    }
}

/// Returns the ID of the key that a bundle's hint refers to, if the hint is the digest of the key.
fn as_key_id(hint: &str) -> String {
    match BASE64_STANDARD.decode(hint) {
        Ok(digest) if digest.len() == SHA256_BYTES => format!("sha256:{}", hex::encode(digest)),
        _ => hint.to_owned(),
    }
}

/// Returns the statement of this predicate type in an envelope that `name` has signed.
pub(super) fn statement(envelope: &Envelope, predicate_type: &str, name: &str) -> Result<Statement, String> {
    if envelope.payload_type != PAYLOAD_TYPE {
        let found = shown(&envelope.payload_type);
        return Err(format!("{name} signed a payload of type `{found}`, expected `{PAYLOAD_TYPE}`"));
    }
    parse_statement(&envelope.payload, predicate_type).map_err(|reason| invalid(name, &reason))
}

pub(super) fn invalid(name: &str, reason: &str) -> String {
    format!("the signature by {name} is not valid: {reason}")
}

/// Checks that one of the subjects that `name` has signed is `subject`, with its name and digest.
fn released(subjects: &[(String, String)], subject: &Subject, name: &str) -> Result<(), String> {
    let wanted = hex::encode(subject.sha256);
    if subjects.iter().any(|(name, digest)| *name == subject.name && *digest == wanted) {
        return Ok(());
    }
    // The same digest under another name.
    if let Some((other, _)) = subjects.iter().find(|(_, digest)| *digest == wanted) {
        let (other, expected) = (shown(other), &subject.name);
        return Err(format!("{name} signed this as `{other}`, expected `{expected}`"));
    }
    let Some(found) = first_digest(subjects) else { return Err(invalid(name, NO_SUBJECT)) };
    let found = shown(found);
    Err(format!("{name} signed another bundle: sha256:{found}, expected sha256:{wanted}"))
}
