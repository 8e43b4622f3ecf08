//! Records what the cluster goes through during a run: `meta/timeline.jsonl` (docs/timeline.md).
//!
//! ```text
//! watches of pods, nodes ──▶ nodes, pods ──┐
//! watch of warnings ───────▶ events ───────┼──▶ pending (merges what repeats) ──▶ file (appends, within limits)
//! requests of the client ──▶ traffic ──────┘
//! ```
//!
//! `nodes`, `pods`, `events` and `pending` are pure functions and data. `recorder` is the only task.
//! Nothing waits for it, and an error of it never changes the run.

mod events;
mod file;
mod nodes;
mod pending;
mod pods;
mod recorder;

pub(crate) use nodes::Before;
pub(crate) use recorder::{Observer, Recorder};
