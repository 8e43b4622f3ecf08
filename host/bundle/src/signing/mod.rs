//! Signatures of bundle digests: key pairs, DSSE envelopes, and the policy that says which keys may
//! sign which names. It does not use the network.
//!
//! * [`PrivateKey`] and [`PublicKey`]: ECDSA over P-256, as PEM files that `openssl` and cosign
//!   read and write.
//! * [`sign`] creates an [`Envelope`] that says "this name has this digest" ([`Subject`]).
//! * [`verify`] searches envelopes for such a statement, signed by a trusted key. Otherwise it
//!   reports why each signature does not count.
//! * [`Policy`] lists the keys, and which of them are trusted for which names.
//! * [`SignatureFile`] stores envelopes next to the file that they are about.
//!
//! All input (keys, envelopes, policies) is untrusted, and its size is limited.

mod dsse;
mod error;
mod key;
mod policy;
mod statement;
mod verify;

pub use crate::limits::MAX_ENVELOPES;
pub use dsse::{
    Envelope, PAYLOAD_TYPE, Signature, SignatureFile, pae, parse_envelopes, readable_envelopes, write_envelopes,
};
pub use error::{EnvelopeError, KeyError, SigningError};
pub use key::{PrivateKey, PublicKey, WrittenPair, is_open_to_others, read_private, read_public, write_pair};
pub use policy::{Policy, TrustedKey, default_policy_path};
pub use statement::{ModuleDigest, Predicate, Subject, sign};
pub use verify::{Verified, verify};
