//! Base64 in JSON: written in the standard alphabet, read in either, as DSSE demands.

use ::base64::Engine as _;
use ::base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};

pub(super) fn encode(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// Each decoder is strict by itself, so one text has one meaning: the alphabets differ in two characters and are not mixed.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let decoders = [&BASE64_STANDARD, &BASE64_URL_SAFE, &BASE64_URL_SAFE_NO_PAD];
    decoders.iter().find_map(|decoder| decoder.decode(text).ok())
}
