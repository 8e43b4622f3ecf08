//! The configuration of a worker, from its environment and an optional file, validated once.

mod checked;
mod error;
mod key;
mod raw;

pub use checked::{DEFAULT_DONE_FILE_DELAY, DEFAULT_PROGRESS_PORT, DEFAULT_RESULTS_DIR, Mode, WorkerConfig};
pub use error::{ConfigError, Problem};
pub use key::Key;
pub use raw::MAX_CONFIG_BYTES;
