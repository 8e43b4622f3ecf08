//! Deletes a run from a cluster: everything that belongs to it, and nothing else.
//!
//! [`plan`] lists the objects, with pure rules in `belonging`, so that the user can see them first.
//! [`remove`] deletes each one by name and UID. [`wait`] optionally waits until they are gone, and
//! reports what blocks the deletion.

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
