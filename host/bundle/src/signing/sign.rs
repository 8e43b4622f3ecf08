//! Signing.

use crate::signing::dsse::{Envelope, PAYLOAD_TYPE, Signature, pae};
use crate::signing::key::{KeyError, PrivateKey};
use crate::signing::statement::{Predicate, Statement, Subject};

/// Why nothing was signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The key does not sign.
    #[error("the key does not sign")]
    Key(#[from] KeyError),
    /// What is to be said cannot be written as JSON.
    #[error("failed to write the statement")]
    Statement(#[from] serde_json::Error),
}

/// Says with `key` that `subject` is what it is, and `predicate` besides.
///
/// # Errors
/// When the system gives no random numbers.
pub fn sign(subject: &Subject, predicate: &Predicate, key: &PrivateKey) -> Result<Envelope, SignError> {
    let payload = Statement::payload(subject, predicate)?;
    let bytes = key.sign(&pae(PAYLOAD_TYPE, &payload))?;
    let signature = Signature { key_id: key.public().id().to_string(), bytes };
    Ok(Envelope { payload_type: PAYLOAD_TYPE.to_owned(), payload, signatures: vec![signature] })
}
