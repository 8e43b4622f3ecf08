//! Runs next to a plugin: waits for its done file, uploads its result to the aggregator, relays its
//! progress, and sends heartbeats.
//!
//! ```no_run
//! use plumbline_worker::{Mode, WorkerConfig, run_worker_process};
//!
//! # async fn worker() -> Result<(), Box<dyn std::error::Error>> {
//! let mode = Mode::SingleNode { sleep: -1 };
//! let config = WorkerConfig::load(mode, None)?;
//! run_worker_process(config, mode, None::<std::future::Ready<()>>).await?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Worker`] is a worker with its [`WorkerConfig`] and [`Settings`]. [`Shutdown`] asks it to end,
//! and [`Relay`] receives progress updates. The module [`reporter`] is a sidecar for Jobs that have
//! no worker.
//!
//! A worker waits for hours next to every pod of every plugin, so it must be small. It uses one
//! thread, streams everything that can be streamed, and needs less than 2 MiB of its own memory
//! while it waits (docs/benchmarks.md).
#![forbid(unsafe_code)]

mod config;
mod content_type;
mod done;
mod error;
mod gather;
mod heartbeat;
mod jitter;
mod pack;
mod progress;
mod relay;
pub mod reporter;
mod run;
mod shutdown;

pub use config::{
    ConfigError, DEFAULT_DONE_FILE_DELAY, DEFAULT_PROGRESS_PORT, DEFAULT_RESULTS_DIR, Key, MAX_CONFIG_BYTES, Mode,
    Problem, WorkerConfig,
};
pub use content_type::content_type;
pub use done::{
    DONE_FILE, DoneError, KNOWN_RESULTS_DIRS, Kind, LocateError, Located, MAX_DONE_BYTES, Timing, locate,
    wait_for_done, write_done,
};
pub use error::{WorkerError, chain};
pub use gather::GatherError;
pub use heartbeat::HeartbeatPolicy;
pub use pack::{PACKED_NAME, PackError};
pub use progress::{PatternError, check_log_progress};
pub use relay::{BindError, MAX_CONNECTIONS, MAX_PROGRESS_BYTES, Relay};
pub use run::{Ended, Settings, Worker, run_worker, run_worker_process};
pub use shutdown::Shutdown;
