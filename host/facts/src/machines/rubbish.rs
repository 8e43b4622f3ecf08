//! Trees that are empty, too large, or full of invalid data.

use super::red_hat::machine;
use super::{errors, facts_of};
use crate::fixture::Tree;

#[test]
fn each_fact_that_cannot_be_read_is_named_with_its_file() {
    let document = facts_of(&Tree::new());
    let listed = document["errors"].as_array().unwrap();
    for (fact, file) in [
        ("ansible_nodename", "/proc/sys/kernel/hostname"),
        ("ansible_system", "/proc/sys/kernel/ostype"),
        ("ansible_kernel", "/proc/sys/kernel/osrelease"),
        ("ansible_kernel_version", "/proc/sys/kernel/version"),
        ("ansible_userspace_bits", "/bin/sh"),
        ("ansible_distribution", "/usr/lib/os-release"),
        ("ansible_processor", "/proc/cpuinfo"),
        ("ansible_memtotal_mb", "/proc/meminfo"),
        ("ansible_uptime_seconds", "/proc/uptime"),
        ("ansible_loadavg", "/proc/loadavg"),
        ("ansible_devices", "/sys/block"),
        ("ansible_mounts", "/proc/mounts"),
        ("ansible_cmdline", "/proc/cmdline"),
        ("ansible_dns", "/etc/resolv.conf"),
        ("ansible_user_id", "/etc/passwd"),
        ("ansible_interfaces", "/sys/class/net"),
        ("plumbline_facts.cgroup", "/sys/fs/cgroup/cgroup.controllers"),
        ("plumbline_facts.limits", "/proc/1/limits"),
        ("plumbline_facts.swap", "/proc/meminfo"),
        ("plumbline_facts.disks", "/proc/mounts"),
    ] {
        let error = listed.iter().find(|error| error["fact"] == fact).unwrap_or_else(|| panic!("no error for {fact}"));
        assert!(error["reason"].as_str().unwrap().contains(file), "{error}");
    }
    assert!(document["ansible_facts"].get("ansible_kernel").is_none(), "what is not known is absent");
    // Facts that even an empty tree has.
    assert_eq!(document["ansible_facts"]["ansible_fips"], false);
    assert_eq!(document["ansible_facts"]["ansible_virtualization_type"], "NA");
    assert_eq!(document["gathered_by"], "plumbline");
}

#[test]
fn one_bad_file_spoils_one_fact() {
    let tree = machine();
    let before: Vec<String> = errors(&facts_of(&tree)).into_iter().map(str::to_owned).collect();
    tree.file("/proc/uptime", "yesterday\n");
    tree.file("/proc/meminfo", "MemTotal: 4194304 kB\nMemFree: none\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
    let document = facts_of(&tree);
    let new: Vec<_> = errors(&document).into_iter().filter(|fact| !before.contains(&(*fact).to_owned())).collect();
    assert_eq!(new, ["ansible_memfree_mb", "ansible_uptime_seconds"]);
    assert_eq!(document["ansible_facts"]["ansible_memtotal_mb"], 4096);
}

#[test]
fn mounts_beyond_the_bound_are_left_out_and_said_so() {
    let tree = machine();
    tree.file("/proc/1/mounts", &"server:/run/containerd/x /x nfs rw 0 0\n".repeat(40_000));
    let document = facts_of(&tree);
    let mounts = document["ansible_facts"]["ansible_mounts"].as_array().unwrap();
    assert!(mounts.len() > 20_000 && mounts.len() < 40_000);
    assert!(mounts.iter().all(|mount| mount["options"] == "rw"), "no half line");
    let cut = |error: &serde_json::Value| {
        error["fact"] == "ansible_mounts" && error["reason"].as_str().unwrap().contains("1048576")
    };
    assert!(document["errors"].as_array().unwrap().iter().any(cut));
}

#[test]
fn rubbish_everywhere_is_survived() {
    let tree = machine();
    let rubbish = String::from_utf8_lossy(&(0..=255_u8).cycle().take(3000).collect::<Vec<_>>()).into_owned();
    for path in [
        "/proc/sys/kernel/hostname",
        "/proc/1/status",
        "/proc/1/limits",
        "/proc/1/cgroup",
        "/proc/1/environ",
        "/proc/1/mounts",
        "/proc/1/mountinfo",
        "/proc/1/net/route",
        "/proc/1/net/ipv6_route",
        "/proc/1/net/fib_trie",
        "/proc/1/net/if_inet6",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/uptime",
        "/proc/loadavg",
        "/proc/cmdline",
        "/proc/swaps",
        "/proc/modules",
        "/proc/pressure/io",
        "/etc/os-release",
        "/etc/redhat-release",
        "/etc/lsb-release",
        "/etc/resolv.conf",
        "/etc/hosts",
        "/etc/passwd",
        "/etc/localtime",
        "/etc/machine-id",
        "/etc/selinux/config",
        "/etc/ansible/facts.d/site.fact",
        "/var/lib/kubelet/config.yaml",
        "/etc/containerd/config.toml",
        "/run/containerd/containerd.sock",
        "/etc/kubernetes/pki/ca.crt",
        "/sys/class/net/eth0/mtu",
        "/sys/class/net/eth0/flags",
        "/sys/block/vda/size",
        "/sys/devices/virtual/dmi/id/chassis_type",
    ] {
        tree.file(path, &rubbish);
    }
    let document = facts_of(&tree);
    for error in document["errors"].as_array().unwrap() {
        assert!(error["reason"].as_str().unwrap().len() < 1000, "foreign text is cut in reasons: {error}");
    }
    for fact in [
        "ansible_processor",
        "plumbline_facts.kubelet.config",
        "plumbline_facts.certificates./etc/kubernetes/pki/ca.crt",
    ] {
        let known = document["ansible_facts"].get(fact).is_some() || errors(&document).contains(&fact);
        assert!(known, "{fact} is neither a fact nor an error");
    }
}
