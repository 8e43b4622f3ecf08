//! The content of an envelope: an in-toto statement (version 1).

use plumbline_core::text::Printable;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::SigningError;
use super::unique_keys::UniqueKeys;

/// Type of a statement.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Type of a statement in the version before, which has the same fields. Cosign writes it.
const OLD_STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v0.1";
/// Predicate type that means "this is the bundle of that name, released by the owner of the key". A
/// statement with another predicate type says something else about the same bytes, possibly that
/// they are bad.
pub const RELEASE: &str = "https://plumbline.dev/attestations/bundle/v1";
/// Predicate type of the result of tests.
pub const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// Maximum number of subjects in one statement.
const MAX_SUBJECTS: usize = 256;
/// Maximum length of untrusted text in a message, in characters.
const MAX_SHOWN: usize = 200;

/// A file that a statement is about: the file with this name has this digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Name of the file, or of a bundle's plugin.
    pub name: String,
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
}

impl Subject {
    /// Returns the digest in its usual form: `sha256:` and hexadecimal digits.
    pub fn digest(&self) -> String {
        format!("sha256:{}", hex::encode(self.sha256))
    }
}

/// What the signer of a bundle states in addition to its name and digest. Decisions ignore it.
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

/// Returns the payload of a statement about `subjects`.
pub(super) fn write_statement(
    subjects: &[Subject],
    predicate_type: &str,
    predicate: &impl Serialize,
) -> Result<Vec<u8>, SigningError> {
    let subject = |subject: &Subject| SubjectDocument {
        name: subject.name.clone(),
        digest: Digests { sha256: Some(hex::encode(subject.sha256)) },
    };
    Ok(serde_json::to_vec(&Document {
        statement_type: STATEMENT_TYPE.to_owned(),
        subject: subjects.iter().map(subject).collect(),
        predicate_type: predicate_type.to_owned(),
        predicate: serde_json::to_value(predicate)?,
    })?)
}

/// What a statement is about, according to a signer who was not verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnverifiedStatement {
    /// Type of the predicate.
    pub predicate_type: String,
    /// Names and hexadecimal SHA-256 digests of the subjects.
    pub subjects: Vec<(String, String)>,
}

impl UnverifiedStatement {
    pub(super) fn read(payload: &[u8]) -> Option<Self> {
        let document = read_document(payload).ok()?;
        let subjects = document.subject.into_iter().filter_map(|subject| Some((subject.name, subject.digest.sha256?)));
        Some(Self { predicate_type: document.predicate_type, subjects: subjects.collect() })
    }
}

/// Reason why a statement without a subject that has a SHA-256 does not count.
pub(super) const NO_SUBJECT: &str = "its statement has no SHA-256 digest";

pub(super) struct Statement {
    /// Names and hexadecimal digests of the subjects. The digest of a subject without a SHA-256 is
    /// empty.
    pub(super) subjects: Vec<(String, String)>,
    /// The predicate, or `null` if there is none.
    pub(super) predicate: Value,
}

/// Parses a payload with a statement of this predicate type. Call it only for a payload that
/// someone trusted has signed. The error is a sentence.
pub(super) fn parse_statement(payload: &[u8], predicate_type: &str) -> Result<Statement, String> {
    let document = read_document(payload).map_err(|error| not_a_statement(&error))?;
    if ![STATEMENT_TYPE, OLD_STATEMENT_TYPE].contains(&document.statement_type.as_str()) {
        let found = shown(&document.statement_type);
        return Err(format!("its payload is of type `{found}`, not `{STATEMENT_TYPE}`"));
    }
    if document.predicate_type != predicate_type {
        let found = shown(&document.predicate_type);
        return Err(format!("it is a statement of type `{found}`, expected `{predicate_type}`"));
    }
    if document.subject.len() > MAX_SUBJECTS {
        return Err(format!("its statement has more than {MAX_SUBJECTS} subjects"));
    }
    let subjects = document.subject.into_iter();
    let subjects = subjects.map(|subject| (subject.name, subject.digest.sha256.unwrap_or_default()));
    Ok(Statement { subjects: subjects.collect(), predicate: document.predicate })
}

/// Parses a statement. A key that occurs twice in an object is an error.
fn read_document(payload: &[u8]) -> serde_json::Result<Document> {
    let UniqueKeys = serde_json::from_slice(payload)?;
    serde_json::from_slice(payload)
}

pub(super) fn first_digest(subjects: &[(String, String)]) -> Option<&str> {
    subjects.iter().map(|(_, digest)| digest.as_str()).find(|digest| !digest.is_empty())
}

pub(super) fn not_a_statement(error: &serde_json::Error) -> String {
    format!("its payload is not an in-toto statement: {error}")
}

/// Returns untrusted text for a message.
pub(super) fn shown(text: &str) -> Printable {
    Printable::escaped(text, MAX_SHOWN)
}
