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
mod file;
mod key;
mod policy;
mod sign;
mod statement;
mod verify;

pub use dsse::{
    Envelope, EnvelopeError, MAX_ENVELOPES, PAYLOAD_TYPE, Signature, pae, parse_envelopes, readable_envelopes,
    write_envelopes,
};
pub use file::{SignatureFile, SignatureFileError};
pub use key::{
    KeyError, KeyFileError, KeyId, PrivateKey, PublicKey, WrittenPair, is_open_to_others, read_private, read_public,
    write_pair,
};
pub use policy::{Policy, PolicyError, Rule, TrustedKey, default_policy_path};
pub use sign::{SignError, sign};
pub use statement::{ModuleDigest, PREDICATE_TYPE, Predicate, STATEMENT_TYPE, Statement, StatementError, Subject};
pub use verify::{NotVerified, Refusal, Verified, verify};
