//! Turns what is seen in the cluster into explicit results.
//!
//! ```text
//! watches of pods, nodes ──▶ views ──▶ index (troubles, graces) ──▶ verdict ──▶ look again ──▶ evidence ──▶ Report::Failed
//!                                                                                                     └──▶ podlogs/
//! ```
//!
//! What a pod or a node says is read by `pod_view` and `node_view`, judged by `assess`, and waited for by `index`: plain functions and data, without
//! a clock of their own. `work` is the one task that owns the index; it learns by watching and asks the API server only when a
//! grace period is over: whether the trouble is still there, and what helps to understand it.

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
pub use options::{Graces, MonitorOptions, Watched};
