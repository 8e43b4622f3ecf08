//! DSSE version 1: the signed bytes, the envelope around them, and files of envelopes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};
use plumbline_archive::atomic::{AtomicFile, parent_directory};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::{EnvelopeError, SigningError};
use super::key::with_suffix;
use crate::limits::{MAX_ENVELOPE_FILE, MAX_ENVELOPES};

/// Payload type of the envelopes of this project: an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Suffix that is appended to the name of a tar.
const SUFFIX: &str = ".dsse.json";
/// Maximum number of signatures in one envelope.
const MAX_SIGNATURES: usize = 8;
/// Maximum size of a payload, in bytes. A statement with a thousand modules is smaller.
const MAX_PAYLOAD: usize = 256 << 10;
/// Maximum length of a payload type, in bytes.
const MAX_TYPE: usize = 256;
/// Maximum size of a signature, in bytes. An ECDSA signature over P-256 has at most 72. Larger
/// signatures of other algorithms are accepted, but never verify.
const MAX_SIGNATURE: usize = 1024;
/// Maximum length of a key ID, in bytes.
const MAX_KEY_ID: usize = 256;

/// A decoded envelope. Nothing in it is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Type of the payload.
    pub payload_type: String,
    /// The signed bytes.
    pub payload: Vec<u8>,
    /// Signatures over the [`pae`] of type and payload.
    pub signatures: Vec<Signature>,
}

/// A signature in an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Unauthenticated hint at the key. Empty if there is none.
    pub key_id: String,
    /// Bytes of the signature.
    pub bytes: Vec<u8>,
}

/// The JSON form of an envelope.
#[derive(Serialize, Deserialize)]
struct Document {
    payload: String,
    #[serde(rename = "payloadType")]
    payload_type: String,
    signatures: Vec<SignatureDocument>,
}

#[derive(Serialize, Deserialize)]
struct SignatureDocument {
    #[serde(default)]
    keyid: Option<String>,
    sig: String,
}

/// Returns the pre-authentication encoding (PAE) of a payload, the bytes that are signed: `DSSEv1`,
/// the type and the payload, each preceded by its length. The lengths make the encoding unique for
/// each pair of type and payload.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// Parses envelopes: a JSON array, a single envelope, or one envelope per line.
pub fn parse_envelopes(text: &[u8]) -> Result<Vec<Envelope>, EnvelopeError> {
    at_most("bytes", text.len(), MAX_ENVELOPE_FILE)?;
    let documents: Result<Vec<Document>, _> = match text.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice(text),
        _ => serde_json::Deserializer::from_slice(text).into_iter().take(MAX_ENVELOPES + 1).collect(),
    };
    let documents = documents.map_err(|error| EnvelopeError::Json(error.to_string()))?;
    at_most("envelopes", documents.len(), MAX_ENVELOPES)?;
    documents.into_iter().map(decode).collect()
}

/// Parses a JSON array of envelopes to which others may have added anything. Returns the last
/// [`MAX_ENVELOPES`] entries that can be parsed, and the number of entries left out.
pub fn readable_envelopes(text: &[u8]) -> Result<(Vec<Envelope>, usize), EnvelopeError> {
    at_most("bytes", text.len(), MAX_ENVELOPE_FILE)?;
    let entries: Vec<Value> = serde_json::from_slice(text).map_err(|error| EnvelopeError::Json(error.to_string()))?;
    let all = entries.len();
    let read = |entry: Value| decode(serde_json::from_value(entry).ok()?).ok();
    // New envelopes are appended at the end.
    let envelopes: Vec<Envelope> = entries.into_iter().rev().filter_map(read).take(MAX_ENVELOPES).collect();
    let left_out = all - envelopes.len();
    Ok((envelopes, left_out))
}

/// Returns a JSON array of `envelopes`, one per line.
pub fn write_envelopes(envelopes: &[Envelope]) -> String {
    let lines: Vec<String> = envelopes.iter().map(Envelope::to_json).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

impl Envelope {
    /// Returns the JSON form of the envelope, on one line.
    pub fn to_json(&self) -> String {
        let signatures = self.signatures.iter().map(|signature| SignatureDocument {
            keyid: Some(signature.key_id.clone()),
            sig: BASE64_STANDARD.encode(&signature.bytes),
        });
        let document = Document {
            payload: BASE64_STANDARD.encode(&self.payload),
            payload_type: self.payload_type.clone(),
            signatures: signatures.collect(),
        };
        // Strings and lists of strings always have a JSON form.
        serde_json::to_string(&document).unwrap_or_default()
    }
}

fn decode(document: Document) -> Result<Envelope, EnvelopeError> {
    at_most("bytes in a `payloadType`", document.payload_type.len(), MAX_TYPE)?;
    at_most("signatures in one envelope", document.signatures.len(), MAX_SIGNATURES)?;
    let payload = decode_base64(&document.payload).ok_or(EnvelopeError::Base64("payload"))?;
    at_most("bytes in a `payload`", payload.len(), MAX_PAYLOAD)?;
    let mut signatures = Vec::new();
    for signature in document.signatures {
        let key_id = signature.keyid.unwrap_or_default();
        at_most("bytes in a `keyid`", key_id.len(), MAX_KEY_ID)?;
        let bytes = decode_base64(&signature.sig).ok_or(EnvelopeError::Base64("sig"))?;
        at_most("bytes in a `sig`", bytes.len(), MAX_SIGNATURE)?;
        signatures.push(Signature { key_id, bytes });
    }
    Ok(Envelope { payload_type: document.payload_type, payload, signatures })
}

fn at_most(what: &'static str, number: usize, limit: usize) -> Result<(), EnvelopeError> {
    if number > limit { Err(EnvelopeError::TooMuch(what, limit)) } else { Ok(()) }
}

/// Decodes either alphabet, as DSSE requires. Each decoder is strict, and the alphabets cannot be
/// mixed, so a string has only one meaning.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let decoders = [&BASE64_STANDARD, &BASE64_URL_SAFE, &BASE64_URL_SAFE_NO_PAD];
    decoders.iter().find_map(|decoder| decoder.decode(text).ok())
}

/// A file of envelopes, stored next to the file that they are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureFile(PathBuf);

impl SignatureFile {
    /// Returns the file for `artefact`: `NAME.bundle.tar.dsse.json` for `NAME.bundle.tar`.
    pub fn beside(artefact: &Path) -> Self {
        Self(with_suffix(artefact, SUFFIX))
    }

    /// Returns the file at `path`.
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the envelopes in the file. Returns an empty list if the file does not exist.
    pub fn read(&self) -> Result<Vec<Envelope>, SigningError> {
        let mut text = Vec::new();
        match File::open(&self.0).and_then(|file| file.take(MAX_ENVELOPE_FILE as u64 + 1).read_to_end(&mut text)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(SigningError::read("the signatures", &self.0))?,
        };
        parse_envelopes(&text).map_err(|error| SigningError::Envelopes(self.0.clone(), error))
    }

    /// Appends `envelope` and returns the new number of envelopes. A reader sees either the old
    /// file or the new one. Concurrent writers wait for each other. A file that is invalid or full
    /// stays unchanged.
    pub fn append(&self, envelope: Envelope) -> Result<usize, SigningError> {
        let failed = SigningError::write("the signatures", &self.0);
        // Lock the directory, because the file itself is about to be replaced.
        let lock = File::open(parent_directory(&self.0)).map_err(&failed)?;
        match lock.lock() {
            // Without locks in the file system, two concurrent writers can lose a signature.
            Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(failed(error)),
            _ => {}
        }
        let mut envelopes = self.read()?;
        envelopes.push(envelope);
        let text = write_envelopes(&envelopes);
        if envelopes.len() > MAX_ENVELOPES || text.len() > MAX_ENVELOPE_FILE {
            return Err(SigningError::Full(self.0.clone()));
        }
        let replace = || {
            let mut file = AtomicFile::create(&self.0)?.readable_by_all()?;
            file.write_all(text.as_bytes())?;
            file.commit()
        };
        replace().map_err(failed)?;
        Ok(envelopes.len())
    }
}

#[cfg(test)]
mod envelope_tests {
    use super::*;

    const ONE: &str = r#"{"payload":"aGVsbG8gd29ybGQ=","payloadType":"t","signatures":[{"sig":"_-8="}]}"#;

    #[test]
    fn a_list_one_alone_and_lines_are_read() {
        let one = parse_envelopes(ONE.as_bytes()).unwrap();
        assert_eq!(one[0].payload, b"hello world");
        assert_eq!(one[0].signatures, [Signature { key_id: String::new(), bytes: vec![0xff, 0xef] }]);
        for text in [format!("[{ONE}]"), format!("\n{ONE}\n"), write_envelopes(&one)] {
            assert_eq!(parse_envelopes(text.as_bytes()).unwrap(), one, "{text}");
        }
        assert_eq!(parse_envelopes(format!("{ONE}\n{ONE}\n").as_bytes()).unwrap().len(), 2);
        assert_eq!(parse_envelopes(b"[]").unwrap(), []);
        assert_eq!(parse_envelopes(b"").unwrap(), []);
    }

    #[test]
    fn what_others_have_added_does_not_hide_what_is_good() {
        let text = format!(r#"[7, {ONE}, {{"payload": 1}}, {}]"#, ONE.replace("aGVs", "aGV"));
        let (envelopes, left_out) = readable_envelopes(text.as_bytes()).unwrap();
        assert_eq!((envelopes.len(), left_out), (1, 3));
        let (envelopes, left_out) = readable_envelopes(format!("[{}]", [ONE; 70].join(",")).as_bytes()).unwrap();
        assert_eq!((envelopes.len(), left_out), (64, 6));
        assert!(readable_envelopes(b"7").is_err() && readable_envelopes(&b"[".repeat(100_000)).is_err());
    }

    #[test]
    fn what_is_too_much_or_something_else_is_said() {
        let told = |text: &str| parse_envelopes(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(told(&format!("[{}]", [ONE; 65].join(","))), "there are more than 64 envelopes");
        let many = format!(r#"{{"payload":"","payloadType":"","signatures":[{}]}}"#, [r#"{"sig":""}"#; 9].join(","));
        assert_eq!(told(&many), "there are more than 8 signatures in one envelope");
        assert_eq!(told(&ONE.replace("aGVs", "aGV")), "`payload` is not base64");
        assert_eq!(told(&ONE.replace("_-8=", "_+8=")), "`sig` is not base64");
        assert!(told("7").starts_with("it is not a DSSE envelope"), "{}", told("7"));
        assert!(told(&"[".repeat(100_000)).starts_with("it is not a DSSE envelope"));
        assert_eq!(told(&" ".repeat(5 << 20)), "there are more than 1048576 bytes");
        let long = ONE.replace("\"t\"", &format!("\"{}\"", "t".repeat(300)));
        assert_eq!(told(&long), "there are more than 256 bytes in a `payloadType`");
    }
}

#[cfg(test)]
mod pae_tests {
    use super::*;

    #[test]
    fn the_specifications_example_is_met() {
        assert_eq!(
            pae("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
        assert_eq!(pae("", b""), b"DSSEv1 0  0 ");
    }

    #[test]
    fn lengths_are_counted_in_bytes() {
        assert_eq!(pae("ä", "€".as_bytes()), "DSSEv1 2 ä 3 €".as_bytes());
    }
}
