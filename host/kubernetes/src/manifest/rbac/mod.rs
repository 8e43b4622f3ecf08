//! What the service account of a run may do.

mod needs;
mod objects;
mod rules;
mod why;

pub use needs::{Needs, Queries};
pub use rules::rules;
pub use why::why;

pub(super) use objects::objects;
