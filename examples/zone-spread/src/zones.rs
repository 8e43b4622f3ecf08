//! Groups nodes by zone, and selects one of each zone.

use std::collections::BTreeMap;

use plumbline_sdk::Node;

use crate::pod::Pod;

/// Maximum number of reasons for one zone. A zone may have a thousand nodes, usually with the same
/// problem.
const MAX_REASONS: usize = 5;

/// The result for one zone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Zone<'a> {
    /// The expected node; `None` if there is no suitable one.
    pub chosen: Option<&'a str>,
    /// Why nodes were not chosen, such as `node a is not ready`: the first few, in the order of
    /// their names.
    pub reasons: Vec<String>,
}

/// Returns the zones by name, according to the nodes' `label`. Without `pod`, every taint is
/// tolerated.
#[must_use]
pub fn zones<'a>(nodes: &'a [Node], label: &str, pod: Option<&Pod>) -> BTreeMap<&'a str, Zone<'a>> {
    // Sort the nodes, so that the choice does not depend on the order in which the cluster lists
    // them.
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

/// Returns why the plugin's pod cannot run on the node; `None` if it can.
fn obstacle(node: &Node, pod: Option<&Pod>) -> Option<String> {
    if !node.ready {
        return Some("is not ready".to_owned());
    }
    if node.unschedulable {
        return Some("is cordoned".to_owned());
    }
    pod.and_then(|pod| pod.obstacle(node))
}
