//! Entries of transparency logs (Rekor): the log proves that an entry is part of its tree, and the
//! entry is about this signature. A log may also sign the time of an entry.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::dsse::decode_base64;
use super::super::statement::shown;
use super::trusted_root::{Log, LogId, TrustedRoot};

/// Maximum number of hashes in a proof of inclusion: enough for every tree.
const MAX_HASHES: usize = 64;
/// Maximum number of signatures of a checkpoint.
const MAX_CHECKPOINT_SIGNATURES: usize = 32;
/// Number of bytes before a signature in a checkpoint: the first bytes of the log's ID.
const KEY_HINT: usize = 4;
/// First byte of the hash of a leaf, and of an inner node (RFC 6962).
const LEAF: u8 = 0;
const NODE: u8 = 1;

/// The signature that an entry must be about.
pub(super) struct Signed<'a> {
    pub(super) payload: &'a [u8],
    /// Bytes that were signed: the payload and its type.
    pub(super) message: &'a [u8],
    pub(super) signature: &'a [u8],
    pub(super) leaf: &'a [u8],
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(deserialize_with = "number")]
    log_index: u64,
    log_id: LogId,
    kind_version: KindVersion,
    #[serde(default, deserialize_with = "number")]
    integrated_time: u64,
    inclusion_promise: Option<Promise>,
    inclusion_proof: Option<Proof>,
    canonicalized_body: String,
}

#[derive(Deserialize)]
struct KindVersion {
    kind: String,
    version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Promise {
    signed_entry_timestamp: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Proof {
    #[serde(default, deserialize_with = "number")]
    log_index: u64,
    root_hash: String,
    #[serde(deserialize_with = "number")]
    tree_size: u64,
    #[serde(default)]
    hashes: Vec<String>,
    checkpoint: Checkpoint,
}

#[derive(Deserialize)]
struct Checkpoint {
    envelope: String,
}

/// Deserializes a 64-bit number, which is a string in this format.
fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.ok_or_else(|| serde::de::Error::custom("expected a number that is not negative"))
}

/// Verifies an entry, and returns the time at which the log says that it was recorded, if the log
/// has signed that time. The error is a sentence.
pub(super) fn verify(entry: &Value, signed: &Signed<'_>, root: &TrustedRoot) -> Result<Option<Timestamp>, String> {
    let checked = || {
        let entry = Entry::deserialize(entry).map_err(|error| error.to_string())?;
        let id = decoded("keyId", &entry.log_id.key_id)?;
        let log = root
            .log(&id)
            .ok_or_else(|| format!("the trusted root does not have the log `{}`", shown(&entry.log_id.key_id)))?;
        let body = decoded("canonicalizedBody", &entry.canonicalized_body)?;
        check_body(&entry.kind_version, &body, signed)?;
        let proof = entry.inclusion_proof.as_ref().ok_or("it has no inclusion proof")?;
        check_proof(proof, &body, log)?;
        match &entry.inclusion_promise {
            Some(promise) => promised(promise, &entry, &body, log).map(Some),
            None => Ok(None),
        }
    };
    checked().map_err(|reason: String| format!("its log entry is not valid: {reason}"))
}

/// Checks the log's signature over the entry and its time (the signed entry timestamp).
fn promised(promise: &Promise, entry: &Entry, body: &[u8], log: &Log) -> Result<Timestamp, String> {
    // The keys are in the order of canonical JSON (RFC 8785).
    let message = json!({
        "body": BASE64_STANDARD.encode(body),
        "integratedTime": entry.integrated_time,
        "logID": hex::encode(&log.id),
        "logIndex": entry.log_index,
    });
    let signature = decoded("signedEntryTimestamp", &promise.signed_entry_timestamp)?;
    if !log.key.verifies(message.to_string().as_bytes(), &signature) {
        return Err("the log has not signed its time".to_owned());
    }
    let seconds = i64::try_from(entry.integrated_time).map_err(|error| error.to_string())?;
    let time = Timestamp::from_second(seconds).map_err(|error| error.to_string())?;
    match log.validity.contains(time) {
        true => Ok(time),
        false => Err(format!("the log was not in use at {time}")),
    }
}

/// Checks that the log has signed a tree, and that the body is a leaf of it.
fn check_proof(proof: &Proof, body: &[u8], log: &Log) -> Result<(), String> {
    let root = decoded("rootHash", &proof.root_hash)?;
    let (size, signed_root) = checkpoint(&proof.checkpoint.envelope, log)?;
    if (size, signed_root.as_slice()) != (proof.tree_size, root.as_slice()) {
        return Err("its checkpoint belongs to another tree".to_owned());
    }
    if proof.hashes.len() > MAX_HASHES {
        return Err(format!("its proof has more than {MAX_HASHES} hashes"));
    }
    let hashes = proof.hashes.iter().map(|hash| decoded("hashes", hash)).collect::<Result<Vec<_>, _>>()?;
    match tree_root(proof.log_index, proof.tree_size, &hash(LEAF, body, &[]), &hashes) {
        Some(computed) if computed == root => Ok(()),
        _ => Err("its inclusion proof does not match the root hash of the log".to_owned()),
    }
}

fn hash(kind: u8, left: &[u8], right: &[u8]) -> Vec<u8> {
    digest(&SHA256, &[&[kind], left, right].concat()).as_ref().to_vec()
}

/// Computes the root of a tree of `size` leaves from the leaf at `index` and the hashes next to its
/// path (RFC 9162, section 2.1.3.2). Returns `None` if the number of hashes is wrong.
fn tree_root(index: u64, size: u64, leaf: &[u8], hashes: &[Vec<u8>]) -> Option<Vec<u8>> {
    if index >= size {
        return None;
    }
    let (mut node, mut last, mut root) = (index, size - 1, leaf.to_vec());
    for sibling in hashes {
        if last == 0 {
            return None;
        }
        if node & 1 == 1 || node == last {
            root = hash(NODE, sibling, &root);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            root = hash(NODE, &root, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(root)
}

/// Returns the size and the root in a checkpoint (a signed note), whose text the log has signed.
fn checkpoint(envelope: &str, log: &Log) -> Result<(u64, Vec<u8>), String> {
    let invalid = || "its checkpoint is invalid".to_owned();
    let (text, signatures) = envelope.split_once("\n\n").ok_or_else(invalid)?;
    let text = format!("{text}\n");
    let mut lines = text.lines();
    let origin = lines.next().filter(|origin| !origin.is_empty()).ok_or_else(invalid)?;
    let size = lines.next().and_then(|line| line.parse().ok()).ok_or_else(invalid)?;
    let root = decoded("root of its checkpoint", lines.next().ok_or_else(invalid)?)?;
    // Older logs add a number to their name in the first line.
    let name = origin.split(" - ").next().unwrap_or(origin);
    let is_signed = signatures.lines().take(MAX_CHECKPOINT_SIGNATURES).any(|line| {
        let Some((signer, signature)) = line.strip_prefix("\u{2014} ").and_then(|line| line.split_once(' ')) else {
            return false;
        };
        let Ok(bytes) = BASE64_STANDARD.decode(signature) else { return false };
        let Some((hint, signature)) = bytes.split_at_checked(KEY_HINT) else { return false };
        signer == name && log.id.starts_with(hint) && log.key.verifies(text.as_bytes(), signature)
    });
    if is_signed { Ok((size, root)) } else { Err("the log has not signed its checkpoint".to_owned()) }
}

/// Checks that the body of an entry is about the signature, the signed data and the signer.
fn check_body(kind: &KindVersion, body: &[u8], signed: &Signed<'_>) -> Result<(), String> {
    let body: Value = serde_json::from_slice(body).map_err(|error| format!("its body is not JSON: {error}"))?;
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if (text("/kind"), text("/apiVersion")) != (kind.kind.as_str(), kind.version.as_str()) {
        return Err("its body and its entry are of different kinds".to_owned());
    }
    let payload = digest(&SHA256, signed.payload);
    let message = digest(&SHA256, signed.message);
    let bytes = |pointer: &str| decode_base64("body", text(pointer)).unwrap_or_default();
    let certificate = |pointer: &str| pem::parse(bytes(pointer)).map(pem::Pem::into_contents).unwrap_or_default();
    let hex_digest = |pointer: &str| hex::decode(text(pointer)).unwrap_or_default();
    let (data, expected, signature, verifier) = match (kind.kind.as_str(), kind.version.as_str()) {
        ("dsse", "0.0.1") => (
            hex_digest("/spec/payloadHash/value"),
            payload,
            bytes("/spec/signatures/0/signature"),
            certificate("/spec/signatures/0/verifier"),
        ),
        ("intoto", "0.0.2") => {
            let signature = bytes("/spec/content/envelope/signatures/0/sig");
            (
                hex_digest("/spec/content/payloadHash/value"),
                payload,
                // This kind encodes the signature twice.
                BASE64_STANDARD.decode(signature).unwrap_or_default(),
                certificate("/spec/content/envelope/signatures/0/publicKey"),
            )
        }
        ("dsse", "0.0.2") => (
            bytes("/spec/dsseV002/payloadHash/digest"),
            payload,
            bytes("/spec/dsseV002/signatures/0/content"),
            bytes("/spec/dsseV002/signatures/0/verifier/x509Certificate/rawBytes"),
        ),
        ("hashedrekord", "0.0.2") => (
            bytes("/spec/hashedRekordV002/data/digest"),
            message,
            bytes("/spec/hashedRekordV002/signature/content"),
            bytes("/spec/hashedRekordV002/signature/verifier/x509Certificate/rawBytes"),
        ),
        (kind, version) => return Err(format!("its kind is `{}` {}, which is not known", shown(kind), shown(version))),
    };
    if data != expected.as_ref() || signature != signed.signature || verifier != signed.leaf {
        return Err("it is about another signature".to_owned());
    }
    Ok(())
}

fn decoded(what: &'static str, text: &str) -> Result<Vec<u8>, String> {
    decode_base64(what, text).map_err(|error| error.to_string())
}
