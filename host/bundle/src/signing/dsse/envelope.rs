//! DSSE envelopes: a payload, its type, and signatures over both.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::base64;

/// Maximum size of a file of envelopes, in bytes. The limit for signatures of an installed bundle
/// is the same.
pub(crate) const MAX_FILE: usize = 1 << 20;
/// Maximum number of envelopes in one file. Users have few keys, and every envelope costs
/// verifications.
pub const MAX_ENVELOPES: usize = 64;
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
    /// Signatures over the [`pae`](crate::signing::pae) of type and payload.
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

/// Error while parsing envelopes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// A size or number exceeds its limit.
    #[error("there are more than {limit} {what}")]
    TooMuch {
        /// The things that are too many, such as `bytes`.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The text is not JSON of the expected structure.
    #[error("it is not a DSSE envelope, nor a list of them: {0}")]
    Json(String),
    /// A string is not base64.
    #[error("`{0}` is not base64")]
    Base64(&'static str),
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

/// Parses envelopes: a JSON array, a single envelope, or one envelope per line.
///
/// # Errors
/// When the text has another structure, or exceeds [`MAX_ENVELOPES`] or another limit.
pub fn parse_envelopes(text: &[u8]) -> Result<Vec<Envelope>, EnvelopeError> {
    if text.len() > MAX_FILE {
        return Err(EnvelopeError::TooMuch { what: "bytes", limit: MAX_FILE });
    }
    let documents: Result<Vec<Document>, _> = match text.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice(text),
        _ => serde_json::Deserializer::from_slice(text).into_iter().take(MAX_ENVELOPES + 1).collect(),
    };
    let documents = documents.map_err(|error| EnvelopeError::Json(error.to_string()))?;
    if documents.len() > MAX_ENVELOPES {
        return Err(EnvelopeError::TooMuch { what: "envelopes", limit: MAX_ENVELOPES });
    }
    documents.into_iter().map(decode).collect()
}

/// Parses a JSON array of envelopes to which others may have added anything. Returns the last
/// [`MAX_ENVELOPES`] entries that can be parsed, and the number of entries left out.
///
/// # Errors
/// When the text is not an array, or is too long.
pub fn readable_envelopes(text: &[u8]) -> Result<(Vec<Envelope>, usize), EnvelopeError> {
    if text.len() > MAX_FILE {
        return Err(EnvelopeError::TooMuch { what: "bytes", limit: MAX_FILE });
    }
    let entries: Vec<Value> = serde_json::from_slice(text).map_err(|error| EnvelopeError::Json(error.to_string()))?;
    let all = entries.len();
    let read = |entry: Value| decode(serde_json::from_value(entry).ok()?).ok();
    // New envelopes are appended at the end.
    let envelopes: Vec<Envelope> = entries.into_iter().rev().filter_map(read).take(MAX_ENVELOPES).collect();
    let left_out = all - envelopes.len();
    Ok((envelopes, left_out))
}

/// Returns a JSON array of `envelopes`, one per line.
#[must_use]
pub fn write_envelopes(envelopes: &[Envelope]) -> String {
    let lines: Vec<String> = envelopes.iter().map(Envelope::to_json).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

impl Envelope {
    /// Returns the JSON form of the envelope, on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        let signatures = self.signatures.iter().map(|signature| SignatureDocument {
            keyid: Some(signature.key_id.clone()),
            sig: base64::encode(&signature.bytes),
        });
        let document = Document {
            payload: base64::encode(&self.payload),
            payload_type: self.payload_type.clone(),
            signatures: signatures.collect(),
        };
        // Strings and lists of strings always have a JSON form.
        serde_json::to_string(&document).unwrap_or_default()
    }
}

fn decode(document: Document) -> Result<Envelope, EnvelopeError> {
    let at_most = |what, length: usize, limit| match length > limit {
        true => Err(EnvelopeError::TooMuch { what, limit }),
        false => Ok(()),
    };
    at_most("bytes in a `payloadType`", document.payload_type.len(), MAX_TYPE)?;
    at_most("signatures in one envelope", document.signatures.len(), MAX_SIGNATURES)?;
    let payload = base64::decode(&document.payload).ok_or(EnvelopeError::Base64("payload"))?;
    at_most("bytes in a `payload`", payload.len(), MAX_PAYLOAD)?;
    let mut signatures = Vec::new();
    for signature in document.signatures {
        let key_id = signature.keyid.unwrap_or_default();
        at_most("bytes in a `keyid`", key_id.len(), MAX_KEY_ID)?;
        let bytes = base64::decode(&signature.sig).ok_or(EnvelopeError::Base64("sig"))?;
        at_most("bytes in a `sig`", bytes.len(), MAX_SIGNATURE)?;
        signatures.push(Signature { key_id, bytes });
    }
    Ok(Envelope { payload_type: document.payload_type, payload, signatures })
}

#[cfg(test)]
mod tests {
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
