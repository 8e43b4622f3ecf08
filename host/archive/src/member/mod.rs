//! Members of an untrusted tar stream: their names, kinds and contents.

mod name;
mod skipped;
mod stream;

pub(crate) use name::is_read_alike;
pub use name::{COMPONENT_BYTES, MemberName, NameFault, NameLimits, shown};
pub(crate) use skipped::skip;
pub use skipped::{MAX_SKIPPED_LISTED, SkipReason, Skipped};
pub use stream::{ExtractLimits, Layer, StreamError};
pub(crate) use stream::{Kind, Member, each_member};
