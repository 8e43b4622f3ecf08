//! Creation of signatures.

use crate::signing::dsse::{Envelope, PAYLOAD_TYPE, Signature, pae};
use crate::signing::key::{KeyError, PrivateKey};
use crate::signing::statement::{Predicate, Statement, Subject};

/// Error while signing.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The key could not create a signature.
    #[error("the key does not sign")]
    Key(#[from] KeyError),
    /// The statement could not be serialized as JSON.
    #[error("failed to write the statement")]
    Statement(#[from] serde_json::Error),
}

/// Signs a statement with `key` that `subject` has its digest, with `predicate` as additional
/// information.
///
/// # Errors
/// When the system's random number generator fails.
pub fn sign(subject: &Subject, predicate: &Predicate, key: &PrivateKey) -> Result<Envelope, SignError> {
    let payload = Statement::payload(subject, predicate)?;
    let bytes = key.sign(&pae(PAYLOAD_TYPE, &payload))?;
    let signature = Signature { key_id: key.public().id().to_string(), bytes };
    Ok(Envelope { payload_type: PAYLOAD_TYPE.to_owned(), payload, signatures: vec![signature] })
}
