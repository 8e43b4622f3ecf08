//! Runs a module natively: the same author's code, the files from memory or from a directory, the items back as a list or a tree.
//!
//! ```
//! use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor, Status, testing::Case};
//!
//! struct Sizes;
//! impl PostProcessor for Sizes {
//!     fn process(_plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
//!         for file in files {
//!             let status = if file.size() == 0 { Status::Failed } else { Status::Passed };
//!             out.emit(Item::new(0, file.file_name()).status(status).meta("file", file.path()));
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let run = Case::new().file("results/global/a.txt", "text").file("results/global/b.txt", "").run::<Sizes>();
//! assert_eq!(run.outcome, Ok(()));
//! assert_eq!(run.items[1].status, Some(Status::Failed));
//! ```
//!
//! The harness checks what the host checks of each item (depths, names, custom statuses, JSON), ruling and check, and panics where the host would end
//! the call, so a test cannot pass with items that a real run refuses. Limits are not enforced: a native run has none.

mod case;
mod check;
mod judge;
mod judged;
mod log;
mod run;

pub use case::Case;
pub use judged::Judged;
pub(crate) use log::write_log;
pub use run::{Run, Tree};
