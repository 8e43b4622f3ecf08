//! Signatures from outside: what the specification publishes, what `openssl` makes, and everything that must not count.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod files;
mod openssl;
mod published;
mod reasons;
mod signed;
mod tampered;
