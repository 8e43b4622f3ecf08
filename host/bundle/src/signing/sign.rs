//! Signing: a statement about files becomes an attestation.

use serde::Serialize;

use super::attestation::Attestation;
use super::dsse::{Envelope, PAYLOAD_TYPE, Signature, pae};
use super::error::SigningError;
use super::key::PrivateKey;
use super::statement::{Predicate, RELEASE, Subject, write_statement};

/// Signs a statement with `key` that `subject` is a released bundle, with `predicate` as additional
/// information.
pub fn sign(subject: &Subject, predicate: &Predicate, key: &PrivateKey) -> Result<Attestation, SigningError> {
    sign_statement(std::slice::from_ref(subject), RELEASE, predicate, key)
}

/// Signs an in-toto statement about `subjects` with `key`. Readers accept at most 256 subjects.
pub fn sign_statement(
    subjects: &[Subject],
    predicate_type: &str,
    predicate: &impl Serialize,
    key: &PrivateKey,
) -> Result<Attestation, SigningError> {
    let payload = write_statement(subjects, predicate_type, predicate)?;
    let bytes = key.sign(&pae(PAYLOAD_TYPE, &payload))?;
    let public = key.public();
    // The bundle has a hint at the key. Cosign rejects a key ID that it would have made otherwise.
    let signatures = vec![Signature { key_id: String::new(), bytes }];
    let envelope = Envelope { payload_type: PAYLOAD_TYPE.to_owned(), payload, signatures };
    Ok(Attestation::of_key(envelope, &public.hint()))
}
