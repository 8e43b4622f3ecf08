//! Kernel modules and kernel parameters.

use serde_json::{Map, Value};

use crate::gathering::Collector;
use crate::source::{Source, TABLE};

/// The reported parameters: those that Kubernetes, network plugins and common workloads depend on.
///
/// `docs/host-facts.md` lists them too.
pub(crate) const SYSCTLS: [&str; 41] = [
    "fs.aio-max-nr",
    "fs.file-max",
    "fs.inotify.max_queued_events",
    "fs.inotify.max_user_instances",
    "fs.inotify.max_user_watches",
    "fs.nr_open",
    "kernel.keys.maxbytes",
    "kernel.keys.maxkeys",
    "kernel.keys.root_maxbytes",
    "kernel.keys.root_maxkeys",
    "kernel.panic",
    "kernel.panic_on_oops",
    "kernel.perf_event_paranoid",
    "kernel.pid_max",
    "kernel.randomize_va_space",
    "kernel.threads-max",
    "kernel.unprivileged_bpf_disabled",
    "net.bridge.bridge-nf-call-arptables",
    "net.bridge.bridge-nf-call-ip6tables",
    "net.bridge.bridge-nf-call-iptables",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.conf.all.rp_filter",
    "net.ipv4.conf.default.rp_filter",
    "net.ipv4.ip_forward",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.neigh.default.gc_thresh3",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv6.conf.all.disable_ipv6",
    "net.ipv6.conf.all.forwarding",
    "net.netfilter.nf_conntrack_max",
    "user.max_user_namespaces",
    "vm.max_map_count",
    "vm.min_free_kbytes",
    "vm.overcommit_memory",
    "vm.panic_on_oom",
    "vm.swappiness",
];

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    match source.text("/proc/modules", TABLE) {
        // A kernel without loadable modules has no such file. All of its modules are built in.
        Err(reason) if reason.is_missing() => gathering.own("kernel_modules", Vec::<String>::new()),
        found => {
            if let Some(text) = gathering.keep("plumbline_facts.kernel_modules", found) {
                gathering.own("kernel_modules", modules(&text));
            }
        }
    }
    let mut told = Map::new();
    for name in SYSCTLS {
        // The parameters of a module that is not loaded do not exist. That is not an error.
        let found = parameter(source, name);
        if let Some(value) = gathering.keep_if_there(&format!("plumbline_facts.sysctls.{name}"), found) {
            told.insert(name.to_owned(), value);
        }
    }
    gathering.own("sysctls", told);
}

fn modules(text: &str) -> Vec<String> {
    let mut names: Vec<String> =
        text.lines().filter_map(|line| line.split_ascii_whitespace().next()).map(str::to_owned).collect();
    names.sort_unstable();
    names
}

/// Reads a parameter. Several numbers are separated by one space.
fn parameter(source: &Source, name: &str) -> Result<Value, crate::source::Unreadable> {
    let text = source.value(&format!("/proc/sys/{}", name.replace('.', "/")))?;
    Ok(text.split_ascii_whitespace().collect::<Vec<_>>().join(" ").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn parameters_are_texts_and_modules_are_sorted() {
        let tree = Tree::new();
        tree.file("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
        let source = Source::new(tree.root());
        assert_eq!(parameter(&source, "net.ipv4.ip_local_port_range").unwrap(), "32768 60999");
        assert!(parameter(&source, "kernel.panic").unwrap_err().is_missing());
        assert_eq!(modules("vxlan 1 0 - Live 0x0\nbr_netfilter 2 0 - Live 0x0\n"), ["br_netfilter", "vxlan"]);
        assert!(SYSCTLS.is_sorted());
    }
}
