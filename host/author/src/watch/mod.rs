//! Watching a project: what its author changes is built and tried again at once.

mod error;
mod ignore;
mod round;
mod rounds;
pub(crate) mod snapshot;

pub use error::WatchError;
pub use round::{Built, RoundReport, try_out};
pub use rounds::{QUIET, Round, Stopper, Watch};
