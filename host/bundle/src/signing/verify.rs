//! Verification of signatures. One matching statement signed by a trusted key is enough. Every
//! other signature gets a reason why it does not count.

use jiff::Timestamp;

use super::dsse::{Envelope, PAYLOAD_TYPE, Signature, pae};
use super::policy::TrustedKey;
use super::statement::{NO_SUBJECT, Predicate, Subject, parse_statement, shown};

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

/// Searches `envelopes` for a statement about `subject` that is signed by one of the `trusted`
/// keys.
///
/// `now` decides which keys have expired. The time of a signature is not used, because only the
/// signer vouches for it.
///
/// # Errors
/// The reason why each signature does not count, as sentences without duplicates.
pub fn verify(
    envelopes: &[Envelope],
    subject: &Subject,
    trusted: &[&TrustedKey],
    now: Timestamp,
) -> Result<Verified, Vec<String>> {
    let mut reasons = Vec::new();
    for envelope in envelopes {
        let message = pae(&envelope.payload_type, &envelope.payload);
        for signature in &envelope.signatures {
            let counts = signer(signature, &message, trusted).and_then(|key| {
                let predicate = released(envelope, subject, key, now)?;
                Ok(Verified { key: key.name.clone(), key_id: key.key.id().to_owned(), predicate })
            });
            match counts {
                Ok(verified) => return Ok(verified),
                Err(reason) if reasons.contains(&reason) => {}
                Err(reason) => reasons.push(reason),
            }
        }
    }
    if reasons.is_empty() {
        reasons.push("there is no signature".to_owned());
    }
    Err(reasons)
}

/// Returns the trusted key that created `signature`. The key ID in the envelope only narrows the
/// search.
fn signer<'a>(signature: &Signature, message: &[u8], trusted: &[&'a TrustedKey]) -> Result<&'a TrustedKey, String> {
    let hint = signature.key_id.as_str();
    let meant = |key: &&&TrustedKey| hint.is_empty() || key.key.is_meant_by(hint);
    let first = trusted.iter().find(meant);
    let fits = trusted.iter().filter(meant).find(|key| key.key.verifies(message, &signature.bytes));
    fits.copied().ok_or_else(|| match first {
        _ if hint.is_empty() => "it has a signature, but none by a trusted key".to_owned(),
        None => format!("it is signed by the key `{}`, which is not trusted for this name", shown(hint)),
        Some(TrustedKey { name, .. }) => {
            format!("the signature does not match: the bundle was changed, or key `{name}` did not sign it")
        }
    })
}

/// Checks that `envelope`, which `key` signed, contains a valid statement about `subject`, and
/// returns its predicate.
fn released(envelope: &Envelope, subject: &Subject, key: &TrustedKey, now: Timestamp) -> Result<Predicate, String> {
    let name = &key.name;
    if let Some(not_after) = key.not_after.filter(|not_after| *not_after < now) {
        return Err(format!("it is signed by key `{name}`, which was trusted until {not_after}"));
    }
    if envelope.payload_type != PAYLOAD_TYPE {
        let found = shown(&envelope.payload_type);
        return Err(format!("key `{name}` signed a payload of type `{found}`, expected `{PAYLOAD_TYPE}`"));
    }
    let uncounted = |reason: &str| format!("the signature by key `{name}` is not valid: {reason}");
    let (about, predicate) = parse_statement(&envelope.payload).map_err(|reason| uncounted(&reason))?;
    let wanted = hex::encode(subject.sha256);
    if about.iter().any(|(name, digest)| *name == subject.name && *digest == wanted) {
        return Ok(predicate);
    }
    // The same digest under another name.
    if let Some((other, _)) = about.iter().find(|(_, digest)| *digest == wanted) {
        let (other, expected) = (shown(other), &subject.name);
        return Err(format!("key `{name}` signed this as `{other}`, expected `{expected}`"));
    }
    let Some((_, found)) = about.first() else { return Err(uncounted(NO_SUBJECT)) };
    let found = shown(found);
    Err(format!("key `{name}` signed another bundle: sha256:{found}, expected sha256:{wanted}"))
}
