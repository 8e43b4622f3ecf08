//! Turns observations of the cluster into explicit results.
//!
//! ```text
//! watches of pods, nodes ──▶ views ──▶ index (problems, graces) ──▶ verdict ──▶ look again ──▶ evidence ──▶ Report::Failed
//!                                                                                                     └──▶ podlogs/
//! ```
//!
//! `pod_view` and `nodes` parse objects, `assess` determines problems and describes them, and
//! `index` tracks grace periods. These are pure functions and data, without a clock of their own.
//!
//! `work` is the only task that owns the index. It learns from watches. Only when a grace period is
//! over, `investigate` sends requests to the API server. It checks whether the problem still
//! exists, and collects evidence.

mod assess;
mod capture;
mod evidence;
mod exits;
mod index;
mod investigate;
mod options;
#[cfg(test)]
mod samples;
mod tracked;
mod work;

pub use options::{GracePeriods, MonitorOptions, SettledPlugin, Watched};
pub use work::Monitor;
