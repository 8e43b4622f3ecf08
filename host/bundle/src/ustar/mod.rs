//! The one form of tar that a bundle has: POSIX.1-1988 `ustar`, files only, nothing in a header that is not needed.
//!
//! One content has one sequence of bytes. What reads it therefore writes each header again and compares: whatever a foreign program could
//! hide in a header, or two programs could read differently, is refused without having to be thought of.

mod header;
mod read;
mod write;

pub(crate) use header::fits;
pub(crate) use read::{ReadError, Reader};
pub(crate) use write::Writer;

/// Bytes of a header, and of what everything is padded to.
pub(crate) const BLOCK: usize = 512;

/// The number of zeros behind `size` bytes of content.
fn padding(size: u64) -> usize {
    usize::try_from(size.next_multiple_of(BLOCK as u64) - size).unwrap_or(0)
}
