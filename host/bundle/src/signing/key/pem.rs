//! PEM texts with one key.

use super::error::KeyError;

/// Maximum size of a PEM text, in bytes. A P-256 key has less than 400. Comments and parameters
/// around it are allowed.
const MAX_PEM: usize = 64 << 10;
/// Maximum length of an unknown tag in a message, in characters.
const MAX_TAG: usize = 64;
/// Tag of a private key (PKCS #8).
pub(super) const PRIVATE_TAG: &str = "PRIVATE KEY";

/// Returns the content of the only block with the tag `wanted`. Other blocks, such as `EC
/// PARAMETERS`, are ignored.
pub(super) fn only(text: &[u8], wanted: &'static str) -> Result<Vec<u8>, KeyError> {
    if text.len() > MAX_PEM {
        return Err(KeyError::TooLong(MAX_PEM));
    }
    let blocks = pem::parse_many(text).map_err(|error| KeyError::Pem(error.to_string()))?;
    let mut keys = blocks.iter().filter(|block| block.tag() == wanted);
    match (keys.next(), keys.count()) {
        (Some(key), 0) => Ok(key.contents().to_vec()),
        (Some(_), more) => Err(KeyError::Many(more + 1)),
        (None, _) => Err(missing(&blocks, wanted)),
    }
}

/// Returns an error that describes which blocks were found instead.
fn missing(blocks: &[pem::Pem], wanted: &'static str) -> KeyError {
    let tag = |block: &pem::Pem| block.tag().chars().take(MAX_TAG).collect::<String>();
    if let Some(block) = blocks.iter().find(|block| block.tag().starts_with("ENCRYPTED ")) {
        return KeyError::Encrypted(tag(block));
    }
    if wanted == PRIVATE_TAG && blocks.iter().any(|block| block.tag() == "EC PRIVATE KEY") {
        return KeyError::Sec1;
    }
    if blocks.iter().any(|block| block.tag().starts_with("RSA ")) {
        return KeyError::Algorithm("RSA");
    }
    match blocks.iter().find(|block| block.tag() != "EC PARAMETERS") {
        Some(block) => KeyError::Tag { wanted, found: tag(block) },
        None => KeyError::Pem(format!("there is no `-----BEGIN {wanted}-----` in it")),
    }
}

/// Encodes PEM with line feeds on every system.
pub(super) fn lines(block: &pem::Pem) -> String {
    pem::encode_config(block, pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF))
}
