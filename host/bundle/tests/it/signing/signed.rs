//! A signed bundle, and helpers to verify it.

use jiff::Timestamp;
use plumbline_bundle::signing::{
    Attestation, Envelope, Policy, Predicate, PrivateKey, PublicKey, Subject, TrustedKey, Verified, sign, verify,
};

pub(crate) fn key() -> PrivateKey {
    PrivateKey::generate().unwrap().0
}

pub(crate) fn subject() -> Subject {
    Subject { name: "tap".to_owned(), sha256: [7; 32] }
}

/// Returns a statement that `key` releases [`subject`].
pub(crate) fn attestation(key: &PrivateKey) -> Attestation {
    let predicate = Predicate { version: Some("1.2.0".to_owned()), ..Predicate::default() };
    sign(&subject(), &predicate, key).unwrap()
}

/// Returns the same statement in an envelope without a bundle, which has the ID of the key.
pub(crate) fn envelope(key: &PrivateKey) -> Envelope {
    let mut envelope = attestation(key).envelope().clone();
    envelope.signatures[0].key_id = key.public().id().to_owned();
    envelope
}

pub(crate) fn now() -> Timestamp {
    "2026-11-21T20:00:00Z".parse().unwrap()
}

pub(crate) fn trusted(name: &str, key: &PublicKey) -> TrustedKey {
    TrustedKey { name: name.to_owned(), key: key.clone(), not_after: None }
}

/// Verifies that there is a signature by `key` over [`subject`] in one of the envelopes.
pub(crate) fn look(envelopes: &[Envelope], key: &PublicKey) -> Result<Verified, Vec<String>> {
    let attestations: Vec<Attestation> =
        envelopes.iter().map(|envelope| Attestation::of_key(envelope.clone(), "")).collect();
    look_at(&attestations, key)
}

/// Verifies that there is a signature by `key` over [`subject`] in one of the attestations.
pub(crate) fn look_at(attestations: &[Attestation], key: &PublicKey) -> Result<Verified, Vec<String>> {
    let policy = Policy::of_key("release", key.clone());
    verify(attestations, &subject(), &policy.keys_for("tap", None).unwrap(), now())
}
