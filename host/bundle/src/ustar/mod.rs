//! The tar format of bundles: POSIX.1-1988 `ustar` with only regular files and no unnecessary
//! header fields.
//!
//! The same content always has the same bytes. The reader therefore encodes each header again and
//! compares the result. This rejects anything hidden in a header or read differently by two
//! programs, without a list of such cases.

mod header;
mod read;
mod write;

pub(crate) use header::fits;
pub(crate) use read::{ReadError, Reader};
pub(crate) use write::Writer;

/// Size of a header and unit of padding, in bytes.
pub(crate) const BLOCK: usize = 512;

/// Returns the number of zero bytes after `size` bytes of content.
fn padding(size: u64) -> usize {
    usize::try_from(size.next_multiple_of(BLOCK as u64) - size).unwrap_or(0)
}
