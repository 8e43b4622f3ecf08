//! Members of an untrusted tar stream: their names, kinds and contents.

mod name;
mod stream;

pub(crate) use name::is_read_alike;
pub use name::{COMPONENT_BYTES, MemberName, NameFault, NameLimits, shown};
pub use stream::{ExtractLimits, Layer, MAX_SKIPPED_LISTED, SkipReason, Skipped, StreamError};
pub(crate) use stream::{Kind, Member, each_member, skip};
