//! See the crate's page.

mod retry;

pub use retry::{MAX_RETRIES, RetryError, add_retries};
