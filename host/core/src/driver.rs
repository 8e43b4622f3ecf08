//! How a plugin is executed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a plugin is executed. Read without regard to case; written as in Kubernetes kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Driver {
    /// Once per cluster.
    Job,
    /// Once per node.
    DaemonSet,
    /// A process on the machine of the aggregator.
    Process,
}

impl Driver {
    /// The name as written in a definition.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Job => "Job",
            Self::DaemonSet => "DaemonSet",
            Self::Process => "Process",
        }
    }

    /// Whether results arrive per node (each node's files are a result set of their own) rather than once.
    #[must_use]
    pub fn is_per_node(self) -> bool {
        matches!(self, Self::DaemonSet)
    }
}

/// A driver that is not known.
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
            _ => Err(UnknownDriver(text.chars().take(100).collect())),
        }
    }
}

impl TryFrom<String> for Driver {
    type Error = UnknownDriver;
    fn try_from(text: String) -> Result<Self, UnknownDriver> {
        text.parse()
    }
}

impl From<Driver> for String {
    fn from(driver: Driver) -> String {
        driver.as_str().to_owned()
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
