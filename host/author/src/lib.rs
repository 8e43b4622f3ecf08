//! What an author of a plugin works with: a new project from a template, its build, checks of everything that would go wrong later, golden
//! tests.
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
