//! Policy: which keys are trusted for which names.

mod fields;
mod model;
mod read;

pub use model::{Policy, Rule, TrustedKey, default_policy_path};
pub use read::PolicyError;
