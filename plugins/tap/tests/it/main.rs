//! Tests of the whole module.
#![expect(clippy::panic, reason = "a test that fails panics")]

mod broken;
mod documents;
