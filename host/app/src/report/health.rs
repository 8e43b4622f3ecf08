//! The pseudo-plugin `sonobuoy`: health of the cluster at the time of the run
//! (`meta/clusterhealth.json`).

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::text::name;

/// The health of the cluster in an archive.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    node_health: Group,
    // The keys in archives are about `nodes` for pods too.
    pod_health: Group,
    api_version: String,
    /// The number of lines with errors, by class of error and file.
    error_summary: BTreeMap<String, BTreeMap<String, u64>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Group {
    total_nodes: u64,
    healthy_nodes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Thing>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Thing {
    name: String,
    healthy: bool,
    ready: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
}

impl Health {
    /// Prints the health as text.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn report(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "Run Details:")?;
        writeln!(out, "API Server version: {}", name(&self.api_version))?;
        let nodes = &self.node_health;
        count("Node health", nodes, out)?;
        if unhealthy("Details for failed nodes:", nodes, out)? {
            writeln!(out)?;
        }
        let pods = &self.pod_health;
        if !pods.details.is_empty() {
            count("Pods health", pods, out)?;
            unhealthy("Details for failed pods:", pods, out)?;
        }
        if !self.error_summary.is_empty() {
            writeln!(out, "Errors detected in files:")?;
            for (class, files) in &self.error_summary {
                counts(class, files, out)?;
            }
        }
        Ok(())
    }
}

fn count(title: &str, group: &Group, out: &mut impl Write) -> io::Result<()> {
    let (healthy, total) = (group.healthy_nodes, group.total_nodes);
    let percent =
        healthy.saturating_mul(100).checked_div(total).map(|percent| format!(" ({percent}%)")).unwrap_or_default();
    writeln!(out, "{title}: {healthy}/{total}{percent}")
}

/// Lists unhealthy nodes or pods. Returns whether there are any.
fn unhealthy(title: &str, group: &Group, out: &mut impl Write) -> io::Result<bool> {
    if group.details.is_empty() || group.healthy_nodes >= group.total_nodes {
        return Ok(false);
    }
    writeln!(out, "{title}")?;
    let mut things: Vec<&Thing> = group.details.iter().filter(|thing| !thing.healthy).collect();
    things.sort_by_key(|thing| (&thing.namespace, &thing.name));
    for thing in things {
        let slash = if thing.namespace.is_empty() { "" } else { "/" };
        writeln!(
            out,
            "{}{slash}{} Ready:{}: {}: {}",
            name(&thing.namespace),
            name(&thing.name),
            name(&thing.ready),
            name(&thing.reason),
            name(&thing.message)
        )?;
    }
    Ok(true)
}

fn counts(title: &str, counts: &BTreeMap<String, u64>, out: &mut impl Write) -> io::Result<()> {
    if counts.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}:", name(title))?;
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|&(file, n)| (std::cmp::Reverse(*n), file));
    let width = sorted.first().map_or(0, |(_, n)| n.to_string().len());
    for (file, n) in sorted {
        writeln!(out, "{n:>width$} {}", name(file))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unhealthy_nodes_and_noisy_files_are_listed() {
        let health: Health = serde_json::from_value(serde_json::json!({
            "node_health": {"total_nodes": 3, "healthy_nodes": 2, "details": [
                {"name": "n1", "healthy": false, "ready": "False", "reason": "KubeletNotReady", "message": "down"},
                {"name": "n2", "healthy": true}]},
            "pod_health": {"total_nodes": 0, "healthy_nodes": 0},
            "api_version": "v1.20.0",
            "error_summary": {"Errors": {"a.txt": 2, "b.txt": 22}, "Panics": {}}
        }))
        .unwrap();
        let mut out = Vec::new();
        health.report(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "Run Details:\nAPI Server version: v1.20.0\nNode health: 2/3 (66%)\nDetails for failed nodes:\n\
             n1 Ready:False: KubeletNotReady: down\n\nErrors detected in files:\nErrors:\n22 b.txt\n 2 a.txt\n"
        );
    }
}
