//! A check of a node: whether it has what Kubernetes needs, as far as files in `/proc`, `/sys` and
//! `/etc` show it.
//!
//! Each rule is an item:
//!
//! | status | when |
//! |---|---|
//! | passed | the node is as the rule wants it |
//! | failed | it is different |
//! | skipped | the kernel or the machine has no such file, or the rule does not apply |
//! | unknown | a file cannot be read or parsed, or it is not that of the node |
//!
//! The names of the rules are those of the script in `examples/node-check`.
#![forbid(unsafe_code)]

mod kernel;
mod machine;
mod network;
mod rule;

use plumbline_sdk::{Checker, Context, Output, PluginInfo};

use crate::rule::{Rule, item};

/// The rules, in the order of the report.
const RULES: [(&str, Rule); 15] = [
    ("swap is off", kernel::swap),
    ("br_netfilter is loaded", kernel::bridge_filter),
    ("overlay filesystem is available", kernel::overlay),
    ("IPv4 forwarding is on", network::forwarding),
    ("bridged traffic passes iptables", network::bridged_traffic),
    ("control groups are version 2", kernel::control_groups),
    ("a container runtime listens", network::runtime),
    ("kernel is 4.19 or newer", kernel::release),
    ("at least 2 processors", machine::processors),
    ("at least 1700 MiB of memory", machine::memory),
    ("port 6443 is free for the API server", network::api_server_port),
    ("port 10250 is free for the kubelet", network::kubelet_port),
    ("machine-id is set", machine::machine_id),
    ("product UUID is not a placeholder", machine::product_uuid),
    ("host name is valid for a node", network::host_name),
];

/// The check. The documentation of the crate describes it.
#[derive(Debug, Clone, Copy)]
pub struct NodeReady;

impl Checker for NodeReady {
    fn run(_: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let total = RULES.len() as u64;
        for (done, (name, rule)) in (0..).zip(RULES) {
            context.progress(done, total, name);
            out.emit(item(name, rule(context)));
        }
        context.progress(total, total, "done");
        Ok(())
    }
}

plumbline_sdk::module! {
    name: "node-ready",
    formats: [],
    default_files: [],
    rights: { "files": ["/etc", "/proc", "/sys"], "env": ["CONTAINER_RUNTIME_ENDPOINT"] },
    check: NodeReady,
}
