//! The library behind the commands for authors of plugins: create a project from a template, build
//! its module, check and inspect a plugin, run golden tests and fuzz tests, and watch a project.
#![forbid(unsafe_code)]

pub mod build;
pub mod check;
pub mod embedded;
pub mod fuzz;
pub mod golden;
pub mod inspect;
pub mod new;
pub mod project;
pub mod watch;

pub use build::{Built, build};
pub use check::{Checked, Host, check};
pub use new::{NewProject, new_project};
pub use project::{AuthorError, ErrorKind, Language, Project, stale};
