//! Documents for tests, and helpers to process them.

use plumbline_core::{FlatItem, Item, item, rollup};
use plumbline_module_host_facts::HostFacts;
use plumbline_sdk::testing::{Case, Run};
use serde_json::{Value, json};

/// Returns the document of a healthy node.
pub(crate) fn document() -> Value {
    json!({
        "ansible_facts": {
            "ansible_hostname": "n1", "ansible_kernel": "6.1.0-18-amd64", "ansible_distribution": "Debian",
            "ansible_distribution_version": "12", "ansible_architecture": "x86_64", "ansible_processor_vcpus": 4,
            "ansible_memtotal_mb": 7900, "ansible_interfaces": ["eth0", "lo"],
            "ansible_mounts": [{"mount": "/", "fstype": "ext4"}]
        },
        "plumbline_facts": {
            "cgroup": {"version": 2, "controllers": ["cpu", "memory"]},
            "kubelet": {"version": "v1.33.1", "config_file": "/var/lib/kubelet/config.yaml", "config": {"maxPods": 110}},
            "container_runtime": {"name": "containerd", "version": "2.1.0", "config": {"SystemdCgroup": true}},
            "kernel_modules": ["br_netfilter", "overlay"],
            "sysctls": {"net.ipv4.ip_forward": "1", "vm.min_free_kbytes": "67584"},
            "swap": {"total_mb": 0, "free_mb": 0, "devices": []},
            "time": {"synchronised": true, "offset_seconds": 0.002, "source": "chrony", "epoch": 1_795_280_160.5},
            "certificates": [
                {"path": "/var/lib/kubelet/pki/kubelet.crt", "subject": "CN=n1", "not_after": "2027-11-21T16:56:00Z"}
            ],
            "disks": [{"mount": "/", "size_total": 100, "used_percent": 41.5}]
        },
        "errors": []
    })
}

/// Returns `document` with other values in some places, such as `/plumbline_facts/time`.
pub(crate) fn with(changes: &[(&str, Value)]) -> Value {
    let mut document = document();
    for (pointer, value) in changes {
        match document.pointer_mut(pointer) {
            Some(place) => *place = value.clone(),
            None => {
                let (parent, key) = pointer.rsplit_once('/').unwrap();
                document.pointer_mut(parent).unwrap()[key] = value.clone();
            }
        }
    }
    document
}

/// Processes one document.
pub(crate) fn process(document: &Value) -> Run {
    Case::new().file("results/n1/host-facts.json", document.to_string()).run::<HostFacts>()
}

/// Returns a case with the items of these documents, one per node.
pub(crate) fn nodes(documents: &[(&str, Value)]) -> Case {
    let add = |case: Case, (node, document): &(&str, Value)| case.results(*node, process(document).items);
    documents.iter().fold(Case::new().driver("DaemonSet"), add)
}

/// Returns the tree as the host writes it, rolled up.
pub(crate) fn rolled_up(run: &Run) -> Item {
    assert_eq!(run.outcome, Ok(()));
    let items: Vec<FlatItem> = serde_json::from_value(run.to_json()).unwrap();
    let mut root = Item { name: "facts".to_owned(), items: item::build(items).unwrap(), ..Item::default() };
    rollup::roll_up(&mut root);
    root
}

/// Returns a detail of the first item with this name.
pub(crate) fn detail(run: &Run, item: &str, key: &str) -> Value {
    let json = run.to_json();
    let found = json.as_array().unwrap().iter().find(|found| found["name"] == item);
    found.unwrap_or_else(|| panic!("no `{item}`:\n{}", run.outline()))["details"][key].clone()
}
