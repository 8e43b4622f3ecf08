//! The driver of a plugin.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::first_chars;

/// How a plugin runs. Parsing ignores case. The written form matches Kubernetes kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Driver {
    /// Runs once per cluster.
    Job,
    /// Runs once per node.
    DaemonSet,
    /// Runs as a process on the machine of the aggregator.
    Process,
}

impl Driver {
    /// Returns the name as written in a definition.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Job => "Job",
            Self::DaemonSet => "DaemonSet",
            Self::Process => "Process",
        }
    }

    /// Returns whether there is one result per node, with a result set for each, instead of a
    /// single one.
    #[must_use]
    pub fn is_per_node(self) -> bool {
        matches!(self, Self::DaemonSet)
    }
}

/// Error for an unknown driver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("driver `{0}` is not known: use `Job`, `DaemonSet` or `Process`")]
pub struct UnknownDriver(pub String);

impl FromStr for Driver {
    type Err = UnknownDriver;
    fn from_str(text: &str) -> Result<Self, UnknownDriver> {
        match text.to_ascii_lowercase().as_str() {
            "job" => Ok(Self::Job),
            "daemonset" => Ok(Self::DaemonSet),
            "process" => Ok(Self::Process),
            _ => Err(UnknownDriver(first_chars(text, 100).to_owned())),
        }
    }
}

crate::name::serde_text!(Driver, UnknownDriver);

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
