//! The aggregator: one run from its plugins to its archive.
//!
//! ```text
//! Source ─▶ plan ─▶ Dispatcher ─▶ Server ─▶ State (ledger + journal) ─▶ post_process ─▶ archive ─▶ Finished
//! ```
//!
//! * [`Run::begin`] plans a run in a [`WorkDir`], or resumes the one that was started there.
//!   [`Run::execute`] runs it to its end.
//! * The ledger (in `plumbline-core`) is the single owner of which results are expected and which
//!   have arrived. [`State`] applies events to it one at a time, writes them to the journal in that
//!   order, and sends its effects to the run loop.
//! * A [`Dispatcher`] runs the plugins. This crate depends on neither Kubernetes nor processes.
//! * Modules in the sandbox interpret the results and decide which are expected. This crate does
//!   not know any result format.
#![forbid(unsafe_code)]

pub mod bucket;
mod causes;
pub mod deliver;
mod dispatcher;
mod hang;
pub mod journal;
mod judging;
#[cfg(test)]
mod messages;
mod metrics;
mod modules;
mod plan;
mod postprocess;
mod reserve;
mod run;
mod runlog;
mod server;
mod source;
mod spans;
mod state;
mod workdir;

pub use causes::{CauseError, CauseFinder, CauseGroup, failed_leaf};
pub use dispatcher::{
    BoxFuture, CheckCompiler, CheckLaunch, CompiledCheck, Completed, DispatchError, Dispatcher, Exit, ExitKind, Launch,
    Report, Unsent, Vault, WorkerAccess, WorkerContact,
};
pub use judging::{
    JudgeError, Judged, MAX_EVIDENCE_FILES, PlannedJudge, evidence_patterns, judge_plugin, keep_tree, plan_judges,
    result_sets,
};
pub use modules::{Compiler, Job, LazyModule, ModuleError, Modules};
pub use plan::{PlannedCheck, PlannedPlugin, Provenance, prepare};
pub use postprocess::{
    Detected, Detections, ERROR_FILE, EXIT_FILE, Failure, LeanLimits, LeanTree, MAX_FAILURES, ModuleInput, NodeOutcome,
    Outcome, PostProcessError, RunLog, Subject, TREE_FILE, Usage, module_inputs, post_process, read_items, read_lean,
};
pub use run::{
    ArchivedRun, Finished, OnArchived, OnDelay, PluginOutcome, Run, RunError, Settings, StartKind, StartPatience,
    TelemetrySettings,
};
pub use runlog::RunLogLayer;
pub use server::{Server, ServerError, Store};
pub use source::{LimitPolicy, PlanError, Source};
pub use state::{ApplyError, HEARTBEAT, Published, State};
pub use workdir::{PluginRecord, RunRecord, STATUS_FILE, WorkDir, WorkDirError};
