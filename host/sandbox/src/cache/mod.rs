//! The cache of compiled code on disk. Compiling a component with a language runtime takes seconds,
//! and loading its code takes milliseconds.
//!
//! Machine code is executed without any check, so an entry is used only if all of these conditions
//! hold:
//!
//! * Its directory belongs to this user, and nobody else may write to it.
//! * The file itself belongs to this user.
//! * An engine with the same fingerprint compiled it from exactly the component to load.
//! * It still has the digest with which it was written.
//!
//! Any other entry counts as missing.

mod dir;
mod entry;
mod store;

pub(crate) use entry::{Entry, Key};
pub(crate) use store::Cache;
