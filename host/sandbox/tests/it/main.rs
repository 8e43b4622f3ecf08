//! Tests of the sandbox with real components: ones that misbehave, ones with forbidden imports, and
//! invalid ones.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail like the tests themselves")]

mod cache;
mod check;
mod check_output;
mod componentize;
mod expectations;
mod generations;
mod handmade;
mod judge;
mod load;
mod misbehave;
mod neighbours;
mod network;
mod precompiled;
mod summarizer;
mod support;
mod wasi;
