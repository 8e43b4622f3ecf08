//! The trusted root: which certificate authorities, transparency logs and timestamp authorities are
//! trusted, and when. The format is Sigstore's `trusted_root.json`.

use std::path::Path;

use jiff::Timestamp;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::Deserialize;

use super::super::attestation::{Chain, decode_material};
use super::super::dsse::decode_base64;
use super::super::error::{EnvelopeError, SigningError};
use super::super::key::PublicKey;
use crate::unpack::read_start;

/// Maximum size of the file, in bytes. That of the public instance has 10 KiB.
const MAX_BYTES: usize = 4 << 20;
/// First part of the media type of a trusted root. The version follows.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.trustedroot";
/// Maximum number of authorities or logs.
const MAX_ENTRIES: usize = 256;
/// Bytes before the key in a SubjectPublicKeyInfo of Ed25519 (RFC 8410).
const ED25519_FRAME: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Trusted authorities and logs.
#[derive(Debug, Clone, Default)]
pub struct TrustedRoot {
    pub(super) authorities: Vec<Authority>,
    pub(super) timestamp_authorities: Vec<Authority>,
    logs: Vec<Log>,
}

/// A trusted certificate authority or timestamp authority.
#[derive(Debug, Clone)]
pub(super) struct Authority {
    /// Certificates (DER), the root last.
    pub(super) chain: Vec<Vec<u8>>,
    /// When it was in use.
    pub(super) validity: Validity,
}

/// A trusted transparency log.
#[derive(Debug, Clone)]
pub(super) struct Log {
    pub(super) id: Vec<u8>,
    pub(super) key: LogKey,
    /// When it was in use.
    pub(super) validity: Validity,
}

#[derive(Debug, Clone)]
pub(super) enum LogKey {
    P256(PublicKey),
    Ed25519([u8; 32]),
}

impl LogKey {
    fn parse(der: &[u8]) -> Option<Self> {
        if let Some(key) = der.strip_prefix(&ED25519_FRAME) {
            return Some(Self::Ed25519(key.try_into().ok()?));
        }
        PublicKey::from_der(der).ok().map(Self::P256)
    }

    /// Returns whether `signature` is a signature of this key over `message`.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::P256(key) => key.verifies(message, signature),
            Self::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok(),
        }
    }
}

/// A span of time with both of its ends. Without a start, it contains nothing.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct Validity {
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

impl Validity {
    pub(super) fn contains(self, time: Timestamp) -> bool {
        self.start.is_some_and(|start| start <= time) && self.end.is_none_or(|end| time <= end)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    media_type: String,
    #[serde(default)]
    tlogs: Vec<LogDocument>,
    #[serde(default)]
    certificate_authorities: Vec<AuthorityDocument>,
    #[serde(default)]
    timestamp_authorities: Vec<AuthorityDocument>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthorityDocument {
    cert_chain: Chain,
    #[serde(default)]
    valid_for: Validity,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogDocument {
    public_key: KeyDocument,
    log_id: LogId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogId {
    pub(super) key_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeyDocument {
    raw_bytes: String,
    #[serde(default)]
    valid_for: Validity,
}

impl TrustedRoot {
    /// Reads the file at `path`.
    pub fn load(path: &Path) -> Result<Self, SigningError> {
        let text = read_start(path, MAX_BYTES).map_err(SigningError::read("trusted root", path))?;
        Self::parse(&text).map_err(|reason| SigningError::TrustedRoot(path.to_owned(), reason))
    }

    /// Parses a trusted root. The error is a sentence.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("it has more than {MAX_BYTES} bytes"));
        }
        let document: Document = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if !document.media_type.starts_with(MEDIA_TYPE) {
            return Err(format!("its `mediaType` is not that of a trusted root (`{MEDIA_TYPE}…`)"));
        }
        let Document { tlogs, certificate_authorities, timestamp_authorities, .. } = document;
        if [tlogs.len(), certificate_authorities.len(), timestamp_authorities.len()].iter().any(|n| *n > MAX_ENTRIES) {
            return Err(format!("it has more than {MAX_ENTRIES} CAs, timestamp authorities or logs"));
        }
        let decode = || -> Result<Self, EnvelopeError> {
            let mut root = Self {
                authorities: certificate_authorities.into_iter().map(authority).collect::<Result<_, _>>()?,
                timestamp_authorities: timestamp_authorities.into_iter().map(authority).collect::<Result<_, _>>()?,
                logs: Vec::new(),
            };
            for LogDocument { public_key, log_id } in tlogs {
                let id = decode_base64("keyId", &log_id.key_id)?;
                // Entries of a log with another kind of key do not count.
                if let Some(key) = LogKey::parse(&decode_material("rawBytes", &public_key.raw_bytes)?) {
                    root.logs.push(Log { id, key, validity: public_key.valid_for });
                }
            }
            Ok(root)
        };
        decode().map_err(|error| error.to_string())
    }

    pub(super) fn log(&self, id: &[u8]) -> Option<&Log> {
        self.logs.iter().find(|log| log.id == id)
    }
}

fn authority(document: AuthorityDocument) -> Result<Authority, EnvelopeError> {
    let chain = document.cert_chain.certificates.iter().map(|one| decode_material("rawBytes", &one.raw_bytes));
    Ok(Authority { chain: chain.collect::<Result<_, _>>()?, validity: document.valid_for })
}
