//! The data model and the rules of a run, free of I/O: names, plugin definitions, expected results,
//! the ledger, progress, and the result tree.
//!
//! The crate has no I/O, no async code, and no dependency on WebAssembly or Kubernetes. Tests call
//! every rule directly.
#![forbid(unsafe_code)]

mod check_run;
mod cluster_object;
pub mod compact;
pub mod config;
pub mod definition;
mod digest;
pub mod duration;
pub mod failures;
pub mod item;
pub mod judgement;
pub mod ledger;
pub mod limits;
#[cfg(test)]
mod messages;
pub mod name;
pub mod progress;
mod rights;
pub mod rollup;
pub mod run_status;
pub mod schedule;
mod selector;
pub mod size;
pub mod status;
pub mod text;
pub mod timeline;
pub mod verdict;

pub use check_run::{CHECK_VARIABLE, CheckRun, CheckRunTooLarge, CompiledCode, MAX_CHECK_SECONDS};
pub use cluster_object::redacted;
pub use config::Config;
pub use definition::{Definition, Driver};
pub use digest::{Digest, DigestError, DigestWriter};
pub use failures::{FailedTest, FailedTests, TestId, reason};
pub use item::{FlatItem, Item, Meta};
pub use judgement::{Check, CheckOutcome, Ruling};
pub use ledger::Ledger;
pub use limits::{ModuleLimits, ReceiveLimits};
pub use name::{GLOBAL, NameError, Node, NodeName, PluginName, ResultKey, RunId, Taint, session_id};
pub use progress::ProgressUpdate;
pub use rights::{
    Endpoint, Host, KubernetesRight, NamePattern, NetworkError, NotGranted, Origin, Rights, RightsError, WebTarget,
    is_special,
};
pub use run_status::{MAX_HINT_BYTES, MAX_REASON_BYTES, RunFailure, RunStatus};
pub use selector::{Selector, SelectorError};
pub use status::{NOT_READ, Status};
pub use text::{chain, closest, go_quote, shell_path, shell_quote};
pub use verdict::Verdict;

/// Returns whether a field has its default, for serde's `skip_serializing_if`.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
