//! Builds a module from its sources: the recipe of its language, then steps that are the same for
//! all languages.

mod artifact;
mod c;
mod contract;
mod finish;
mod go;
mod javascript;
mod missing;
mod own;
mod python;
mod run;
mod rust;
mod step;
mod tool;

pub use finish::Built;
pub(crate) use finish::role_names;
pub use missing::missing_tool;
pub use run::build;
