//! The status of a fact that differs between nodes.

use plumbline_sdk::Status;
use serde::Deserialize;

/// The status of a finding that people should look at, but that fails nothing.
pub const WARNING: &str = "warning";

/// The status of a fact that differs between nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriftStatus {
    /// The status `warning`: people see it, and the run passes.
    #[default]
    Warn,
    /// The status `failed`: the run fails.
    Fail,
}

impl DriftStatus {
    pub(crate) fn status(self) -> Status {
        match self {
            Self::Warn => Status::Custom(WARNING.to_owned()),
            Self::Fail => Status::Failed,
        }
    }

    /// Returns the detail under which the reason is stored.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Warn => WARNING,
            Self::Fail => "failure",
        }
    }
}
