//! The module as a whole.
#![expect(clippy::panic, reason = "a test that fails panics")]

mod broken;
mod documents;
