//! The reporter's decisions, as pure functions.

#[expect(clippy::module_inception, reason = "the file is named after what it holds")]
mod machine;
mod outcome;
pub mod reasons;

pub use machine::{Event, FileLook, Machine, Next, Rules};
pub use outcome::Outcome;
