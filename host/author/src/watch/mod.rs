//! Watches a project, and builds and tests it after every change.

mod error;
mod rounds;
pub(crate) mod snapshot;

pub use error::WatchError;
pub use rounds::{Built, QUIET, Round, RoundReport, Stopper, Watch, try_out};
