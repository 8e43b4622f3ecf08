//! Finds problems of a plugin before a run does.

mod bundle;
mod cases;
mod definition;
mod finding;
mod host;
mod modules;
mod names;
mod project;
mod run;

pub use finding::{Checked, CheckedModule, Finding, Level};
pub use host::Host;
pub use run::check;
