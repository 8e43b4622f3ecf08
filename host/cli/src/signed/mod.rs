//! Bundles that are signed: which one is meant, where its signatures are, and whose count.

mod key;
mod policy;
mod target;

pub(crate) use key::{key_error, signing_key};
pub(crate) use policy::{one_key, policy};
pub(crate) use target::Target;
