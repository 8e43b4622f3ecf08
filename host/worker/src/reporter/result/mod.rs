//! The adapter's result: the file, and what is in it.

mod read;
mod schema;

pub use read::{MAX_FILE, Mark, Read, read};
pub use schema::{AdapterResult, FormatError, parse};
