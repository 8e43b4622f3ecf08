//! ECDSA keys over P-256, in memory and in files.

mod error;
mod files;
mod id;
mod pem;
mod private;
mod public;
mod spki;

pub use error::{KeyError, KeyFileError};
pub use files::{WrittenPair, is_open_to_others, read_private, read_public, write_pair};
pub use id::KeyId;
pub use private::PrivateKey;
pub use public::PublicKey;
