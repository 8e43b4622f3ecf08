//! A cluster node: an image-based system with a kubelet and containerd.

use serde_json::json;

use super::{assert_facts, errors, facts_of};
use crate::collector::Options;
use crate::fixture::Tree;
use crate::gather;

fn node() -> Tree {
    let tree = Tree::new();
    for (path, content) in [
        (
            "/etc/os-release",
            "NAME=\"Flatcar Container Linux by Kinvolk\"\nID=flatcar\nID_LIKE=coreos\nVERSION=3815.2.0\nVERSION_ID=3815.2.0\n",
        ),
        ("/proc/1/comm", "systemd\n"),
        ("/opt/bin/kubelet", "a program\n"),
        ("/usr/bin/containerd", "a program\n"),
        ("/run/containerd/containerd.sock", ""),
        (
            "/etc/containerd/config.toml",
            "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nsandbox_image = \"pause:3.9\"\n",
        ),
        (
            "/var/lib/kubelet/config.yaml",
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 110\ncgroupDriver: systemd\nclusterDNS:\n- 10.96.0.10\nstaticPodURLHeader:\n  Authorization: [\"Bearer s3cr3t\"]\nevictionHard:\n  memory.available: 100Mi\nauthentication:\n  anonymous:\n    enabled: false\n",
        ),
        ("/proc/modules", "vxlan 1 0 - Live 0x0\nbr_netfilter 2 0 - Live 0x0\n"),
        ("/proc/sys/net/ipv4/ip_forward", "1\n"),
        ("/proc/sys/vm/max_map_count", "262144\n"),
        ("/run/systemd/timesync/synchronized", ""),
        ("/sys/fs/cgroup/cgroup.controllers", "memory cpu\n"),
        ("/proc/meminfo", "MemTotal: 1024 kB\nMemFree: 1024 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"),
        ("/etc/kubernetes/admin.conf", "kind: Config\nusers: [{user: {token: s3cr3t}}]\n"),
        ("/etc/kubernetes/pki/ca.key", "s3cr3t\n"),
    ] {
        tree.file(path, content);
    }
    for program in ["/opt/bin/kubelet", "/usr/bin/containerd"] {
        tree.mode(program, 0o755);
    }
    tree
}

#[test]
fn a_node_tells_what_drifts_between_nodes() {
    let document = facts_of(&node());
    let own = &document["plumbline_facts"];
    assert_eq!(
        own["kubelet"],
        json!({
            "config_file": "/var/lib/kubelet/config.yaml",
            "config": {
                "maxPods": 110, "cgroupDriver": "systemd", "clusterDNS": "10.96.0.10",
                "evictionHard.memory.available": "100Mi", "authentication.anonymous.enabled": false,
            },
        })
    );
    assert_eq!(
        own["container_runtime"],
        json!({
            "name": "containerd", "config_file": "/etc/containerd/config.toml",
            "config": {"version": 2, "plugins.io.containerd.grpc.v1.cri.sandbox_image": "pause:3.9"},
        })
    );
    assert_eq!(own["cgroup"], json!({"version": 2, "controllers": ["cpu", "memory"]}));
    assert_eq!(own["kernel_modules"], json!(["br_netfilter", "vxlan"]));
    assert_eq!(own["sysctls"], json!({"net.ipv4.ip_forward": "1", "vm.max_map_count": "262144"}));
    assert_eq!(own["swap"], json!({"total_mb": 0, "free_mb": 0, "devices": []}));
    assert_eq!((&own["time"]["synchronised"], &own["time"]["source"]), (&json!(true), &json!("systemd-timesyncd")));
    assert!(own["time"]["epoch"].as_f64().unwrap() > 1.7e9);
    assert_facts(
        &document,
        json!({"distribution": "Flatcar", "distribution_version": "3815.2.0", "os_family": "Flatcar", "pkg_mgr": "unknown"}),
    );
    assert!(!document.to_string().contains("s3cr3t"));
}

#[test]
fn versions_need_leave_to_run_programs_and_a_way_in() {
    let tree = node();
    let reason = |document: &serde_json::Value| {
        let error = document["errors"].as_array().unwrap().iter();
        let mut error = error.filter(|error| error["fact"] == "plumbline_facts.kubelet.version");
        error.next().unwrap()["reason"].as_str().unwrap().to_owned()
    };
    let document = facts_of(&tree);
    assert!(errors(&document).contains(&"plumbline_facts.container_runtime.version"));
    assert!(reason(&document).ends_with("`--run-programs` was not given"), "{}", reason(&document));
    let options = Options { run_programs: true, ..Options::new(tree.root()) };
    let document = serde_json::from_str(&gather(&options).to_json()).unwrap();
    assert!(reason(&document).starts_with("/opt/bin/kubelet was not run: "), "{}", reason(&document));
}
