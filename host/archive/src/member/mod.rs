//! Members of a tar stream that nobody vouches for: their names, their kinds, their bytes.

mod name;
mod stream;

pub(crate) use name::shown;
pub use name::{COMPONENT_BYTES, MemberName, NameFault, NameLimits};
pub(crate) use stream::{Kind, Member, StreamLimits, each_member};
pub use stream::{Layer, SkipKind, StreamError};
