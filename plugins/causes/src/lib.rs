//! The built-in module `causes`. It groups the failed tests of a plugin by cause: failures whose
//! messages differ only in what varies from run to run, such as times, addresses and names of pods.
//!
//! # Items
//!
//! As a summarizer, the module emits one item for each cause, the most frequent one first:
//!
//! | field | content |
//! |---|---|
//! | name | the template: the words that the messages share, with `<*>` for what varies |
//! | status | `not-read`, because a cause is not a test, and its failures already count |
//! | meta `type` | `cause` |
//! | meta `cause` | the id: 12 hexadecimal digits |
//! | meta `count` | the number of failures |
//! | meta `template` | the template |
//! | detail `items` | the numbers of the failed items in the input, from 0, as a JSON array |
//! | detail `tests` | the names of the first 20 different tests, as a JSON array |
//!
//! # How a cause is found
//!
//! The id and the template depend on one failure alone: on its message, its source location and, if
//! these say too little, its name. So they do not depend on the order of failures, or on which
//! other tests failed, and they are the same in the next run.
//!
//! 1. The message is the first text that says more than the name: the details `failure` and
//!    `error`, the metadata key `error`, the last line of the detail `output`, then the name.
//! 2. Stack traces, markers of test runners, dumps of objects and diffs are left out.
//! 3. Words that vary become `<*>`: numbers, times, addresses, paths, quoted words, and names with
//!    digits or random suffixes.
//! 4. Three informative words identify a cause. A shorter message, such as `context deadline
//!    exceeded`, needs the source file of the test, or else its class and name.
//!
//! # Limits
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | bytes of a text that are read | the first 16 KiB and the last 4 KiB | they are ignored |
//! | lines and words of a message | 12 and 48 | they are ignored |
//! | causes | 10,000 | further failures have no cause, and the log counts them |
//! | numbers of items of a cause | 1,000,000 | they are only counted |
#![forbid(unsafe_code)]

mod cause;
mod failure;
mod location;
mod mask;
mod summarizer;
mod text;

pub use cause::Cause;
pub use summarizer::{Causes, MAX_CAUSES};

plumbline_sdk::module! {
    name: "causes",
    formats: ["causes"],
    default_files: [],
    summarizer: Causes,
}
