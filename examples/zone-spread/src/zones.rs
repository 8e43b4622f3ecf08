//! Nodes by zone, and which one of each is named.

use std::collections::BTreeMap;

use plumbline_sdk::Node;

use crate::pod::Pod;

/// Reasons that are told of one zone. A zone may have a thousand nodes, which usually have the same fault.
const MAX_REASONS: usize = 5;

/// What was found out of a zone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Zone<'a> {
    /// The node that must answer; `None` where none can.
    pub chosen: Option<&'a str>,
    /// Why nodes were passed over, such as `node a is not ready`: the first few, in the order of their names.
    pub reasons: Vec<String>,
}

/// The zones that the nodes' `label` makes, by name. Without `pod` every taint is tolerated.
#[must_use]
pub fn zones<'a>(nodes: &'a [Node], label: &str, pod: Option<&Pod>) -> BTreeMap<&'a str, Zone<'a>> {
    // Whatever the order in which the cluster lists them, the same nodes are named.
    let mut sorted: Vec<&Node> = nodes.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let mut zones: BTreeMap<&str, Zone> = BTreeMap::new();
    let mut passed_over: BTreeMap<&str, usize> = BTreeMap::new();
    for node in sorted {
        let Some(name) = node.labels.get(label).map(String::as_str).filter(|name| !name.is_empty()) else { continue };
        let zone = zones.entry(name).or_default();
        match obstacle(node, pod) {
            None => zone.chosen = zone.chosen.or(Some(&node.name)),
            Some(reason) => {
                let count = passed_over.entry(name).or_default();
                *count += 1;
                if *count <= MAX_REASONS {
                    zone.reasons.push(format!("node `{}` {reason}", node.name));
                }
            }
        }
    }
    for (name, count) in passed_over {
        if let (Some(zone), Some(more @ 1..)) = (zones.get_mut(name), count.checked_sub(MAX_REASONS)) {
            zone.reasons.push(format!("and {more} more"));
        }
    }
    zones
}

/// Why the plugin's pod cannot answer from the node.
fn obstacle(node: &Node, pod: Option<&Pod>) -> Option<String> {
    if !node.ready {
        return Some("is not ready".to_owned());
    }
    if node.unschedulable {
        return Some("is cordoned".to_owned());
    }
    pod.and_then(|pod| pod.obstacle(node))
}
