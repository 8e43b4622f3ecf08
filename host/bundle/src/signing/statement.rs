//! What an envelope says: an in-toto statement (version 1) about a bundle.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The type of statements.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of the predicate that stands for "this is the bundle of that name, released by whoever holds the key". A statement with another
/// predicate says something else about the same bytes, which may well be that they are no good.
pub const PREDICATE_TYPE: &str = "https://plumbline.dev/attestations/bundle/v1";
/// Subjects of one statement that are looked at.
const MAX_SUBJECTS: usize = 256;
/// Characters of a foreign text in a message.
const MAX_SHOWN: usize = 200;

/// What is signed: that the bundle with this name has this digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The bundle's name: that of its plugin.
    pub name: String,
    /// The SHA-256 of the packed bundle.
    pub sha256: [u8; 32],
}

impl Subject {
    /// The digest as it is written: `sha256:` and hexadecimal.
    #[must_use]
    pub fn digest(&self) -> String {
        format!("sha256:{}", hex::encode(self.sha256))
    }
}

/// What the signer says about the bundle besides. Nothing depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predicate {
    /// The bundle's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where its source is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The modules in it.
    #[serde(default)]
    pub modules: Vec<ModuleDigest>,
    /// When it was signed, by the signer's clock (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<String>,
}

/// A module of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleDigest {
    /// Its file in the bundle.
    pub file: String,
    /// The SHA-256 of the file, hexadecimal.
    pub sha256: String,
}

/// A statement, as far as it is used here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    subjects: Vec<(String, Option<String>)>,
    /// What the signer says besides.
    pub predicate: Predicate,
}

/// Why a payload does not count as a statement about a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// Not JSON of this shape.
    #[error("its payload is not an in-toto statement: {0}")]
    Json(String),
    /// Another version, or something else.
    #[error("its payload is of type `{0}`, not `{STATEMENT_TYPE}`")]
    Type(String),
    /// It says something else about its subject.
    #[error("it is a statement of type `{0}`, not one that releases a bundle")]
    Predicate(String),
    /// Too many subjects.
    #[error("its statement has more than {MAX_SUBJECTS} subjects")]
    Subjects,
    /// Nothing that it is about.
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
    /// The payload that says `predicate` about `subject`.
    pub(crate) fn payload(subject: &Subject, predicate: &Predicate) -> Result<Vec<u8>, serde_json::Error> {
        let digest = Digests { sha256: Some(hex::encode(subject.sha256)) };
        serde_json::to_vec(&Document {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![SubjectDocument { name: subject.name.clone(), digest }],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: serde_json::to_value(predicate)?,
        })
    }

    /// Reads a payload. Call it only with what a trusted key has signed.
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

    /// Names and digests (hexadecimal) that it is about.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = (&str, &str)> {
        self.subjects.iter().filter_map(|(name, digest)| Some((name.as_str(), digest.as_deref()?)))
    }
}

/// The beginning of a text of others.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(MAX_SHOWN).collect()
}
