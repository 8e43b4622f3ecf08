//! This machine as a node.

use std::collections::BTreeMap;

use plumbline_core::{Node, NodeName};

/// The node name of a machine whose own name is not valid.
const FALLBACK_NAME: &str = "localhost";

/// Returns this machine as a node, as Kubernetes would describe it.
#[must_use]
pub fn this_machine() -> Node {
    let uname = rustix::system::uname();
    let host = uname.nodename().to_string_lossy().to_ascii_lowercase();
    let name: NodeName = host.parse().unwrap_or_else(|_| fallback());
    let (os, arch) = (std::env::consts::OS, go_arch(std::env::consts::ARCH));
    let labels = BTreeMap::from([
        ("kubernetes.io/hostname".to_owned(), name.to_string()),
        ("kubernetes.io/os".to_owned(), os.to_owned()),
        ("kubernetes.io/arch".to_owned(), arch.to_owned()),
    ]);
    Node {
        name,
        labels,
        taints: Vec::new(),
        ready: true,
        unschedulable: false,
        os: os.to_owned(),
        arch: arch.to_owned(),
    }
}

fn fallback() -> NodeName {
    FALLBACK_NAME.parse().unwrap_or_else(|_| NodeName::global())
}

/// Returns the Go name of an architecture, which Kubernetes uses.
fn go_arch(arch: &'static str) -> &'static str {
    match arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_a_ready_node_with_the_well_known_labels() {
        let node = this_machine();
        assert!(node.ready);
        assert_eq!(node.labels["kubernetes.io/os"], "linux");
        assert_eq!(node.labels["kubernetes.io/hostname"], node.name.as_str());
    }
}
