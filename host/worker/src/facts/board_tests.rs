//! A second machine, as different from the first as can be: a board without firmware tables, an old kernel, and in a container on it.

use serde_json::{Value, json};

use super::fixture::Tree;
use super::gather;

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
        ("/sys/devices/system/cpu/online", "0,2-3\n"),
        ("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n\nHardware\t: BCM2711\n"),
        ("/proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0"),
        (
            "/proc/meminfo",
            "MemTotal: 1892440 kB\nMemFree: 100000 kB\nMemAvailable: 900000 kB\nSwapTotal: 102396 kB\nSwapFree: 102396 kB\n",
        ),
        ("/proc/uptime", "5.01 9.00\n"),
        // What the first process sees counts, and not what the reader does.
        ("/proc/mounts", "reader /reader ext4 rw 0 0\n"),
        (
            "/proc/1/mounts",
            "overlay / overlay rw,lowerdir=/a:/b 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n",
        ),
        (
            "/proc/cgroups",
            "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t2\t1\t1\nmemory\t0\t1\t0\npids\t3\t1\t1\n",
        ),
        ("/sys/class/net/eth0/flags", "0x1002\n"),
        ("/sys/class/net/eth0/operstate", "down\n"),
        ("/sys/class/net/eth0/address", "dc:a6:32:00:00:01\n"),
        ("/sys/class/net/eth0/mtu", "1500\n"),
        ("/sys/class/net/tun0/flags", "0x10d1\n"),
        ("/sys/class/net/tun0/operstate", "unknown\n"),
        ("/sys/class/net/tun0/mtu", "1420\n"),
        ("/etc/resolv.conf", "nameserver 1.1.1.1\noptions rotate\n"),
    ] {
        tree.file(path, content);
    }
    tree
}

#[test]
fn a_board_in_a_container_is_told_without_errors() {
    let facts: Value = serde_json::from_str(&gather(board().root()).to_json()).unwrap();
    assert_eq!(
        facts,
        json!({
            "ansible_facts": {
                "hostname": "edge-7",
                "nodename": "edge-7",
                "system": "Linux",
                "kernel": "4.19.66-v7l+",
                "kernel_version": "#1253 SMP",
                "architecture": "armv7l",
                "os_family": "Alpine",
                "distribution": "Alpine Linux",
                "distribution_version": "3.20.1",
                "distribution_id": "alpine",
                "processor_model": "ARM implementer 0x41 part 0xd08",
                "processor_vcpus": 3,
                "memtotal_mb": 1848,
                "memfree_mb": 97,
                "memavailable_mb": 878,
                "swaptotal_mb": 99,
                "swapfree_mb": 99,
                "uptime_seconds": 5,
                "mounts": [
                    {"device": "overlay", "mount": "/", "fstype": "overlay", "options": "rw,lowerdir=/a:/b"},
                    {"device": "cgroup", "mount": "/sys/fs/cgroup/memory", "fstype": "cgroup", "options": "rw,memory"},
                ],
                "interfaces": ["eth0", "tun0"],
                "links": {
                    "eth0": {"active": false, "macaddress": "dc:a6:32:00:00:01", "mtu": 1500},
                    "tun0": {"active": true, "mtu": 1420},
                },
                "dns": {"nameservers": ["1.1.1.1"], "options": ["rotate"]},
                "cgroup_version": 1,
                "cgroup_controllers": ["cpu", "pids"],
                "virtualization_type": "docker",
                "virtualization_hints": ["docker: /.dockerenv exists"],
                "product_name": "Raspberry Pi 4 Model B Rev 1.4",
                "fips": false,
            },
            "errors": [],
        })
    );
}
