//! A module that breaks the rules of the sandbox, one at a time, as the option `behaviour` says. The sandbox's tests run every one.
#![forbid(unsafe_code)]

mod behaviour;
mod expectations;
mod judge;
mod post_processor;
mod summarizer;

pub use behaviour::Behaviour;

/// Plays every role, badly.
#[derive(Debug, Clone, Copy)]
pub struct Misbehave;

plumbline_sdk::module! {
    name: "misbehave",
    formats: [],
    default_files: [],
    post_processor: Misbehave,
    expectations: Misbehave,
    summarizer: Misbehave,
    judge: Misbehave,
}
