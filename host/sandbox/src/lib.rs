//! Runs modules: WebAssembly components that process results. The crate contains the engine, its
//! limits, the compile cache on disk, and the host's side of the WIT package `plumbline:plugin`.
//!
//! * [`inspect`] reads the metadata of a component without compiling or running it.
//! * [`Sandbox::load`] checks, compiles (or loads from the cache) and links a component. The
//!   resulting [`Module`] can be called from any number of threads.
//! * Each call gets a new store and instance, sees nothing but its arguments, and ends within its
//!   [`ModuleLimits`](plumbline_core::ModuleLimits). An error is a [`ModuleFailure`] that names the
//!   module and the limit or rule. Other calls are not affected.
//!
//! All functions block, so call them from threads that may block.
//!
//! ```no_run
//! use plumbline_sandbox::{NoLog, PluginInfo, PostProcess, Sandbox, SandboxConfig};
//!
//! # fn demo(wasm: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
//! let sandbox = Sandbox::new(SandboxConfig::default())?;
//! let module = sandbox.load("junit", wasm)?;
//! let plugin = PluginInfo { name: "e2e".into(), driver: "Job".into(), format: "junit".into(), ..PluginInfo::default() };
//! let mut items = Vec::new();
//! let call = PostProcess { plugin: &plugin, files: Vec::new(), limits: &Default::default() };
//! module.post_process(call, &mut items, &mut NoLog)?;
//! # Ok(())
//! # }
//! ```
#![deny(unsafe_code)]

mod cache;
mod call;
mod code;
mod compiler;
pub mod componentize;
mod config;
mod engine;
mod error;
mod failure;
mod generation;
mod inspect;
mod items_file;
#[cfg(test)]
mod messages;
mod module;
mod options;
mod private_dir;
mod sandbox;
mod slots;
mod ticker;
mod wasi;

pub use call::io::{
    CallStats, CheckProgress, CheckSink, ClusterReader, Entry, Expect, InputFile, ItemSink, Judge, LogLevel, LogSink,
    NoLog, ObjectPage, ObjectQuery, OpenFile, PluginInfo, PostProcess, ResultSource, RulingSink, RunCheck, Summarize,
    TreeItem, TreeSource,
};
pub use call::network::{
    Connection, ConnectionAttempts, Network, NetworkFailure, RequestLimits, Trust, WebRequest, WebResponse,
};
pub use compiler::compile_stdin;
pub use config::{CompilerProcess, SandboxConfig};
pub use engine::code_target;
pub use error::{InspectError, LoadError, SandboxError};
pub use failure::{ModuleFailure, Unit};
pub use generation::HOST_GENERATION;
pub use inspect::{
    DETECT_BYTES, DetectRule, METADATA_SECTION, ModuleInfo, Roles, file_pattern, inspect, refused_imports,
};
pub use items_file::{CheckFailure, ITEMS_FILE, ItemsFile};
pub use module::Module;
pub use options::{OptionProblem, OptionsChecked, check_options};
pub use plumbline_core::definition::LimitsRequest;
pub use sandbox::{Accepted, Sandbox, Stats};
pub use wasi::{Attributes, Directory};
