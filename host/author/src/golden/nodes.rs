//! Reads `nodes.yaml`, the nodes of a case.

use std::collections::BTreeMap;

use plumbline_core::{Node, NodeName, Taint};
use serde::Deserialize;

/// A node of a case. The defaults are those of most nodes: ready, schedulable, Linux on amd64.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: NodeName,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    taints: Vec<Taint>,
    #[serde(default = "yes")]
    ready: bool,
    #[serde(default)]
    unschedulable: bool,
    #[serde(default = "linux")]
    os: String,
    #[serde(default = "amd64")]
    arch: String,
}

fn yes() -> bool {
    true
}

fn linux() -> String {
    "linux".into()
}

fn amd64() -> String {
    "amd64".into()
}

/// Parses the nodes. The error is a sentence.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Node>, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let written: Vec<Written> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let node = |node: Written| {
        let Written { name, labels, taints, ready, unschedulable, os, arch } = node;
        Node { name, labels, taints, ready, unschedulable, os, arch }
    };
    Ok(written.into_iter().map(node).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_enough_and_a_misspelt_key_is_named() {
        let nodes =
            parse(b"- name: a\n- {name: b, ready: false, labels: {zone: x}, taints: [{key: k, effect: NoSchedule}]}\n")
                .unwrap();
        assert!(nodes[0].ready && nodes[0].os == "linux" && nodes[0].arch == "amd64");
        assert!(!nodes[1].ready && nodes[1].labels["zone"] == "x" && nodes[1].taints[0].value.is_empty());
        assert!(parse(b"- {name: a, redy: true}").unwrap_err().contains("redy"));
        assert!(parse(b"").unwrap().is_empty());
        assert!(parse(b"- name: Not A Name").is_err());
    }
}
