//! A virtual machine with one network card and a distribution of the Red Hat family.

use serde_json::json;

use super::{assert_facts, errors, facts_of, hex};
use crate::fixture::Tree;

pub(super) fn machine() -> Tree {
    let tree = Tree::new();
    for (path, content) in [
        ("/proc/sys/kernel/hostname", "node-1.example.com\n"),
        ("/proc/sys/kernel/ostype", "Linux\n"),
        ("/proc/sys/kernel/osrelease", "5.14.0-427.el9.x86_64\n"),
        ("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n"),
        ("/proc/sys/kernel/arch", "x86_64\n"),
        ("/proc/sys/crypto/fips_enabled", "1\n"),
        (
            "/etc/os-release",
            "NAME=\"Rocky Linux\"\nVERSION=\"9.4 (Blue Onyx)\"\nVERSION_ID=\"9.4\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
        ),
        ("/etc/redhat-release", "Rocky Linux release 9.4 (Blue Onyx)\n"),
        ("/etc/machine-id", "0123456789abcdef0123456789abcdef\n"),
        ("/etc/hosts", "127.0.0.1 localhost\n10.0.2.15 node-1.example.com node-1\n"),
        ("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n"),
        ("/etc/selinux/config", "SELINUX=enforcing\nSELINUXTYPE=targeted\n"),
        ("/sys/fs/selinux/enforce", "0"),
        ("/sys/fs/selinux/policyvers", "33"),
        ("/usr/lib/systemd/systemd", "\u{7f}ELF\u{2}"),
        ("/usr/bin/dnf", ""),
        ("/proc/1/comm", "systemd\n"),
        ("/proc/1/status", "Name:\tsystemd\nCpus_allowed_list:\t0-1\n"),
        ("/proc/1/limits", "Max open files            1073741816           1073741816           files     \n"),
        (
            "/proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Example CPU\nphysical id\t: 0\nsiblings\t: 2\ncpu cores\t: 1\nflags\t\t: fpu vme\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\nmodel name\t: Example CPU\nphysical id\t: 0\nsiblings\t: 2\ncpu cores\t: 1\nflags\t\t: fpu vme\n",
        ),
        ("/sys/devices/virtual/dmi/id/sys_vendor", "QEMU\n"),
        ("/sys/devices/virtual/dmi/id/product_name", "Standard PC (Q35 + ICH9, 2009)\n"),
        ("/sys/devices/virtual/dmi/id/chassis_type", "1\n"),
        (
            "/proc/meminfo",
            "MemTotal: 4194304 kB\nMemFree: 1048576 kB\nBuffers: 1024 kB\nCached: 1048576 kB\nSwapCached: 0 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
        ),
        ("/proc/uptime", "1234.56 4321.00\n"),
        ("/proc/loadavg", "0.50 0.25 0.00 1/200 3000\n"),
        ("/proc/cmdline", "BOOT_IMAGE=(hd0,msdos1)/vmlinuz ro console=tty0 console=ttyS0\n"),
        ("/proc/1/mounts", "nfs:/export /mnt/with\\040space nfs4 rw 0 0\ntmpfs /run tmpfs rw 0 0\nshort line\n"),
        ("/proc/1/mountinfo", "30 1 0:40 /sub /mnt/with\\040space rw - nfs4 nfs:/export rw\n"),
        ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n"),
        ("/sys/block/vda/size", "41943040\n"),
        ("/sys/class/net/lo/flags", "0x9\n"),
        ("/sys/class/net/lo/operstate", "unknown\n"),
        ("/sys/class/net/lo/address", "00:00:00:00:00:00\n"),
        ("/sys/class/net/lo/mtu", "65536\n"),
        ("/sys/class/net/lo/type", "772\n"),
        ("/sys/class/net/eth0/flags", "0x1003\n"),
        ("/sys/class/net/eth0/operstate", "up\n"),
        ("/sys/class/net/eth0/address", "52:54:00:12:34:56\n"),
        ("/sys/class/net/eth0/mtu", "1500\n"),
        ("/sys/class/net/eth0/type", "1\n"),
        ("/sys/class/net/kernel/flags", "0x1002\n"),
        ("/sys/class/net/br-int.7/flags", "0x1002\n"),
        (
            "/proc/1/net/fib_trie",
            "Local:\n     |-- 10.0.2.15\n        /32 host LOCAL\n     |-- 10.96.0.1\n        /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n",
        ),
        (
            "/proc/1/net/if_inet6",
            "fe80000000000000505400fffe123456 02 40 20 80     eth0\n00000000000000000000000000000001 01 80 10 80       lo\n",
        ),
        ("/etc/resolv.conf", "nameserver 10.0.2.3\nsearch example.com\n"),
        ("/etc/ansible/facts.d/site.fact", "{\"rack\": 7}\n"),
        ("/etc/ansible/facts.d/owner.fact", "[team]\nName = ops\n"),
        ("/etc/ansible/facts.d/bad.fact", "neither\n"),
        ("/etc/ansible/facts.d/README", "not a fact\n"),
    ] {
        tree.file(path, content);
    }
    let zero = hex([0; 4]);
    tree.file(
        "/proc/1/net/route",
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

#[test]
fn facts_of_the_system_have_the_values_of_ansible() {
    let document = facts_of(&machine());
    assert_facts(
        &document,
        json!({
            "system": "Linux", "kernel": "5.14.0-427.el9.x86_64", "kernel_version": "#1 SMP PREEMPT_DYNAMIC",
            "architecture": "x86_64", "userspace_bits": "64", "machine_id": "0123456789abcdef0123456789abcdef",
            "hostname": "node-1", "nodename": "node-1.example.com", "fqdn": "node-1.example.com", "domain": "example.com",
            "distribution": "Rocky", "distribution_version": "9.4", "distribution_major_version": "9",
            "distribution_release": "Blue Onyx", "distribution_file_path": "/etc/redhat-release",
            "distribution_file_variety": "RedHat", "os_family": "RedHat", "pkg_mgr": "dnf", "service_mgr": "systemd",
            "fips": true,
            "selinux": {"status": "enabled", "policyvers": 33, "config_mode": "enforcing", "mode": "permissive", "type": "targeted"},
            "apparmor": {"status": "disabled"}, "virtualization_type": "kvm", "virtualization_role": "guest",
            "form_factor": "Other", "system_vendor": "QEMU", "bios_date": "NA",
            "dns": {"nameservers": ["10.0.2.3"], "search": ["example.com"]},
            "uptime_seconds": 1234, "loadavg": {"1m": 0.5, "5m": 0.25, "15m": 0.0},
            "local": {"site": {"rack": 7}, "owner": {"team": {"name": "ops"}}}, "lvm": "N/A",
        }),
    );
}

#[test]
fn processors_memory_and_command_line() {
    assert_facts(
        &facts_of(&machine()),
        json!({
            "processor": ["0", "GenuineIntel", "Example CPU", "1", "GenuineIntel", "Example CPU"],
            "processor_count": 1, "processor_cores": 1, "processor_threads_per_core": 2, "processor_vcpus": 2,
            "processor_nproc": 2, "flags": ["fpu", "vme"], "memtotal_mb": 4096,
            "memory_mb": {
                "real": {"total": 4096, "used": 3072, "free": 1024},
                "nocache": {"free": 2049, "used": 2047},
                "swap": {"total": 0, "free": 0, "used": 0, "cached": 0},
            },
            "cmdline": {"BOOT_IMAGE": "(hd0,msdos1)/vmlinuz", "ro": true, "console": "ttyS0"},
            "proc_cmdline": {"BOOT_IMAGE": "(hd0,msdos1)/vmlinuz", "ro": true, "console": ["tty0", "ttyS0"]},
        }),
    );
}

#[test]
fn the_network_is_that_of_the_first_process() {
    let document = facts_of(&machine());
    assert_facts(
        &document,
        json!({
            "interfaces": ["br-int.7", "eth0", "kernel", "lo"],
            "eth0": {
                "device": "eth0", "active": true, "macaddress": "52:54:00:12:34:56", "mtu": 1500, "type": "ether", "promisc": false,
                "ipv4": {"address": "10.0.2.15", "prefix": "24", "netmask": "255.255.255.0", "network": "10.0.2.0"},
                "ipv6": [{"address": "fe80::5054:ff:fe12:3456", "prefix": "64", "scope": "link"}],
            },
            "lo": {
                "device": "lo", "active": true, "mtu": 65536, "type": "loopback", "promisc": false,
                "ipv4": {"address": "127.0.0.1", "prefix": "8", "netmask": "255.0.0.0", "network": "127.0.0.0"},
                "ipv6": [{"address": "::1", "prefix": "128", "scope": "host"}],
            },
            "all_ipv4_addresses": ["10.0.2.15", "10.96.0.1"],
            "all_ipv6_addresses": ["fe80::5054:ff:fe12:3456"],
            "default_ipv4": {
                "gateway": "10.0.2.2", "interface": "eth0", "alias": "eth0", "address": "10.0.2.15", "prefix": "24",
                "netmask": "255.255.255.0", "network": "10.0.2.0", "macaddress": "52:54:00:12:34:56", "mtu": 1500, "type": "ether",
            },
            "default_ipv6": {},
        }),
    );
    assert_eq!(
        document["ansible_facts"]["ansible_br_int.7"]["device"], "br-int.7",
        "a dash becomes an underscore in the key"
    );
    assert_eq!(document["ansible_facts"]["ansible_kernel"], "5.14.0-427.el9.x86_64", "an interface replaces no fact");
}

#[test]
fn a_network_filesystem_is_listed_and_not_asked() {
    let document = facts_of(&machine());
    let mounts = &document["ansible_facts"]["ansible_mounts"];
    assert_eq!(mounts.as_array().unwrap().len(), 1, "memory is not a mount for Ansible: {mounts}");
    assert_eq!(mounts[0]["mount"], "/mnt/with space");
    assert_eq!(mounts[0]["options"], "rw,bind");
    assert!(mounts[0]["note"].as_str().unwrap().contains("nfs4") && mounts[0].get("size_total").is_none());
}

#[test]
fn only_missing_facts_are_reported() {
    let document = facts_of(&machine());
    let own_user = if rustix::process::getuid().is_root() { None } else { Some("ansible_user_id") };
    let mut want = vec![
        "ansible_mounts./mnt/with space",
        "ansible_local.bad",
        "ansible_kernel",
        "plumbline_facts.time.synchronised",
    ];
    want.extend(own_user);
    let mut failed = errors(&document);
    failed.sort_unstable();
    want.sort_unstable();
    assert_eq!(failed, want, "{:#}", document["errors"]);
}
