//! Compiled code on disk: compiling a component of a language runtime takes seconds, loading its code milliseconds.
//!
//! Machine code is believed, not checked, by whoever runs it. So an entry is used only if it lies in a directory that belongs to this
//! user and that nobody else may write to, belongs to this user itself, was made by an engine of the same fingerprint from the
//! very component that is loaded, and still has the digest that it was written with. Everything else counts as absent.

mod dir;
mod entry;
mod store;

pub(crate) use entry::{Entry, Key};
pub(crate) use store::Cache;
