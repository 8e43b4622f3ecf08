//! gzip (RFC 1952): writing on several threads, reading of untrusted streams, and digests.

mod read;
mod write;

pub(crate) use read::count_trailing;
pub use read::{Gunzip, GzipFault, is_archive};
pub use write::{DEFAULT_LEVEL, Digest, ParallelGzip, default_threads};
