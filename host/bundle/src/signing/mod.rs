//! Signatures over digests: key pairs, DSSE envelopes, and the policy that says which keys may sign which names. No network.
//!
//! * [`PrivateKey`] and [`PublicKey`]: ECDSA over P-256, as PEM files that `openssl` and cosign read and write.
//! * [`sign`] makes an [`Envelope`] that says "this name is this digest" ([`Subject`]); [`verify`] looks among envelopes for one that
//!   says so and is signed by a trusted key, or says for each why it does not count.
//! * [`Policy`] names the keys, and which of them counts for which name.
//! * [`SignatureFile`] keeps envelopes beside what they are about.
//!
//! Everything that is read (keys, envelopes, policies) comes from others and is bounded.

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
