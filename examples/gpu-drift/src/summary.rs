//! The role `summarizer`: the facts in which nodes differ.
//!
//! The value of a fact is that of all devices of a node together. So it does not depend on their
//! PCI addresses, and each fact that differs is one item.

use std::collections::BTreeMap;

use plumbline_drift_common::{Tally, emit};
use plumbline_sdk::{Entry, Item, Output, PluginInfo, Results, Status, Summarizer};

use crate::{COUNT, GpuDrift, Options};

/// The result set of a plugin that runs once.
const GLOBAL: &str = "global";
/// The NUMA node of a device. How many devices each one has is compared as well.
const NUMA_NODE: &str = "numa-node";
/// The facts of devices that are compared. The speed of a link depends on its load.
const COMPARED: [&str; 7] = ["class", "vendor", "device", NUMA_NODE, "driver", "driver-version", "link-width"];
/// Maximum number of nodes to list that are not compared.
const MAX_LISTED: usize = 20;

impl Summarizer for GpuDrift {
    fn summarize(plugin: &PluginInfo, results: Results, out: &mut Output) -> Result<(), String> {
        let Options { drift, .. } = plugin.options()?;
        let mut nodes: BTreeMap<String, Node> = BTreeMap::new();
        for entry in results {
            let Entry { set, item } = entry?;
            // There is nothing to compare a single machine with.
            if set != GLOBAL && item.depth == 0 {
                nodes.entry(set).or_default().see(&item);
            }
        }
        let (mut tally, mut incomplete) = (Tally::default(), Vec::new());
        for (name, node) in &nodes {
            if node.is_incomplete {
                incomplete.push(name.as_str());
            } else {
                node.tell(name, &mut tally);
            }
        }
        if tally.count() > 0 {
            emit(&tally, drift, out);
        }
        if !incomplete.is_empty() {
            out.emit(not_compared(&incomplete));
        }
        Ok(())
    }
}

/// What is known of a node.
#[derive(Default)]
struct Node {
    devices: u64,
    /// By fact, the number of devices with each value.
    facts: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// Whether a device could not be read, or the result is missing. A comparison with what was
    /// read would show differences that do not exist.
    is_incomplete: bool,
}

impl Node {
    fn see(&mut self, item: &Item) {
        let fact = |name: &str| item.meta.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let is_device = fact("vendor").is_some();
        // All other items are those of the host: for a result that is missing, or has an error.
        self.is_incomplete |= item.status == Some(Status::Unknown) || !(is_device || item.name == COUNT);
        if is_device {
            self.devices += 1;
            for name in COMPARED {
                let value = fact(name).unwrap_or("none").to_owned();
                *self.facts.entry(name).or_default().entry(value).or_default() += 1;
            }
        }
    }

    fn tell(&self, name: &str, tally: &mut Tally) {
        tally.node(name);
        tally.add(COUNT.to_owned(), self.devices.to_string());
        for (fact, values) in &self.facts {
            let value = |(value, count): (&String, &u64)| match *fact {
                NUMA_NODE => format!("{count} × {value}"),
                _ => value.clone(),
            };
            tally.add((*fact).to_owned(), values.iter().map(value).collect::<Vec<_>>().join(", "));
        }
    }
}

fn not_compared(nodes: &[&str]) -> Item {
    let listed: Vec<&str> = nodes.iter().take(MAX_LISTED).copied().collect();
    let more = match nodes.len() - listed.len() {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    let count = if nodes.len() == 1 { "1 node".to_owned() } else { format!("{} nodes", nodes.len()) };
    let text = format!("{count} without all facts: {}{more}", listed.join(", "));
    Item::new(0, "not compared").status(Status::Skipped).text("skipped", text)
}
