//! The adapter's result: the file and its content.

mod read;
mod schema;

pub use read::{MAX_FILE, Mark, Read, read};
pub use schema::{AdapterResult, FormatError, parse};
