//! A single-board computer without firmware tables, with an old kernel, seen from a container.

use serde_json::json;

use super::{assert_facts, facts_of};
use crate::fixture::Tree;

fn board() -> Tree {
    let tree = Tree::new();
    for (path, content) in [
        ("/.dockerenv", ""),
        ("/etc/hostname", "ignored\n"),
        ("/proc/sys/kernel/hostname", "edge-7\n"),
        ("/proc/sys/kernel/ostype", "Linux\n"),
        ("/proc/sys/kernel/osrelease", "4.19.66-v7l+\n"),
        ("/proc/sys/kernel/version", "#1253 SMP\n"),
        ("/proc/sys/kernel/arch", "armv7l\n"),
        ("/usr/lib/os-release", "ID=alpine\nNAME='Alpine Linux'\nVERSION_ID=3.20.1\n# a comment\n"),
        ("/etc/alpine-release", "3.20.1\n"),
        ("/bin/sh", "\u{7f}ELF\u{1}"),
        ("/sbin/apk", ""),
        ("/sbin/openrc", ""),
        ("/proc/1/comm", "init\n"),
        (
            "/proc/cpuinfo",
            "processor\t: 0\nmodel name\t: ARMv7 Processor rev 3 (v7l)\nBogoMIPS\t: 108.00\n\nprocessor\t: 1\nmodel name\t: ARMv7 Processor rev 3 (v7l)\n\nHardware\t: BCM2711\n",
        ),
        ("/proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0"),
        ("/proc/meminfo", "MemTotal: 1892440 kB\nMemFree: 100000 kB\nSwapTotal: 102396 kB\nSwapFree: 102396 kB\n"),
        ("/proc/swaps", "Filename Type Size Used Priority\n/var/swap file 102396 0 -2\n/swap file\n"),
        // Only what the first process sees counts, not what the reader sees.
        ("/proc/mounts", "reader /reader ext4 rw 0 0\n"),
        (
            "/proc/1/mounts",
            "overlay / overlay rw,lowerdir=/a:/b 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n",
        ),
        (
            "/proc/cgroups",
            "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t2\t1\t1\nmemory\t0\t1\t0\npids\t3\t1\t1\n",
        ),
        ("/proc/sys/net/ipv4/ip_forward", "1\n"),
        (
            "/etc/resolv.conf",
            "# nameserver 9.9.9.9\nnameserver 1.1.1.1\nnameserver fd00::a\nsearch a\nsearch b.svc c\noptions rotate ndots:2\n; x\n",
        ),
    ] {
        tree.file(path, content);
    }
    tree
}

#[test]
fn facts_of_a_board_in_a_container() {
    let document = facts_of(&board());
    assert_facts(
        &document,
        json!({
            "hostname": "edge-7", "architecture": "armv7l", "userspace_bits": "32", "userspace_architecture": null,
            "distribution": "Alpine", "distribution_version": "3.20.1", "distribution_file_path": "/etc/alpine-release",
            "os_family": "Alpine", "pkg_mgr": "apk", "service_mgr": "openrc",
            "processor": ["0", "ARMv7 Processor rev 3 (v7l)", "1", "ARMv7 Processor rev 3 (v7l)"],
            "processor_count": 2, "processor_vcpus": 2, "product_name": "Raspberry Pi 4 Model B Rev 1.4",
            "virtualization_type": "docker", "virtualization_tech_guest": ["container", "docker"], "mounts": [],
            "dns": {
                "nameservers": ["1.1.1.1", "fd00::a"], "search": ["b.svc", "c"], "options": {"rotate": true, "ndots": "2"},
            },
            "fips": false, "selinux": {"status": "disabled"}, "swaptotal_mb": 99,
            "memory_mb": {
                "real": {"total": 1848, "used": 1751, "free": 97}, "nocache": {"free": null, "used": null},
                "swap": {"total": 99, "free": 99, "used": 0, "cached": null},
            },
        }),
    );
    let own = &document["plumbline_facts"];
    assert_eq!(own["cgroup"], json!({"version": 1, "controllers": ["cpu", "pids"]}));
    assert_eq!(own["sysctls"], json!({"net.ipv4.ip_forward": "1"}));
    let device = json!({"device": "/var/swap", "type": "file", "size_mb": 99, "used_mb": 0, "priority": -2});
    assert_eq!(own["swap"]["devices"], json!([device]));
    assert!(own.get("kubelet").is_none() && own.get("container_runtime").is_none(), "this is not a node");
}
