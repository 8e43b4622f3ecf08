//! Tests of signatures: the published test vectors, interoperability with `openssl`, and everything
//! that must not count.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod files;
mod openssl;
mod published;
mod reasons;
mod results;
mod signed;
mod tampered;
