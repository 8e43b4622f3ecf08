//! gzip (RFC 1952): writing on several threads, reading of untrusted streams, and digests.

mod digest;
mod parallel;
mod read;

pub use digest::{Digest, Sha256Writer};
pub use parallel::{BLOCK_BYTES, DEFAULT_LEVEL, ParallelGzip, default_threads};
pub(crate) use read::count_trailing;
pub use read::{Gunzip, GzipFault, is_archive};
