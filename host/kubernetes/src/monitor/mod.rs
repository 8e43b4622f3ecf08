//! Turns observations of the cluster into explicit results.
//!
//! ```text
//! watches of pods, nodes ──▶ views ──▶ index (troubles, graces) ──▶ verdict ──▶ look again ──▶ evidence ──▶ Report::Failed
//!                                                                                                     └──▶ podlogs/
//! ```
//!
//! `pod_view` and `node_view` parse objects, `assess` determines problems, and `index` tracks grace
//! periods. These are pure functions and data, without a clock of their own.
//!
//! `work` is the only task that owns the index. It learns from watches, and sends requests to the
//! API server only when a grace period is over. Then it checks whether the problem still exists,
//! and collects evidence.

mod assess;
mod capture;
mod confirm;
mod events;
mod evidence;
mod exits;
mod handle;
mod index;
mod logs;
mod options;
#[cfg(test)]
mod samples;
mod sentence;
mod watch;
mod work;

pub use handle::Monitor;
pub use options::{GracePeriods, MonitorOptions, Watched};
