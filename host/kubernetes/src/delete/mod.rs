//! Removing a run from a cluster: what belongs to it, and nothing else.
//!
//! First it is found out what there is ([`plan`], pure rules in `belonging`), so that a person can be shown it; then each object is
//! deleted by name and uid ([`remove`]); and then, if wanted, it is waited until they are gone ([`wait`]), telling what blocks.

mod belonging;
mod kinds;
mod model;
mod plan;
mod remove;
mod wait;

pub use model::{DeleteOptions, Object, Plan, Rbac};
pub use plan::plan;
pub use remove::{Removed, remove};
pub use wait::{Blocker, wait};
