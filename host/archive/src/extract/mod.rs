//! Unpacking of uploads.

mod error;
mod limits;
mod sink;
mod unpack;

pub use error::{Blame, ExtractError, MemberError};
pub use limits::{ExtractLimits, MAX_SKIPPED_LISTED};
pub(crate) use sink::Sink;
pub use unpack::{Extracted, Skipped, extract_tar_gz};
