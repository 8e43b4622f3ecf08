//! Control groups, kernel modules and kernel parameters.

use serde_json::{Map, Value, json};

use crate::collector::Collector;
use crate::mounts::mounts;
use crate::source::{SMALL, Source, TABLE, Unreadable};

/// A file that exists only in the unified hierarchy (version 2).
const UNIFIED: &str = "/sys/fs/cgroup/cgroup.controllers";
const LEGACY: &str = "/proc/cgroups";

/// The reported parameters: those that Kubernetes, network plugins and common workloads depend on.
///
/// `docs/host-facts.md` lists them too.
const SYSCTLS: [&str; 41] = [
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

/// Gathers the version and the controllers of control groups.
pub(super) fn control_groups(collector: &mut Collector<'_>) {
    if let Some(hierarchy) = collector.keep("plumbline_facts.cgroup", hierarchy(collector.source)) {
        collector.own("cgroup", hierarchy);
    }
}

fn hierarchy(source: &Source) -> Result<Value, Unreadable> {
    match source.text(UNIFIED, SMALL) {
        Ok(text) => Ok(json!({"version": 2, "controllers": sorted(text.split_ascii_whitespace())})),
        Err(reason) if reason.is_missing() && version_1_is_mounted(source) => {
            let table = source.text(LEGACY, SMALL)?;
            Ok(json!({"version": 1, "controllers": sorted(table.lines().filter_map(enabled))}))
        }
        Err(reason) => Err(reason),
    }
}

/// Returns true if a version 1 hierarchy is mounted.
///
/// The table of controllers exists on every kernel with control groups, so only the mounts decide.
fn version_1_is_mounted(source: &Source) -> bool {
    mounts(source).is_ok_and(|(mounts, _)| mounts.iter().any(|mount| mount.fstype == "cgroup"))
}

/// Parses a line of `/proc/cgroups`: controller, hierarchy, number of groups, enabled.
fn enabled(line: &str) -> Option<&str> {
    let mut fields = line.split_ascii_whitespace();
    let name = fields.next().filter(|name| !name.starts_with('#'))?;
    (fields.nth(2) == Some("1")).then_some(name)
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

/// Gathers the kernel modules and the kernel parameters.
pub(super) fn modules_and_parameters(collector: &mut Collector<'_>) {
    let source = collector.source;
    match source.text("/proc/modules", TABLE) {
        // A kernel without loadable modules has no such file. All of its modules are built in.
        Err(reason) if reason.is_missing() => collector.own("kernel_modules", Vec::<String>::new()),
        found => {
            if let Some(text) = collector.keep("plumbline_facts.kernel_modules", found) {
                collector.own("kernel_modules", modules(&text));
            }
        }
    }
    let mut parameters = Map::new();
    for name in SYSCTLS {
        // The parameters of a module that is not loaded do not exist. That is not an error.
        let found = parameter(source, name);
        if let Some(value) = collector.keep_if_there(&format!("plumbline_facts.sysctls.{name}"), found) {
            parameters.insert(name.to_owned(), value);
        }
    }
    collector.own("sysctls", parameters);
}

fn modules(text: &str) -> Vec<&str> {
    sorted(text.lines().filter_map(|line| line.split_ascii_whitespace().next()))
}

/// Reads a parameter. Several numbers are separated by one space.
fn parameter(source: &Source, name: &str) -> Result<Value, Unreadable> {
    let text = source.value(&format!("/proc/sys/{}", name.replace('.', "/")))?;
    Ok(text.split_ascii_whitespace().collect::<Vec<_>>().join(" ").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn none_mounted_is_an_error_that_says_so() {
        let tree = Tree::new();
        tree.file(LEGACY, "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t1\t1\n");
        let reason = hierarchy(&Source::new(tree.root())).unwrap_err().to_string();
        assert!(reason.starts_with("failed to read /sys/fs/cgroup/cgroup.controllers: "), "{reason}");
    }

    #[test]
    fn parameters_are_texts() {
        let tree = Tree::new();
        tree.file("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
        let source = Source::new(tree.root());
        assert_eq!(parameter(&source, "net.ipv4.ip_local_port_range").unwrap(), "32768 60999");
        assert!(parameter(&source, "kernel.panic").unwrap_err().is_missing());
        assert!(SYSCTLS.is_sorted());
    }
}
