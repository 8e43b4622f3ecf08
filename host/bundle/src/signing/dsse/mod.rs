//! DSSE version 1: the signed bytes and the envelope around them.

mod base64;
mod envelope;
mod pae;

pub(crate) use envelope::MAX_FILE;
pub use envelope::{
    Envelope, EnvelopeError, MAX_ENVELOPES, Signature, parse_envelopes, readable_envelopes, write_envelopes,
};
pub use pae::pae;

/// Payload type of the envelopes of this project: an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
