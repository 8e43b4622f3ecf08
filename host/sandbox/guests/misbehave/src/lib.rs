//! A module that breaks one rule of the sandbox at a time, selected by the option `behaviour`. The
//! tests of the sandbox run all of them.
#![forbid(unsafe_code)]

#[cfg(target_arch = "wasm32")]
mod attempts;
mod behaviour;
mod check;
mod expectations;
mod judge;
mod post_processor;
mod summarizer;

pub use behaviour::Behaviour;

/// Implements every role, with errors.
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
    check: Misbehave,
}
