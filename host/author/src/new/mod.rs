//! Creates a new project from a template.

mod create;
mod names;

pub use create::{NewProject, new_project};
pub use names::check_name;
