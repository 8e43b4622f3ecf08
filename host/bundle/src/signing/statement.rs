//! The content of an envelope: an in-toto statement (version 1) about a bundle.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Type of a statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Predicate type that means "this is the bundle of that name, released by the owner of the key". A
/// statement with another predicate type says something else about the same bytes, possibly that
/// they are bad.
pub const PREDICATE_TYPE: &str = "https://plumbline.dev/attestations/bundle/v1";
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
    #[must_use]
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

/// The parts of a statement that this crate uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    subjects: Vec<(String, Option<String>)>,
    /// Additional information from the signer.
    pub predicate: Predicate,
}

/// Reason why a payload does not count as a statement about a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// The payload is not JSON of the expected structure.
    #[error("its payload is not an in-toto statement: {0}")]
    Json(String),
    /// The payload has another type or version.
    #[error("its payload is of type `{0}`, not `{STATEMENT_TYPE}`")]
    Type(String),
    /// The statement has another predicate type.
    #[error("it is a statement of type `{0}`, not one that releases a bundle")]
    Predicate(String),
    /// The statement has too many subjects.
    #[error("its statement has more than {MAX_SUBJECTS} subjects")]
    Subjects,
    /// The statement has no subject with a SHA-256.
    #[error("its statement names no SHA-256 of anything")]
    NoSubject,
}

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

impl Statement {
    /// Returns the payload that states `predicate` about `subject`.
    pub(crate) fn payload(subject: &Subject, predicate: &Predicate) -> Result<Vec<u8>, serde_json::Error> {
        let digest = Digests { sha256: Some(hex::encode(subject.sha256)) };
        serde_json::to_vec(&Document {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![SubjectDocument { name: subject.name.clone(), digest }],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: serde_json::to_value(predicate)?,
        })
    }

    /// Parses a payload. Call it only for a payload that a trusted key has signed.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, StatementError> {
        let wrong = |error: serde_json::Error| StatementError::Json(error.to_string());
        let document: Document = serde_json::from_slice(payload).map_err(wrong)?;
        if document.statement_type != STATEMENT_TYPE {
            return Err(StatementError::Type(shown(&document.statement_type)));
        }
        if document.predicate_type != PREDICATE_TYPE {
            return Err(StatementError::Predicate(shown(&document.predicate_type)));
        }
        if document.subject.len() > MAX_SUBJECTS {
            return Err(StatementError::Subjects);
        }
        let predicate = match document.predicate {
            Value::Null => Predicate::default(),
            predicate => serde_json::from_value(predicate).map_err(wrong)?,
        };
        let subjects = document.subject.into_iter().map(|subject| (subject.name, subject.digest.sha256)).collect();
        Ok(Self { subjects, predicate })
    }

    /// Returns the names and hexadecimal digests of the subjects.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = (&str, &str)> {
        self.subjects.iter().filter_map(|(name, digest)| Some((name.as_str(), digest.as_deref()?)))
    }
}

/// Truncates untrusted text for a message.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(MAX_SHOWN).collect()
}
