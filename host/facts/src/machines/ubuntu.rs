//! An Ubuntu server with logical volumes, a bond and a bridge.

use serde_json::json;

use super::{assert_facts, facts_of};
use crate::fixture::Tree;

fn server() -> Tree {
    let tree = Tree::new();
    for (path, content) in [
        (
            "/etc/os-release",
            "PRETTY_NAME=\"Ubuntu 22.04.4 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\nVERSION=\"22.04.4 LTS (Jammy Jellyfish)\"\nVERSION_CODENAME=jammy\nID=ubuntu\nID_LIKE=debian\n",
        ),
        ("/etc/debian_version", "bookworm/sid\n"),
        (
            "/etc/lsb-release",
            "DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=22.04\nDISTRIB_CODENAME=jammy\nDISTRIB_DESCRIPTION=\"Ubuntu 22.04.4 LTS\"\n",
        ),
        ("/sys/devices/virtual/dmi/id/sys_vendor", "Dell Inc.\n"),
        ("/sys/devices/virtual/dmi/id/product_serial", "ABC1234\n"),
        ("/sys/devices/virtual/dmi/id/chassis_type", "23\n"),
        ("/sys/kernel/security/apparmor/profiles", ""),
        ("/etc/iscsi/initiatorname.iscsi", "## comment\nInitiatorName=iqn.2004-10.com.ubuntu:01:abc\n"),
        ("/etc/nvme/hostnqn", "nqn.2014-08.org.nvmexpress:uuid:1\n"),
        ("/sys/class/fc_host/host0/port_name", "0x21000014ff52a9bb\n"),
        ("/sys/block/dm-0/dm/uuid", "LVM-abc\n"),
        ("/sys/block/dm-0/dm/name", "ubuntu--vg-root\n"),
        ("/sys/block/dm-0/size", "20971520\n"),
        ("/sys/block/dm-0/slaves/sda3/size", "1\n"),
        ("/sys/block/dm-1/dm/uuid", "CRYPT-LUKS2-x\n"),
        ("/sys/block/dm-1/dm/name", "secret\n"),
        ("/sys/class/net/bond0/bonding/slaves", "eno1 eno2\n"),
        ("/sys/class/net/bond0/bonding/mode", "802.3ad 4\n"),
        ("/sys/class/net/bond0/bonding/miimon", "100\n"),
        ("/sys/class/net/bond0/bonding/lacp_rate", "fast 1\n"),
        ("/sys/class/net/bond0/speed", "10000\n"),
        ("/sys/class/net/bonding_masters", "bond0\n"),
        ("/sys/class/net/cni0/flags", "0x1103\n"),
        ("/sys/class/net/cni0/operstate", "up\n"),
        ("/sys/class/net/cni0/bridge/bridge_id", "8000.0a58\n"),
        ("/sys/class/net/cni0/bridge/stp_state", "0\n"),
        ("/sys/class/net/cni0/brif/veth1/state", "3\n"),
        ("/proc/modules", "kvm_intel 1 0 - Live 0x0\nkvm 1 1 kvm_intel, Live 0x0\n"),
    ] {
        tree.file(path, content);
    }
    tree
}

#[test]
fn facts_of_a_server_with_logical_volumes() {
    let document = facts_of(&server());
    assert_facts(
        &document,
        json!({
            "distribution": "Ubuntu", "distribution_version": "22.04", "distribution_major_version": "22",
            "distribution_minor_version": null, "distribution_release": "jammy", "distribution_file_variety": "Debian",
            "os_family": "Debian", "pkg_mgr": "apt",
            "lsb": {"id": "Ubuntu", "release": "22.04", "codename": "jammy", "description": "Ubuntu 22.04.4 LTS", "major_release": "22"},
            "apparmor": {"status": "enabled"}, "form_factor": "Rack Mount Chassis", "product_serial": "ABC1234",
            "iscsi_iqn": "iqn.2004-10.com.ubuntu:01:abc", "hostnqn": "nqn.2014-08.org.nvmexpress:uuid:1",
            "fibre_channel_wwn": ["21000014ff52a9bb"],
            "lvm": {
                "lvs": {"root": {"size_g": "10.00", "vg": "ubuntu-vg"}},
                "vgs": {"ubuntu-vg": {"num_lvs": "1", "num_pvs": "1"}},
                "pvs": {"/dev/sda3": {"vg": "ubuntu-vg"}},
            },
            "virtualization_type": "kvm", "virtualization_role": "host",
            "interfaces": ["bond0", "cni0"],
            "cni0": {
                "device": "cni0", "type": "bridge", "active": true, "promisc": true,
                "interfaces": ["veth1"], "id": "8000.0a58", "stp": false,
            },
            "bond0": {
                "device": "bond0", "type": "bonding", "slaves": ["eno1", "eno2"], "mode": "802.3ad",
                "miimon": "100", "lacp_rate": "fast", "speed": 10000,
            },
        }),
    );
}
