//! The content of an envelope: an in-toto statement (version 1) about a bundle.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::dsse::{Envelope, PAYLOAD_TYPE, Signature, pae};
use super::error::SigningError;
use super::key::PrivateKey;

/// Type of a statement.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Predicate type that means "this is the bundle of that name, released by the owner of the key". A
/// statement with another predicate type says something else about the same bytes, possibly that
/// they are bad.
const PREDICATE_TYPE: &str = "https://plumbline.dev/attestations/bundle/v1";
/// Maximum number of subjects in one statement.
const MAX_SUBJECTS: usize = 256;
/// Maximum length of untrusted text in a message, in characters.
const MAX_SHOWN: usize = 200;

/// The signed fact: the bundle with this name has this digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Name of the bundle, which is the name of its plugin.
    pub name: String,
    /// SHA-256 of the packed bundle.
    pub sha256: [u8; 32],
}

impl Subject {
    /// Returns the digest in its usual form: `sha256:` and hexadecimal digits.
    pub fn digest(&self) -> String {
        format!("sha256:{}", hex::encode(self.sha256))
    }
}

/// Additional information from the signer. It is not used for any decision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predicate {
    /// Version of the bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Location of the source code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Modules of the bundle.
    #[serde(default)]
    pub modules: Vec<ModuleDigest>,
    /// Time of the signature by the signer's clock (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<String>,
}

/// A module of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleDigest {
    /// File name of the module in the bundle.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

/// The JSON form of a statement.
#[derive(Serialize, Deserialize)]
struct Document {
    #[serde(rename = "_type")]
    statement_type: String,
    subject: Vec<SubjectDocument>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    #[serde(default)]
    predicate: Value,
}

#[derive(Serialize, Deserialize)]
struct SubjectDocument {
    #[serde(default)]
    name: String,
    #[serde(default)]
    digest: Digests,
}

#[derive(Default, Serialize, Deserialize)]
struct Digests {
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

/// Signs a statement with `key` that `subject` has its digest, with `predicate` as additional
/// information.
pub fn sign(subject: &Subject, predicate: &Predicate, key: &PrivateKey) -> Result<Envelope, SigningError> {
    let digest = Digests { sha256: Some(hex::encode(subject.sha256)) };
    let payload = serde_json::to_vec(&Document {
        statement_type: STATEMENT_TYPE.to_owned(),
        subject: vec![SubjectDocument { name: subject.name.clone(), digest }],
        predicate_type: PREDICATE_TYPE.to_owned(),
        predicate: serde_json::to_value(predicate)?,
    })?;
    let bytes = key.sign(&pae(PAYLOAD_TYPE, &payload))?;
    let signature = Signature { key_id: key.public().id().to_owned(), bytes };
    Ok(Envelope { payload_type: PAYLOAD_TYPE.to_owned(), payload, signatures: vec![signature] })
}

/// Reason why a statement without a subject that has a SHA-256 does not count.
pub(super) const NO_SUBJECT: &str = "its statement has no SHA-256 digest";

/// Parses a payload, and returns the names and hexadecimal digests of the subjects, and the
/// predicate. Call it only for a payload that a trusted key has signed. The error is a sentence.
pub(super) fn parse_statement(payload: &[u8]) -> Result<(Vec<(String, String)>, Predicate), String> {
    let wrong = |error: serde_json::Error| format!("its payload is not an in-toto statement: {error}");
    let document: Document = serde_json::from_slice(payload).map_err(wrong)?;
    if document.statement_type != STATEMENT_TYPE {
        let found = shown(&document.statement_type);
        return Err(format!("its payload is of type `{found}`, not `{STATEMENT_TYPE}`"));
    }
    if document.predicate_type != PREDICATE_TYPE {
        let found = shown(&document.predicate_type);
        return Err(format!("it is a statement of type `{found}`, not one that releases a bundle"));
    }
    if document.subject.len() > MAX_SUBJECTS {
        return Err(format!("its statement has more than {MAX_SUBJECTS} subjects"));
    }
    let predicate = match document.predicate {
        Value::Null => Predicate::default(),
        predicate => serde_json::from_value(predicate).map_err(wrong)?,
    };
    let subjects = document.subject.into_iter().filter_map(|subject| Some((subject.name, subject.digest.sha256?)));
    Ok((subjects.collect(), predicate))
}

/// Truncates untrusted text for a message.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(MAX_SHOWN).collect()
}
