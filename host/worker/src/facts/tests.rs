//! The whole way: a file tree in, a document out.

use std::path::Path;

use serde_json::{Value, json};

use super::fixture::Tree;
use super::{Facts, gather};

/// A virtual machine with one network card, as its files would show it.
fn machine() -> Tree {
    let tree = Tree::new();
    for (path, content) in [
        ("/proc/sys/kernel/hostname", "node-1.example.com\n"),
        ("/proc/sys/kernel/ostype", "Linux\n"),
        ("/proc/sys/kernel/osrelease", "6.6.30-generic\n"),
        ("/proc/sys/kernel/version", "#31 SMP PREEMPT_DYNAMIC\n"),
        ("/proc/sys/kernel/arch", "aarch64\n"),
        ("/proc/sys/crypto/fips_enabled", "1\n"),
        (
            "/etc/os-release",
            "NAME=\"Rocky Linux\"\nVERSION_ID=\"9.4\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_CODENAME=blue-onyx\n",
        ),
        ("/sys/devices/system/cpu/online", "0-3\n"),
        (
            "/proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Example CPU @ 2.00GHz\nflags\t\t: fpu hypervisor\n\nprocessor\t: 1\n",
        ),
        ("/sys/class/dmi/id/sys_vendor", "QEMU\n"),
        ("/sys/class/dmi/id/product_name", "Standard PC (Q35 + ICH9, 2009)\n"),
        (
            "/proc/meminfo",
            "MemTotal:        4194304 kB\nMemFree:         1048576 kB\nMemAvailable:    2097152 kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\n",
        ),
        ("/proc/uptime", "1234.56 4321.00\n"),
        ("/proc/mounts", "/dev/vda1 / ext4 rw,relatime 0 0\ntmpfs /mnt/with\\040space tmpfs rw 0 0\nshort line\n"),
        ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n"),
        ("/sys/class/net/lo/flags", "0x9\n"),
        ("/sys/class/net/lo/operstate", "unknown\n"),
        ("/sys/class/net/lo/address", "00:00:00:00:00:00\n"),
        ("/sys/class/net/lo/mtu", "65536\n"),
        ("/sys/class/net/eth0/flags", "0x1003\n"),
        ("/sys/class/net/eth0/operstate", "up\n"),
        ("/sys/class/net/eth0/address", "52:54:00:12:34:56\n"),
        ("/sys/class/net/eth0/mtu", "1500\n"),
        ("/sys/class/net/bonding_masters", "\n"),
        (
            "/proc/net/fib_trie",
            "Main:\n     |-- 10.0.2.15\n        /32 host LOCAL\n     |-- 10.96.0.1\n        /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n",
        ),
        (
            "/proc/net/if_inet6",
            "fe80000000000000505400fffe123456 02 40 20 80     eth0\n00000000000000000000000000000001 01 80 10 80       lo\n",
        ),
        ("/etc/resolv.conf", "nameserver 10.0.2.3\nsearch example.com\n"),
    ] {
        tree.file(path, content);
    }
    let hex = |a: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(a));
    let zero = hex([0; 4]);
    tree.file(
        "/proc/net/route",
        &format!(
            "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
             eth0 {zero} {} 0003 0 0 100 {zero} 0 0 0\n\
             eth0 {} {zero} 0001 0 0 100 {} 0 0 0\n",
            hex([10, 0, 2, 2]),
            hex([10, 0, 2, 0]),
            hex([255, 255, 255, 0]),
        ),
    );
    tree
}

fn document(facts: &Facts) -> Value {
    serde_json::from_str(&facts.to_json()).unwrap()
}

#[test]
fn a_whole_machine_is_told_without_errors() {
    let facts = document(&gather(machine().root()));
    assert_eq!(
        facts,
        json!({
            "ansible_facts": {
                "hostname": "node-1",
                "nodename": "node-1.example.com",
                "system": "Linux",
                "kernel": "6.6.30-generic",
                "kernel_version": "#31 SMP PREEMPT_DYNAMIC",
                "architecture": "aarch64",
                "os_family": "RedHat",
                "distribution": "Rocky Linux",
                "distribution_version": "9.4",
                "distribution_release": "blue-onyx",
                "distribution_id": "rocky",
                "processor_model": "Example CPU @ 2.00GHz",
                "processor_vcpus": 4,
                "memtotal_mb": 4096,
                "memfree_mb": 1024,
                "memavailable_mb": 2048,
                "swaptotal_mb": 0,
                "swapfree_mb": 0,
                "uptime_seconds": 1234,
                "mounts": [
                    {"device": "/dev/vda1", "mount": "/", "fstype": "ext4", "options": "rw,relatime"},
                    {"device": "tmpfs", "mount": "/mnt/with space", "fstype": "tmpfs", "options": "rw"},
                ],
                "interfaces": ["eth0", "lo"],
                "links": {
                    "eth0": {
                        "active": true, "macaddress": "52:54:00:12:34:56", "mtu": 1500,
                        "ipv4": [{"address": "10.0.2.15", "prefix": 24}],
                        "ipv6": [{"address": "fe80::5054:ff:fe12:3456", "prefix": 64, "scope": "link"}],
                    },
                    "lo": {
                        "active": true, "mtu": 65536,
                        "ipv4": [{"address": "127.0.0.1", "prefix": 8}],
                        "ipv6": [{"address": "::1", "prefix": 128, "scope": "host"}],
                    },
                },
                "all_ipv4_addresses": ["10.0.2.15", "10.96.0.1"],
                "all_ipv6_addresses": ["fe80::5054:ff:fe12:3456"],
                "default_ipv4": {"gateway": "10.0.2.2", "interface": "eth0"},
                "dns": {"nameservers": ["10.0.2.3"], "search": ["example.com"]},
                "cgroup_version": 2,
                "cgroup_controllers": ["cpu", "cpuset", "io", "memory", "pids"],
                "virtualization_type": "kvm",
                "virtualization_hints": ["kvm: the DMI table says `QEMU`", "hypervisor: the processor has the flag `hypervisor`"],
                "system_vendor": "QEMU",
                "product_name": "Standard PC (Q35 + ICH9, 2009)",
                "fips": true,
            },
            "errors": [],
        })
    );
}

#[test]
fn what_is_written_reads_back_equal() {
    let facts = gather(machine().root());
    let read: Facts = serde_json::from_str(&facts.to_json()).unwrap();
    assert_eq!(read, facts);
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("facts.json");
    facts.write_to(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), facts.to_json());
    let left = std::fs::read_dir(place.path()).unwrap().count();
    assert_eq!(left, 1, "no temporary file stays behind");
    let error = facts.write_to(&place.path().join("none/facts.json")).unwrap_err().to_string();
    assert!(error.starts_with("cannot write the facts to ") && error.contains("none/facts.json"), "{error}");
}

#[test]
fn each_fact_that_cannot_be_read_is_named_with_its_file() {
    let empty = Tree::new();
    let facts = document(&gather(empty.root()));
    let errors = facts["errors"].as_array().unwrap();
    for (fact, file) in [
        ("hostname", "/proc/sys/kernel/hostname"),
        ("system", "/proc/sys/kernel/ostype"),
        ("kernel", "/proc/sys/kernel/osrelease"),
        ("kernel_version", "/proc/sys/kernel/version"),
        ("distribution", "/usr/lib/os-release"),
        ("processor_vcpus", "/sys/devices/system/cpu/online"),
        ("processor_model", "/proc/cpuinfo"),
        ("memtotal_mb", "/proc/meminfo"),
        ("uptime_seconds", "/proc/uptime"),
        ("mounts", "/proc/mounts"),
        ("interfaces", "/sys/class/net"),
        ("dns", "/etc/resolv.conf"),
        ("cgroup_version", "/sys/fs/cgroup/cgroup.controllers"),
    ] {
        let reason = errors.iter().find(|error| error["fact"] == fact).unwrap_or_else(|| panic!("no error for {fact}"));
        assert!(reason["reason"].as_str().unwrap().contains(file), "{reason}");
        assert!(facts["ansible_facts"].get(fact).is_none(), "{fact} must be absent");
    }
    assert_eq!(errors.len(), 13, "{errors:?}");
    // What an empty tree does tell.
    assert_eq!(facts["ansible_facts"]["fips"], false);
    assert_eq!(facts["ansible_facts"]["virtualization_type"], "none");
}

#[test]
fn one_bad_file_spoils_one_fact() {
    let tree = machine();
    tree.file("/proc/uptime", "yesterday\n");
    tree.file(
        "/proc/meminfo",
        "MemTotal: 4194304 kB\nMemFree: none\nMemAvailable: 1024 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
    );
    let facts = gather(tree.root());
    let errors: Vec<_> = facts.errors.iter().map(|error| format!("{}: {}", error.fact, error.reason)).collect();
    assert_eq!(
        errors,
        [
            "memfree_mb: /proc/meminfo: expected a number after `MemFree:`, found `none`",
            "uptime_seconds: /proc/uptime: expected seconds, found `yesterday`",
        ]
    );
    assert_eq!(facts.host.memtotal_mb, Some(4096));
}

#[test]
fn mounts_beyond_the_bound_are_left_out_and_said_so() {
    let tree = machine();
    tree.file("/proc/mounts", &"overlay /run/containerd/x overlay rw 0 0\n".repeat(40_000));
    let facts = gather(tree.root());
    let mounts = facts.host.mounts.unwrap();
    assert!(mounts.len() > 20_000 && mounts.len() < 40_000);
    assert!(mounts.iter().all(|mount| mount.options == "rw"), "no half line");
    assert!(facts.errors.iter().any(|error| error.fact == "mounts" && error.reason.contains("1048576")));
}

#[test]
fn rubbish_everywhere_is_survived() {
    let tree = machine();
    let rubbish = String::from_utf8_lossy(&(0..=255_u8).cycle().take(3000).collect::<Vec<_>>()).into_owned();
    for path in [
        "/proc/sys/kernel/hostname",
        "/etc/os-release",
        "/sys/devices/system/cpu/online",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/uptime",
        "/proc/mounts",
        "/proc/net/route",
        "/proc/net/ipv6_route",
        "/proc/net/fib_trie",
        "/proc/net/if_inet6",
        "/etc/resolv.conf",
        "/sys/class/net/eth0/mtu",
        "/sys/class/net/eth0/flags",
    ] {
        tree.file(path, &rubbish);
    }
    let facts = gather(tree.root());
    assert!(facts.errors.iter().any(|error| error.fact == "links.eth0.mtu"));
    assert!(facts.errors.iter().all(|error| error.reason.len() < 1000), "foreign text is cut in reasons");
    document(&facts);
}

#[test]
fn this_machine_tells_what_every_linux_machine_can_tell() {
    let facts = gather(Path::new("/"));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(facts.host.kernel.as_deref(), Some(kernel.trim()));
    assert!(facts.host.architecture.is_some_and(|name| !name.is_empty()));
    assert!(facts.host.memtotal_mb.unwrap() > 0);
    assert!(facts.host.mounts.as_ref().unwrap().iter().any(|mount| mount.mount == "/"));
    for error in &facts.errors {
        assert!(!error.reason.is_empty(), "{error:?}");
    }
}

/// Addresses worked out from the routing tables are those that the system gives a socket.
#[test]
fn addresses_are_those_that_sockets_get() {
    let facts = gather(Path::new("/"));
    let Some(route) = &facts.host.default_ipv4 else {
        eprintln!("skipped: this machine has no IPv4 default route");
        return;
    };
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    // Connecting a UDP socket sends nothing; it chooses the address to send from.
    socket.connect("192.0.2.1:9").unwrap();
    let local = socket.local_addr().unwrap().ip().to_string();
    assert!(facts.host.all_ipv4_addresses.as_ref().unwrap().contains(&local), "{local} in {facts:?}");
    let link = &facts.host.links.as_ref().unwrap()[&route.interface];
    assert!(link.active != Some(false), "{link:?}");
}
