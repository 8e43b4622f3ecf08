//! Verification of attestations that are signed with a short-lived certificate for an identity, as
//! Sigstore's certificate authority issues them. Everything is verified offline, against a trusted
//! root that the caller gives.
//!
//! The certificate is only valid for minutes, so something must prove when the signature was made:
//! a transparency log that has recorded it ([`tlog`]), or a timestamp authority ([`timestamp`]).
//! Every log entry and timestamp of a bundle must be valid.

mod certificate;
mod timestamp;
mod tlog;
mod trusted_root;

use jiff::Timestamp;

use super::attestation::{Attestation, Signer};
use super::dsse::{Signature, pae};
use certificate::{CODE_SIGNING, Certificate, verify_chain};

pub use trusted_root::TrustedRoot;

/// An identity whose attestations count: who it is, who vouches for that, and what is trusted.
#[derive(Debug, Clone)]
pub struct Keyless {
    /// Identity in the certificate: a URL or an email address.
    pub identity: String,
    /// URL of the OIDC issuer that has authenticated the identity.
    pub issuer: String,
    /// Trusted authorities and logs.
    pub root: TrustedRoot,
}

/// Verifies that `policy.identity` has made `signature`, and returns the time at which it did. The
/// error is a sentence.
pub(super) fn verify(attestation: &Attestation, signature: &Signature, policy: &Keyless) -> Result<Timestamp, String> {
    let Signer::Certificate(chain) = attestation.signer() else {
        return Err("it is signed with a key, not with a certificate".to_owned());
    };
    let envelope = attestation.envelope();
    if envelope.signatures.len() != 1 {
        return Err("a bundle with a certificate must have exactly one signature".to_owned());
    }
    let (leaf, intermediates) = chain.split_first().ok_or("it has no certificate")?;
    let certificate = Certificate::parse(leaf)?;
    certificate.check_identity(&policy.identity, &policy.issuer)?;
    let message = pae(&envelope.payload_type, &envelope.payload);
    let signed = tlog::Signed { payload: &envelope.payload, message: &message, signature: &signature.bytes, leaf };
    let mut times = Vec::new();
    for entry in &attestation.log_entries {
        times.extend(tlog::verify(entry, &signed, &policy.root)?);
    }
    for response in &attestation.timestamps {
        times.push(timestamp::verify(response, &signature.bytes, &policy.root)?);
    }
    let first = times
        .iter()
        .min()
        .ok_or("nothing proves when it was signed: it has neither a log entry with a time nor a timestamp")?;
    for time in &times {
        verify_chain(leaf, intermediates, &policy.root.authorities, CODE_SIGNING, *time)
            .map_err(|reason| format!("its certificate does not count: {reason}"))?;
    }
    if !certificate.key.verifies(&message, &signature.bytes) {
        return Err("the signature does not match: the signed data was changed, or another key signed it".to_owned());
    }
    Ok(*first)
}

#[cfg(test)]
mod tests;
