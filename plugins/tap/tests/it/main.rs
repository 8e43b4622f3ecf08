//! The module as a whole.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod broken;
mod documents;
