//! Runs a module natively in tests. The code is the same as in the component. Files come from
//! memory or from a directory, and the items are returned as a list or a tree.
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
//! The harness enforces the host's rules for each item (depth, name, custom status, JSON), ruling
//! and check. It panics where the host would end the call, so a test cannot pass with items that a
//! real run rejects. A native run has no limits.

mod case;
mod context;
mod judge;
mod log;
mod run;

pub use case::Case;
pub use judge::Judged;
pub(crate) use log::write_log;
pub use run::{Run, Tree};
