//! The sandbox with real components: those that misbehave, those that ask for too much, and those that are none.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail like the tests themselves")]

mod cache;
mod componentize;
mod expectations;
mod generations;
mod handmade;
mod judge;
mod load;
mod misbehave;
mod neighbours;
mod precompiled;
mod summarizer;
mod support;
mod wasi;
