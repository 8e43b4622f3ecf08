//! The groups of facts.

use plumbline_drift_common::name;
use plumbline_sdk::{Item, Status};
use serde_json::Value;

use crate::bound::Details;
use crate::document::Document;

/// The depth of groups: below the file.
pub(crate) const DEPTH: u32 = 1;

/// Maximum number of items for keys of Plumbline's own that this module does not know.
const MAX_UNKNOWN: usize = 64;

/// Facts in the format of Ansible's `setup`, by group.
const FACTS: &[(&str, &[&str])] = &[
    (
        "system",
        &[
            "hostname",
            "nodename",
            "fqdn",
            "domain",
            "machine_id",
            "system",
            "distribution",
            "distribution_version",
            "distribution_major_version",
            "distribution_release",
            "os_family",
            "architecture",
            "machine",
            "userspace_architecture",
            "system_vendor",
            "product_name",
            "product_version",
            "bios_version",
            "virtualization_type",
            "virtualization_role",
            "fips",
            "selinux",
            "apparmor",
            "service_mgr",
            "pkg_mgr",
            "uptime_seconds",
        ],
    ),
    ("kernel", &["kernel", "kernel_version", "cmdline"]),
    (
        "processors",
        &[
            "processor",
            "processor_model",
            "processor_count",
            "processor_cores",
            "processor_threads_per_core",
            "processor_vcpus",
            "processor_nproc",
        ],
    ),
    ("memory", &["memtotal_mb", "memfree_mb", "memavailable_mb", "swaptotal_mb", "swapfree_mb", "memory_mb"]),
    (
        "network",
        &["interfaces", "default_ipv4", "default_ipv6", "all_ipv4_addresses", "all_ipv6_addresses", "dns", "links"],
    ),
    ("mounts", &["mounts"]),
];

/// Plumbline's own facts, whose keys become the details of an item with this name.
const OWN: &[(&str, &str)] = &[
    ("kubelet", "kubelet"),
    ("container_runtime", "container runtime"),
    ("cgroup", "cgroup"),
    ("sysctls", "sysctls"),
    ("swap", "swap"),
];

/// Plumbline's own facts that may be among Ansible's: the names of details, and the keys of facts.
const OF_ANSIBLE: &[(&str, [(&str, &str); 2])] = &[
    ("cgroup", [("version", "cgroup_version"), ("controllers", "cgroup_controllers")]),
    ("swap", [("total_mb", "swaptotal_mb"), ("free_mb", "swapfree_mb")]),
];

/// Plumbline's own facts for which [`crate::judge`] emits items, or that belong to another group.
const ELSEWHERE: &[&str] = &["time", "certificates", "disks", "kernel_modules"];

/// Returns the groups of a document whose values are never wrong by themselves.
pub(crate) fn groups(document: &Document) -> impl Iterator<Item = Item> {
    let known = FACTS.iter().map(|(group, keys)| facts(document, group, keys));
    let own = OWN.iter().map(|(key, group)| own(document, key, group));
    let unknown = document
        .own_keys()
        .filter(|key| !ELSEWHERE.contains(key) && !OWN.iter().any(|(own, _)| own == key))
        .take(MAX_UNKNOWN)
        .map(|key| of_value(key, document.own(key)?));
    known.chain(own).chain(unknown).flatten()
}

fn item(group: &str) -> Details {
    Details::new(Item::new(DEPTH, name(group)).status(Status::Passed))
}

fn facts(document: &Document, group: &str, keys: &[&str]) -> Option<Item> {
    let mut details = item(group);
    for key in keys {
        if let Some(value) = document.fact(key) {
            details.add(key, value);
        }
    }
    if group == "kernel"
        && let Some(modules) = document.own("kernel_modules")
    {
        details.add("kernel_modules", modules);
    }
    details.finish()
}

fn own(document: &Document, key: &str, group: &str) -> Option<Item> {
    match document.own(key) {
        Some(value @ Value::Object(_)) => of_value(group, value),
        Some(value) => of_value(key, value),
        // In some documents, these values are among Ansible's facts.
        None => {
            let (_, keys) = OF_ANSIBLE.iter().find(|(own, _)| *own == key)?;
            let mut details = item(group);
            for (name, key) in keys {
                if let Some(value) = document.fact(key) {
                    details.add(name, value);
                }
            }
            details.finish()
        }
    }
}

fn of_value(group: &str, value: &Value) -> Option<Item> {
    let mut details = item(group);
    details.add_all(value);
    details.finish()
}
