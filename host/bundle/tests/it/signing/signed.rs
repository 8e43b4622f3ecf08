//! A signed bundle, and helpers to verify it.

use jiff::Timestamp;
use plumbline_bundle::signing::{
    Envelope, Policy, Predicate, PrivateKey, PublicKey, Subject, TrustedKey, Verified, sign, verify,
};

pub(crate) fn key() -> PrivateKey {
    PrivateKey::generate().unwrap().0
}

pub(crate) fn subject() -> Subject {
    Subject { name: "tap".to_owned(), sha256: [7; 32] }
}

pub(crate) fn envelope(key: &PrivateKey) -> Envelope {
    let predicate = Predicate { version: Some("1.2.0".to_owned()), ..Predicate::default() };
    sign(&subject(), &predicate, key).unwrap()
}

pub(crate) fn now() -> Timestamp {
    "2026-11-21T20:00:00Z".parse().unwrap()
}

pub(crate) fn trusted(name: &str, key: &PublicKey) -> TrustedKey {
    TrustedKey { name: name.to_owned(), key: key.clone(), not_after: None }
}

/// Verifies that there is a signature by `key` over [`subject`].
pub(crate) fn look(envelopes: &[Envelope], key: &PublicKey) -> Result<Verified, Vec<String>> {
    let policy = Policy::of_key("release", key.clone());
    verify(envelopes, &subject(), &policy.keys_for("tap", None).unwrap(), now())
}
