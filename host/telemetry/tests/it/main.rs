//! Tests over real connections.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod endpoint;
mod export;
mod receiver;
