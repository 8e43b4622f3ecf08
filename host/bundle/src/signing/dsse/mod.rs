//! DSSE version 1: what is signed, and the envelope around it.

mod base64;
mod envelope;
mod pae;

pub(crate) use envelope::MAX_FILE;
pub use envelope::{
    Envelope, EnvelopeError, MAX_ENVELOPES, Signature, parse_envelopes, readable_envelopes, write_envelopes,
};
pub use pae::pae;

/// What the envelopes of this project carry: an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
