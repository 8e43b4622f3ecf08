//! The health of a cluster, as a survey writes it.

use plumbline_sdk::InputFile;
use plumbline_sdk::text::shortened;
use serde::Deserialize;

use crate::check::Group;
use crate::evaluate::{Amount, Found};
use crate::files::{HEALTH, read_json};

/// Maximum number of unhealthy objects to list.
const NAMED: usize = 5;

/// The health of nodes and pods.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Health {
    node_health: Of,
    pod_health: Of,
    incomplete: Incomplete,
}

/// Why not all objects are counted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Incomplete {
    nodes: Vec<String>,
    pods: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Of {
    #[serde(rename = "total_nodes")]
    total: u64,
    #[serde(rename = "healthy_nodes")]
    healthy: u64,
    details: Option<Vec<One>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct One {
    name: String,
    namespace: String,
    healthy: bool,
    reason: String,
}

impl Health {
    /// Reads the file. The error says why the health is unknown.
    pub(crate) fn read(file: Option<InputFile>) -> Result<Self, String> {
        let mut file = file
            .ok_or_else(|| format!("`{HEALTH}` not found: runs in a cluster write it, and `evidence` must list it"))?;
        read_json(&mut file)
    }

    /// Returns how many objects are healthy, or how many are not.
    pub(crate) fn of(&self, group: Group, healthy: bool) -> Result<Found, String> {
        let (of, incomplete) = match group {
            Group::Nodes => (&self.node_health, &self.incomplete.nodes),
            Group::Pods => (&self.pod_health, &self.incomplete.pods),
        };
        let name = group.name();
        if let Some(why) = incomplete.first() {
            return Err(format!("`{HEALTH}` does not list all {name}: {why}"));
        }
        match of.total.checked_sub(of.healthy) {
            None => Err(format!("`{HEALTH}` counts {} healthy {name} among {}", of.healthy, of.total)),
            Some(_) if of.total == 0 => Err(format!("`{HEALTH}` lists no {name}: they were not queried")),
            Some(bad) => {
                let part = if healthy { of.healthy } else { bad };
                Ok(Found { amount: Amount::Part { part, all: of.total }, note: of.bad(), gap: None })
            }
        }
    }
}

impl Of {
    /// Returns the names of the unhealthy objects.
    fn bad(&self) -> String {
        let mut bad = self.details.iter().flatten().filter(|one| !one.healthy);
        let named: Vec<String> = bad.by_ref().take(NAMED).map(One::show).collect();
        let more = bad.count();
        let rest = if more > 0 { format!(", {more} more") } else { String::new() };
        if named.is_empty() { String::new() } else { format!("not healthy: {}{rest}", named.join(", ")) }
    }
}

impl One {
    fn show(&self) -> String {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        let name = shortened(&format!("{}{slash}{}", self.namespace, self.name), 200);
        if self.reason.is_empty() { name } else { format!("{name} ({})", shortened(&self.reason, 200)) }
    }
}
