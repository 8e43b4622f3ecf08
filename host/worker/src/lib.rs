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
mod done_file;
mod error;
mod gather;
mod heartbeat;
#[cfg(test)]
mod messages;
mod progress;
mod relay;
pub mod reporter;
mod run;
mod shutdown;

pub use config::{
    ConfigError, DEFAULT_DONE_FILE_DELAY, DEFAULT_PROGRESS_PORT, DEFAULT_RESULTS_DIR, MAX_CONFIG_BYTES, Mode,
    WorkerConfig,
};
pub use done_file::{DONE_FILE, MAX_DONE_BYTES, Timing, wait_for_done, write_done};
pub use error::{GatherError, WorkerError, chain};
pub use gather::PACKED_NAME;
pub use heartbeat::HeartbeatPolicy;
pub use progress::{PatternError, check_log_progress};
pub use relay::{BindError, MAX_CONNECTIONS, MAX_PROGRESS_BYTES, Relay};
pub use run::{Ended, Settings, Worker, run_worker_process};
pub use shutdown::Shutdown;
