//! Expectations with one node per zone.
//!
//! The label `topology.kubernetes.io/zone` of a node is its zone. From each zone, the module
//! expects the lexically smallest node on which the plugin's pod can run now. Such a node is ready
//! and not cordoned, matches the `nodeSelector` of the `podSpec`, and has no taint that the pod
//! does not tolerate. Without a `podSpec`, the driver's default applies, which tolerates every
//! taint. Affinity is ignored.
//!
//! # Options
//!
//! | option | default | |
//! |---|---|---|
//! | `label` | `topology.kubernetes.io/zone` | the label for zones: another one spreads over racks, pools or architectures |
//! | `unready` | `error` | what to do if a zone has no suitable node: `error` (the run does not start) or `skip` (the zone is left out) |
//!
//! Nodes without the label do not belong to any zone. If no node has it, the module returns an
//! error, because there would be no expected result.
#![forbid(unsafe_code)]

mod pod;
mod zones;

use plumbline_sdk::{Expectations, Expected, Node, PluginInfo, log};
use serde::Deserialize;
use serde_json::Value;

pub use pod::Pod;
pub use zones::{Zone, zones};

/// The label that cloud providers and installers set.
pub const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// The expectations. The documentation of the crate describes the rules.
#[derive(Debug, Clone, Copy)]
pub struct ZoneSpread;

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    label: String,
    unready: Unready,
}

/// What to do with a zone without a suitable node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Unready {
    Error,
    Skip,
}

impl Default for Options {
    fn default() -> Self {
        Self { label: ZONE_LABEL.to_owned(), unready: Unready::Error }
    }
}

impl Expectations for ZoneSpread {
    fn expected_results(
        plugin: &PluginInfo,
        pod_spec: Option<&Value>,
        nodes: &[Node],
    ) -> Result<Vec<Expected>, String> {
        let options: Options = plugin.options()?;
        let pod = pod_spec.map(Pod::read).transpose()?;
        let zones = zones(nodes, &options.label, pod.as_ref());
        if zones.is_empty() {
            return Err(format!(
                "no node has the label `{}`, so the cluster has no zones: set the label, or choose another one with the option `label`",
                options.label
            ));
        }
        let mut expected = Vec::new();
        for (name, zone) in zones {
            match (zone.chosen, options.unready) {
                (Some(node), _) => expected.push(Expected::Node(node.to_owned())),
                (None, Unready::Error) => {
                    return Err(format!("zone `{name}` has no node that can answer: {}", zone.reasons.join(", ")));
                }
                (None, Unready::Skip) => {
                    log::warning!("zone `{name}` is left out: {}", zone.reasons.join(", "));
                }
            }
        }
        if expected.is_empty() {
            return Err("no zone has a node that can answer".to_owned());
        }
        Ok(expected)
    }
}

plumbline_sdk::module! {
    name: "zone-spread",
    formats: [],
    default_files: [],
    schema: {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "label": { "type": "string", "minLength": 1, "description": "The label that makes a zone." },
            "unready": { "enum": ["error", "skip"], "description": "What becomes of a zone in which no node can answer." }
        },
        "additionalProperties": false
    },
    expectations: ZoneSpread,
}
