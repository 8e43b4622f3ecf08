//! The cluster timeline of an archive, and its relations to failures (docs/timeline.md).
//!
//! ```text
//! meta/timeline.jsonl ─▶ read ─▶ spans ─▶ relate ◀─ failed leaves of a tree
//!                                            └─▶ sentence ─▶ reports
//! ```
//!
//! The file is untrusted: everything is bounded, and texts are printable.

mod read;
mod relate;
mod sentence;
mod spans;

pub(crate) use read::read;
pub(crate) use relate::Relating;
pub use relate::Relation;
pub use spans::{Span, Timeline};
