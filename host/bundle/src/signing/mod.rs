//! Signed statements about files: key pairs, Sigstore bundles, and the policy that says which keys
//! may sign which names. It does not use the network.
//!
//! * [`PrivateKey`] and [`PublicKey`]: ECDSA over P-256, as PEM files that `openssl` and cosign
//!   read and write.
//! * [`sign_statement`] creates an [`Attestation`], a Sigstore bundle with a statement about files.
//!   [`sign`] states that a plugin's bundle has a name and a digest.
//! * [`verify`] and [`verify_result`] search attestations for statements by a trusted signer.
//!   Otherwise they report why each signature does not count.
//! * [`Policy`] lists the keys, and which of them are trusted for which names. [`Keyless`] is an
//!   identity that certificates of a trusted CA prove.
//! * [`SignatureFile`] stores attestations next to the file that they are about.
//!
//! All input (keys, attestations, policies) is untrusted, and its size is limited.

mod attestation;
mod dsse;
mod error;
mod file;
mod key;
mod keyless;
mod policy;
mod results;
mod statement;
mod unique_keys;
mod verify;

pub use crate::limits::MAX_ENVELOPES;
pub use attestation::{
    Attestation, BUNDLE_TYPE, Signer, parse_attestations, readable_attestations, sign, sign_statement,
    write_attestations,
};
pub use dsse::{Envelope, PAYLOAD_TYPE, Signature, pae};
pub use error::{EnvelopeError, KeyError, SigningError};
pub use file::{ATTESTATIONS_SUFFIX, OLD_SIGNATURES_SUFFIX, SignatureFile, named_path};
pub use key::{PrivateKey, PublicKey, WrittenPair, is_open_to_others, read_private, read_public, write_pair};
pub use keyless::{Keyless, TrustedRoot};
pub use policy::{Policy, TrustedKey, default_policy_path};
pub use results::{ResultStatement, Trusted, VerifiedResult, Wanted, archive_subjects, folder_subjects, verify_result};
pub use statement::{ModuleDigest, Predicate, RELEASE, Subject, TEST_RESULT, UnverifiedStatement};
pub use verify::{Verified, verify};
