//! Tests over real connections.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod endpoint;
mod export;
mod receiver;
