//! The use cases of Plumbline, with typed results.
//!
//! The command line is one caller: it parses arguments, calls a use case, and prints the result.
//! Another program can do the same. Nothing here reads arguments, prints to the terminal or ends
//! the process.
//!
//! * [`Context`]: what every use case gets from its caller: settings of registries, and a
//!   [`Reporter`] for warnings and progress.
//! * [`AppError`]: the error of every use case. Its texts say what failed, on what, why, and what the
//!   user can do; nothing else in it distinguishes errors but whose fault they are.
//! * [`sources`], [`signing`], [`bundles`]: turns references to plugins into definitions and
//!   bundles, checks their signatures, and distributes them.
//! * [`local_run`], [`cluster_run`], [`manifest`], [`suite`]: runs on this machine and in a cluster,
//!   and the conformance suite in a run.
//! * [`local`]: the dispatcher that runs plugins as processes on this machine.
//! * [`profiles`]: profiles of other suites: lists them, and applies them to a run.
//! * [`aggregator`], [`process`], [`run_check`]: roles of the program in a run.
//! * [`results`], [`trees`], [`judges`], [`causes`], [`difference`], [`history`]: reads, judges, groups
//!   and compares the results of runs, and follows tests over many runs.
//! * [`timeline`]: relates failures to what the cluster went through.
//! * [`attest`]: signs, verifies, pushes and pulls statements about the results of runs.
//! * [`report`]: renders results as text, Markdown, HTML, JSON, YAML, and in formats of other tools.
//! * [`mcp`]: answers questions about archives over the Model Context Protocol.
//! * [`options`]: options of runs, clusters and registries, which several use cases share.
//! * [`images`], [`submission`]: the images of a run, and submissions of conformance results.
//! * [`doctor`], [`cache`]: what this machine and the cluster offer, and what is cached here.
//!
//! ```no_run
//! use plumbline_app::context::Silent;
//! use plumbline_app::report::Format;
//! use plumbline_app::results::{Rendered, ResultsOptions, ShownResults, show};
//! use plumbline_app::{AppError, Context};
//!
//! fn main() -> Result<(), AppError> {
//!     let options = ResultsOptions { inputs: vec!["run.tar.gz".into()], ..ResultsOptions::default() };
//!     let (mut seen, mut out) = (ShownResults::default(), Vec::new());
//!     Rendered::print(&Format::Junit, &mut out, |view| {
//!         show(&Context::new(Silent), &options, &mut seen, view)?;
//!         Ok(seen.verdict())
//!     })
//! }
//! ```
#![forbid(unsafe_code)]

pub mod aggregator;
pub mod attest;
pub mod bundles;
pub mod cache;
pub mod causes;
pub mod cluster_run;
pub mod context;
pub mod difference;
pub mod doctor;
pub mod earlier;
mod error;
mod files;
pub mod history;
pub mod images;
pub mod judges;
pub mod local;
pub mod local_run;
pub mod local_runs;
pub mod manifest;
pub mod mcp;
pub mod modules;
pub mod options;
pub mod process;
pub mod profiles;
pub mod report;
pub mod reruns;
pub mod results;
pub mod run_check;
pub mod runtime;
pub mod signing;
pub mod sources;
pub mod submission;
pub mod suite;
pub mod telemetry;
pub mod timeline;
pub mod trees;

pub use context::{Context, Reporter};
pub use error::{AppError, ErrorKind, Explain};
