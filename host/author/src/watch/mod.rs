//! Watching a project: what its author changes is built and tried again at once.

mod error;
mod rounds;
pub(crate) mod snapshot;

pub use error::WatchError;
pub use rounds::{Built, QUIET, Round, RoundReport, Stopper, Watch, try_out};
