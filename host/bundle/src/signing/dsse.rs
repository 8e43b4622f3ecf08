//! DSSE version 1: the signed bytes and the envelope around them.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::error::EnvelopeError;

/// Payload type of the envelopes of this project: an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Maximum number of signatures in one envelope.
const MAX_SIGNATURES: usize = 8;
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

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EnvelopeDocument {
    payload: String,
    #[serde(rename = "payloadType")]
    payload_type: String,
    signatures: Vec<SignatureDocument>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SignatureDocument {
    sig: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keyid: Option<String>,
}

/// Returns the pre-authentication encoding (PAE) of a payload, the bytes that are signed: `DSSEv1`,
/// the type and the payload, each preceded by its length. The lengths make the encoding unique for
/// each pair of type and payload.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

impl Envelope {
    pub(super) fn document(&self) -> EnvelopeDocument {
        let signatures = self.signatures.iter().map(|signature| SignatureDocument {
            keyid: Some(signature.key_id.clone()).filter(|id| !id.is_empty()),
            sig: BASE64_STANDARD.encode(&signature.bytes),
        });
        EnvelopeDocument {
            payload: BASE64_STANDARD.encode(&self.payload),
            payload_type: self.payload_type.clone(),
            signatures: signatures.collect(),
        }
    }

    pub(super) fn decode(document: EnvelopeDocument) -> Result<Self, EnvelopeError> {
        at_most("bytes in a `payloadType`", document.payload_type.len(), MAX_TYPE)?;
        at_most("signatures in one envelope", document.signatures.len(), MAX_SIGNATURES)?;
        let payload = decode_base64("payload", &document.payload)?;
        let mut signatures = Vec::new();
        for signature in document.signatures {
            let key_id = signature.keyid.unwrap_or_default();
            at_most("bytes in a `keyid`", key_id.len(), MAX_KEY_ID)?;
            let bytes = decode_base64("sig", &signature.sig)?;
            at_most("bytes in a `sig`", bytes.len(), MAX_SIGNATURE)?;
            signatures.push(Signature { key_id, bytes });
        }
        Ok(Self { payload_type: document.payload_type, payload, signatures })
    }
}

pub(super) fn at_most(what: &'static str, number: usize, limit: usize) -> Result<(), EnvelopeError> {
    if number > limit { Err(EnvelopeError::TooMuch(what, limit)) } else { Ok(()) }
}

/// Decodes the string `what` in either alphabet, as DSSE requires. Each decoder is strict, and the
/// alphabets cannot be mixed, so a string has only one meaning.
pub(super) fn decode_base64(what: &'static str, text: &str) -> Result<Vec<u8>, EnvelopeError> {
    let decoders = [&BASE64_STANDARD, &BASE64_URL_SAFE, &BASE64_URL_SAFE_NO_PAD];
    decoders.iter().find_map(|decoder| decoder.decode(text).ok()).ok_or(EnvelopeError::Base64(what))
}

#[cfg(test)]
mod tests {
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
