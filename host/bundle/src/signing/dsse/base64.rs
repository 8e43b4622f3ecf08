//! Base64 in JSON, as DSSE requires: written in the standard alphabet, read in either alphabet.

use ::base64::Engine as _;
use ::base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};

pub(super) fn encode(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// Decodes either alphabet. Each decoder is strict, and the alphabets cannot be mixed, so a string
/// has only one meaning.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let decoders = [&BASE64_STANDARD, &BASE64_URL_SAFE, &BASE64_URL_SAFE_NO_PAD];
    decoders.iter().find_map(|decoder| decoder.decode(text).ok())
}
