//! The data model and the rules of a run, free of I/O: names, plugin definitions, expected results,
//! the ledger, progress, and the result tree.
//!
//! The crate has no I/O, no async code, and no dependency on WebAssembly or Kubernetes. Tests call
//! every rule directly.
#![forbid(unsafe_code)]

pub mod chain;
mod closest;
pub mod compact;
pub mod config;
pub mod definition;
mod digest;
pub mod driver;
pub mod duration;
pub mod failures;
pub mod flat;
pub mod item;
pub mod judgement;
pub mod ledger;
pub mod limits;
pub mod name;
pub mod node;
pub mod progress;
pub mod quote;
pub mod reason;
pub mod rollup;
mod run_failure;
pub mod run_status;
pub mod session;
pub mod size;
pub mod status;
pub mod test_id;
pub mod text;
pub mod time;
mod tree;
pub mod verdict;
pub mod walk;

pub use chain::chain;
pub use closest::closest;
pub use config::Config;
pub use definition::Definition;
pub use digest::{Digest, DigestError, DigestWriter};
pub use driver::Driver;
pub use failures::{FailedTest, FailedTests};
pub use item::{FlatItem, Item, Meta};
pub use judgement::{Check, CheckOutcome, Ruling};
pub use ledger::Ledger;
pub use limits::{ModuleLimits, ReceiveLimits};
pub use name::{GLOBAL, NameError, NodeName, PluginName, ResultKey, RunId};
pub use node::{Node, Taint};
pub use progress::ProgressUpdate;
pub use quote::{go_quote, shell_path, shell_quote};
pub use reason::reason;
pub use run_failure::{MAX_HINT_BYTES, MAX_REASON_BYTES, RunFailure};
pub use run_status::RunStatus;
pub use session::session_id;
pub use status::{NOT_READ, Status};
pub use test_id::TestId;
pub use verdict::Verdict;
