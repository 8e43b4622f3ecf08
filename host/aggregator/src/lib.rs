//! The aggregator: one run from its plugins to its archive.
//!
//! ```text
//! Source ─▶ plan ─▶ Dispatcher ─▶ Server ─▶ State (ledger + journal) ─▶ post_process ─▶ archive ─▶ Finished
//! ```
//!
//! * [`Run::begin`] plans a run in a [`WorkDir`], or goes on with the one that was begun there; [`Run::execute`] brings it to its end.
//! * The ledger (in `plumbline-core`) is the one owner of what is expected and what arrived; [`State`] applies events to it one at a
//!   time, writes them to the journal in that order, and hands its effects to the run loop.
//! * Who executes plugins is behind the trait [`Dispatcher`]: nothing here knows of Kubernetes or processes.
//! * What results mean, and which are expected, is asked of modules in the sandbox: nothing here knows a format.
#![forbid(unsafe_code)]

mod compile;
pub mod deliver;
mod dispatcher;
pub mod journal;
mod judging;
mod lazy;
mod modules;
mod plan;
mod postprocess;
mod provenance;
mod publish;
mod run;
mod runlog;
mod server;
mod source;
mod state;
mod vault;
mod workdir;

pub use compile::Job;
pub use dispatcher::{BoxFuture, DispatchError, Dispatcher, Exit, Heard, Launch, Report, Unsent, WorkerAccess};
pub use judging::{
    JudgeError, Judged, MAX_EVIDENCE_FILES, PlannedJudge, evidence_patterns, judge_measured, judge_plugin, keep_tree,
    plan_judges, result_sets,
};
pub use lazy::{LazyModule, ModuleError};
pub use modules::{Compiler, Modules};
pub use plan::{PlannedPlugin, prepare};
pub use postprocess::{
    Detected, Detections, ERROR_FILE, EXIT_FILE, Failure, LeanLimits, LeanTree, MAX_FAILURES, ModuleInput, NodeOutcome,
    Outcome, PostProcessError, Subject, TREE_FILE, Usage, module_inputs, post_process, read_lean,
};
pub use provenance::Provenance;
pub use publish::{HEARTBEAT, Published};
pub use run::{Begun, Finished, OnArchived, PluginOutcome, Run, RunError, Settings};
pub use runlog::RunLogLayer;
pub use server::{Server, ServerError, Store};
pub use source::{LimitPolicy, PlanError, Source};
pub use state::{ApplyError, State};
pub use vault::Vault;
pub use workdir::{PluginRecord, RunRecord, STATUS_FILE, WorkDir, WorkDirError};
