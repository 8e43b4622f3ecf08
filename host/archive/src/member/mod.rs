//! Members of an untrusted tar stream: their names, kinds and contents.

mod name;
mod stream;

pub(crate) use name::shown;
pub use name::{COMPONENT_BYTES, MemberName, NameFault, NameLimits};
pub(crate) use stream::{Kind, Member, StreamLimits, each_member};
pub use stream::{Layer, SkipKind, StreamError};
