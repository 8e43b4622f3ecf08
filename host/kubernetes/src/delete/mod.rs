//! Deletes a run from a cluster: everything that belongs to it, and nothing else.
//!
//! [`plan`] lists the objects, so that the user can see them first. [`remove`] deletes each one by
//! name and UID. [`wait`] optionally waits until they are gone, and reports what blocks the
//! deletion.

mod kinds;
mod plan;
mod remove;

pub(crate) use plan::find_object_of_run;
pub use plan::{DeleteOptions, Object, Plan, plan};
pub use remove::{Blocker, Removed, remove, wait};
