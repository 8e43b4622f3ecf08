//! SHA-256 digests, which identify bundles and their files.

pub use plumbline_core::{Digest, DigestError, DigestWriter};
