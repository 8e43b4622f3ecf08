//! The library behind the commands for authors of plugins: create a project from a template, build
//! its module, check and inspect a plugin, run golden tests and fuzz tests, and watch a project.
#![forbid(unsafe_code)]

pub mod build;
pub mod check;
mod error;
pub mod fuzz;
pub mod golden;
pub mod inspect;
mod language;
mod manifest;
mod new;
pub mod project;
mod snapshot;
pub mod watch;

pub use build::{Built, build};
pub use check::{Checked, Host, check};
pub use error::{AuthorError, ErrorKind};
pub use language::Language;
pub use new::{NewProject, new_profile, new_project, template_languages};
pub use project::{Project, stale};
