//! Regular expressions in the syntax of Go's package `regexp`, which is that of RE2.

mod class;
mod cursor;
mod error;
mod escape;
mod flags;
mod go_regex;
mod parser;
mod property;
mod repeat;

pub use error::GoRegexError;
pub use go_regex::{GoRegex, MAX_PATTERN, MAX_PROGRAM};
