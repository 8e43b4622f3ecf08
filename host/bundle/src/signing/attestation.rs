//! Sigstore bundles (version 0.3): an envelope with what is needed to verify it, and lists of them.
//!
//! A list is text with one bundle after the other, so a list of one is a file that cosign reads.
//! Lists may also contain DSSE envelopes without a bundle, which older versions wrote, and may be a
//! JSON array.

use std::collections::VecDeque;
use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer as _, Serialize};
use serde_json::value::RawValue;
use serde_json::{Deserializer, Value, json};

use super::dsse::{Envelope, EnvelopeDocument, PAYLOAD_TYPE, Signature, at_most, decode_base64, pae};
use super::error::{EnvelopeError, SigningError};
use super::key::PrivateKey;
use super::statement::{Predicate, RELEASE, Subject, UnverifiedStatement, write_statement};
use crate::limits::{MAX_ENVELOPE_FILE, MAX_ENVELOPES};

/// Media type of a Sigstore bundle in the version that is written.
pub const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// Media types of the bundles that are read. The fields have the same meaning in all versions.
const READ_TYPES: [&str; 4] = [
    BUNDLE_TYPE,
    "application/vnd.dev.sigstore.bundle+json;version=0.3",
    "application/vnd.dev.sigstore.bundle+json;version=0.2",
    "application/vnd.dev.sigstore.bundle+json;version=0.1",
];
/// Maximum number of certificates, log entries or timestamps in one bundle.
const MAX_MATERIAL: usize = 16;
/// Maximum size of one of them, in bytes.
const MAX_MATERIAL_BYTES: usize = 64 << 10;
/// Maximum number of JSON values in one entry of a list. A bundle with all its certificates and log
/// entries has some hundreds.
const MAX_VALUES: usize = 10_000;
/// Maximum length of the hint at a key, in bytes.
const MAX_HINT: usize = 512;

/// A signed envelope and what is needed to verify it. Nothing in it is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attestation {
    envelope: Envelope,
    signer: Signer,
    /// Entries of transparency logs, not decoded.
    pub(super) log_entries: Vec<Value>,
    /// Responses of timestamp authorities (RFC 3161, DER).
    pub(super) timestamps: Vec<Vec<u8>>,
    json: String,
}

/// The signer of an envelope, as far as its bundle says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signer {
    /// A key that the verifier must know. The hint may help to find it, and may be empty.
    Key(String),
    /// A certificate (DER), followed by the intermediate certificates, if there are any.
    Certificate(Vec<Vec<u8>>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    media_type: String,
    verification_material: Material,
    dsse_envelope: Option<EnvelopeDocument>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    public_key: Option<KeyHint>,
    certificate: Option<RawBytes>,
    x509_certificate_chain: Option<Chain>,
    #[serde(default)]
    tlog_entries: Vec<Value>,
    timestamp_verification_data: Option<Timestamps>,
}

#[derive(Deserialize)]
struct KeyHint {
    #[serde(default)]
    hint: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawBytes {
    pub(super) raw_bytes: String,
}

#[derive(Deserialize)]
pub(super) struct Chain {
    pub(super) certificates: Vec<RawBytes>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Timestamps {
    #[serde(default)]
    rfc3161_timestamps: Vec<SignedTimestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignedTimestamp {
    signed_timestamp: String,
}

impl Attestation {
    /// Makes the Sigstore bundle of an envelope that a key has signed. `hint` helps a verifier to
    /// find the key, and may be empty.
    pub fn of_key(envelope: Envelope, hint: &str) -> Self {
        let document = json!({
            "mediaType": BUNDLE_TYPE,
            "verificationMaterial": {"publicKey": {"hint": hint}},
            "dsseEnvelope": envelope.document(),
        });
        let signer = Signer::Key(hint.to_owned());
        Self { envelope, signer, log_entries: Vec::new(), timestamps: Vec::new(), json: document.to_string() }
    }

    /// Returns the signed envelope.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Returns the signer, as far as the bundle says.
    pub fn signer(&self) -> &Signer {
        &self.signer
    }

    /// Returns the bundle as JSON on one line. A bundle that was read keeps all of its fields.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Returns the statement in the envelope, if there is one. Nobody vouches for it.
    pub fn unverified_statement(&self) -> Option<UnverifiedStatement> {
        UnverifiedStatement::read(&self.envelope.payload)
    }

    /// Decodes a Sigstore bundle, or a DSSE envelope without one.
    fn decode(entry: &RawValue) -> Result<Self, EnvelopeError> {
        // Every value except the first one follows one of these characters, or one and a key.
        let values = entry.get().bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        at_most("values in one entry", values, MAX_VALUES)?;
        let value: Value = serde_json::from_str(entry.get()).map_err(invalid)?;
        if value.get("mediaType").is_none() {
            return Ok(Self::of_key(Envelope::decode(serde_json::from_value(value).map_err(invalid)?)?, ""));
        }
        let json = value.to_string();
        let document: Document = serde_json::from_value(value).map_err(invalid)?;
        if !READ_TYPES.contains(&document.media_type.as_str()) {
            return Err(EnvelopeError::MediaType(document.media_type.chars().take(MAX_HINT).collect()));
        }
        let envelope = Envelope::decode(document.dsse_envelope.ok_or(EnvelopeError::NoEnvelope)?)?;
        let material = document.verification_material;
        at_most("log entries", material.tlog_entries.len(), MAX_MATERIAL)?;
        let timestamps = material.timestamp_verification_data.map(|data| data.rfc3161_timestamps).unwrap_or_default();
        at_most("timestamps", timestamps.len(), MAX_MATERIAL)?;
        let timestamps = timestamps.iter().map(|one| decode_material("signedTimestamp", &one.signed_timestamp));
        Ok(Self {
            envelope,
            signer: decode_signer(material.public_key, material.certificate, material.x509_certificate_chain)?,
            log_entries: material.tlog_entries,
            timestamps: timestamps.collect::<Result<_, _>>()?,
            json,
        })
    }
}

fn decode_signer(
    key: Option<KeyHint>,
    certificate: Option<RawBytes>,
    chain: Option<Chain>,
) -> Result<Signer, EnvelopeError> {
    let chain = match (key, certificate, chain) {
        (Some(KeyHint { hint }), None, None) => {
            at_most("bytes in a `hint`", hint.len(), MAX_HINT)?;
            return Ok(Signer::Key(hint));
        }
        (None, Some(certificate), None) => vec![certificate],
        (None, None, Some(Chain { certificates })) if !certificates.is_empty() => certificates,
        _ => return Err(EnvelopeError::Signer),
    };
    at_most("certificates", chain.len(), MAX_MATERIAL)?;
    let chain = chain.iter().map(|certificate| decode_material("rawBytes", &certificate.raw_bytes));
    Ok(Signer::Certificate(chain.collect::<Result<_, _>>()?))
}

/// Decodes a certificate or another part of the verification material.
pub(super) fn decode_material(what: &'static str, text: &str) -> Result<Vec<u8>, EnvelopeError> {
    let bytes = decode_base64(what, text)?;
    at_most("bytes in one part of the verification material", bytes.len(), MAX_MATERIAL_BYTES)?;
    Ok(bytes)
}

fn invalid(error: serde_json::Error) -> EnvelopeError {
    EnvelopeError::Json(error.to_string())
}

/// Parses a list of attestations.
pub fn parse_attestations(text: &[u8]) -> Result<Vec<Attestation>, EnvelopeError> {
    let mut attestations = Vec::new();
    for_each_entry(text, |entry| {
        at_most("signatures", attestations.len() + 1, MAX_ENVELOPES)?;
        attestations.push(Attestation::decode(entry)?);
        Ok(())
    })?;
    Ok(attestations)
}

/// Parses a list of attestations to which others may have added anything. Returns the last
/// [`MAX_ENVELOPES`] entries that can be parsed, the last one first, and the number of entries left
/// out.
pub fn readable_attestations(text: &[u8]) -> Result<(Vec<Attestation>, usize), EnvelopeError> {
    let (mut attestations, mut all) = (VecDeque::new(), 0);
    for_each_entry(text, |entry| {
        all += 1;
        if let Ok(attestation) = Attestation::decode(entry) {
            // New entries are appended at the end.
            attestations.push_front(attestation);
            attestations.truncate(MAX_ENVELOPES);
        }
        Ok(())
    })?;
    let left_out = all - attestations.len();
    Ok((attestations.into(), left_out))
}

/// Calls `each` for the entries of a list, until it returns an error: all documents of the text, and
/// those in arrays. Only one entry at a time is in memory.
fn for_each_entry(
    text: &[u8],
    mut each: impl FnMut(&RawValue) -> Result<(), EnvelopeError>,
) -> Result<(), EnvelopeError> {
    at_most("bytes", text.len(), MAX_ENVELOPE_FILE)?;
    for document in Deserializer::from_slice(text).into_iter::<&RawValue>() {
        let document = document.map_err(invalid)?;
        if !document.get().starts_with('[') {
            each(document)?;
            continue;
        }
        let mut failed = None;
        let array = Array { each: &mut each, failed: &mut failed };
        let read = Deserializer::from_str(document.get()).deserialize_seq(array);
        failed.map_or_else(|| read.map_err(invalid), Err)?;
    }
    Ok(())
}

/// Visits the elements of an array. `failed` gets the error of `each`.
struct Array<'a, F> {
    each: &'a mut F,
    failed: &'a mut Option<EnvelopeError>,
}

impl<'de, F: FnMut(&RawValue) -> Result<(), EnvelopeError>> Visitor<'de> for Array<'_, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        while let Some(entry) = array.next_element::<&RawValue>()? {
            if let Err(error) = (self.each)(entry) {
                let stopped = A::Error::custom(&error);
                *self.failed = Some(error);
                return Err(stopped);
            }
        }
        Ok(())
    }
}

/// Returns a list of `attestations`, one per line.
pub fn write_attestations(attestations: &[Attestation]) -> String {
    attestations.iter().map(|attestation| format!("{}\n", attestation.json)).collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"{"payload":"aGVsbG8gd29ybGQ=","payloadType":"t","signatures":[{"sig":"_-8="}]}"#;

    fn bundle(media_type: &str, material: &str) -> String {
        format!(r#"{{"mediaType":"{media_type}","verificationMaterial":{material},"dsseEnvelope":{ONE}}}"#)
    }

    #[test]
    fn bundles_envelopes_lists_and_lines_are_read() {
        let one = parse_attestations(ONE.as_bytes()).unwrap();
        assert_eq!(one[0].envelope.payload, b"hello world");
        assert_eq!(one[0].envelope.signatures, [Signature { key_id: String::new(), bytes: vec![0xff, 0xef] }]);
        let bundled = bundle(BUNDLE_TYPE, r#"{"publicKey":{"hint":""}}"#);
        for text in [format!("[{ONE}]"), format!("\n{ONE}\n"), write_attestations(&one), bundled.clone()] {
            let read = parse_attestations(text.as_bytes()).unwrap();
            assert_eq!((read.len(), read[0].envelope(), read[0].signer()), (1, one[0].envelope(), one[0].signer()));
        }
        assert_eq!(parse_attestations(format!("{ONE}\n{bundled}\n[{ONE}]").as_bytes()).unwrap().len(), 3);
        assert_eq!(parse_attestations(b"[]").unwrap(), []);
        assert_eq!(parse_attestations(b"").unwrap(), []);
    }

    #[test]
    fn a_written_bundle_is_one_json_document_with_the_fields_of_version_0_3() {
        let envelope = parse_attestations(ONE.as_bytes()).unwrap()[0].envelope.clone();
        let one = Attestation::of_key(envelope, "aGludA==");
        let document: Value = serde_json::from_str(&write_attestations(&[one])).unwrap();
        assert_eq!(document["mediaType"], "application/vnd.dev.sigstore.bundle.v0.3+json");
        assert_eq!(document["verificationMaterial"], serde_json::json!({"publicKey": {"hint": "aGludA=="}}));
        assert_eq!(document["dsseEnvelope"]["payloadType"], "t");
        assert_eq!(document["dsseEnvelope"]["signatures"][0]["sig"], "/+8=");
    }

    #[test]
    fn a_bundle_keeps_what_this_program_does_not_write() {
        let material = r#"{"certificate":{"rawBytes":"AA=="},"tlogEntries":[{"logIndex":"1"}],"more":7}"#;
        let text = bundle(BUNDLE_TYPE, material);
        let written = write_attestations(&parse_attestations(text.as_bytes()).unwrap());
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
    }

    #[test]
    fn foreign_entries_do_not_hide_valid_ones() {
        let text = format!(r#"[7, {ONE}, {{"payload": 1}}, {}]"#, ONE.replace("aGVs", "aGV"));
        let (attestations, left_out) = readable_attestations(text.as_bytes()).unwrap();
        assert_eq!((attestations.len(), left_out), (1, 3));
        let (attestations, left_out) = readable_attestations(format!("[{}]", [ONE; 70].join(",")).as_bytes()).unwrap();
        assert_eq!((attestations.len(), left_out), (64, 6));
        let text = format!("{ONE}\n{{\"payload\":[{}]}}", zeros());
        let (attestations, left_out) = readable_attestations(text.as_bytes()).unwrap();
        assert_eq!((attestations.len(), left_out), (1, 1));
        assert!(readable_attestations(&b"[".repeat(100_000)).is_err());
    }

    /// More JSON values than an entry may have.
    fn zeros() -> String {
        vec!["0"; 20_000].join(",")
    }

    #[test]
    fn reading_stops_at_the_maximum() {
        let error = |text: &str| parse_attestations(text.as_bytes()).unwrap_err().to_string();
        // What follows is not read.
        let lines = format!("{}{{", [ONE; 65].join("\n"));
        assert_eq!(error(&lines), "there are more than 64 signatures");
        let rest = vec!["7"; 1_000].join(",");
        assert_eq!(error(&format!("[{},{rest}]", [ONE; 64].join(","))), "there are more than 64 signatures");
        let zeros = zeros();
        for text in [format!("[[{zeros}]]"), format!(r#"{{"payload":[{zeros}]}}"#), format!("[[[{zeros}]],7]")] {
            assert_eq!(error(&text), "there are more than 10000 values in one entry");
        }
    }

    #[test]
    fn invalid_input_has_a_reason() {
        let error = |text: &str| parse_attestations(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error(&format!("[{}]", [ONE; 65].join(","))), "there are more than 64 signatures");
        let many = format!(r#"{{"payload":"","payloadType":"","signatures":[{}]}}"#, [r#"{"sig":""}"#; 9].join(","));
        assert_eq!(error(&many), "there are more than 8 signatures in one envelope");
        assert_eq!(error(&ONE.replace("aGVs", "aGV")), "`payload` is not base64");
        assert_eq!(error(&ONE.replace("_-8=", "_+8=")), "`sig` is not base64");
        assert!(error("7").starts_with("it is neither a Sigstore bundle nor a DSSE envelope"), "{}", error("7"));
        assert!(error(&"[".repeat(100_000)).starts_with("it is neither a Sigstore bundle"));
        assert_eq!(error(&" ".repeat(33 << 20)), "there are more than 33554432 bytes");
        let long = ONE.replace("\"t\"", &format!("\"{}\"", "t".repeat(300)));
        assert_eq!(error(&long), "there are more than 256 bytes in a `payloadType`");
        let key = r#"{"publicKey":{"hint":"x"}}"#;
        assert!(error(&bundle("application/json", key)).starts_with("its media type is `application/json`"));
        assert!(error(&bundle(BUNDLE_TYPE, "{}")).contains("exactly one of"), "{}", error(&bundle(BUNDLE_TYPE, "{}")));
        let both = r#"{"publicKey":{"hint":"x"},"certificate":{"rawBytes":"AA=="}}"#;
        assert!(error(&bundle(BUNDLE_TYPE, both)).contains("exactly one of"));
        let no_envelope = format!(r#"{{"mediaType":"{BUNDLE_TYPE}","verificationMaterial":{key}}}"#);
        assert!(error(&no_envelope).contains("no `dsseEnvelope`"), "{}", error(&no_envelope));
    }
}
