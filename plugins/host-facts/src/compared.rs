//! The facts that are compared between nodes, and their names.

use plumbline_sdk::{Detail, Item};
use serde_json::Value;

use crate::document::number;
use crate::options::Options;

/// Maximum number of bytes to keep of a value. Longer values are still compared as a whole, by a
/// checksum.
const MAX_VALUE: usize = 300;

/// Sysctls that depend on the size of the machine or are specific to it. They say nothing about its
/// configuration.
const OF_THE_MACHINE: &[&str] = &[
    "fs.file-max",
    "fs.inode-nr",
    "fs.inode-state",
    "fs.file-nr",
    "kernel.hostname",
    "kernel.domainname",
    "kernel.osrelease",
    "kernel.version",
    "kernel.pid_max",
    "kernel.threads-max",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_max_orphans",
    "net.ipv4.udp_mem",
    "net.netfilter.nf_conntrack_buckets",
    "net.netfilter.nf_conntrack_count",
    "net.netfilter.nf_conntrack_max",
    "user.max_user_namespaces",
    "vm.lowmem_reserve_ratio",
    "vm.min_free_kbytes",
];

/// Settings of a kubelet that are specific to the node, and therefore always differ.
const OF_THE_NODE: &[&str] = &["address", "healthzBindAddress", "providerID", "tlsCertFile", "tlsPrivateKeyFile"];

/// Passes the facts of the group `item` that are compared to `tell`, each with its name and its
/// value as text.
pub(crate) fn compared(item: &Item, options: &Options, mut tell: impl FnMut(String, String)) {
    let mut tell = |fact: String, value: String| {
        if !options.ignores(&fact) {
            tell(fact, value);
        }
    };
    for (key, detail) in &item.details {
        let value = value(detail);
        match (item.name.as_str(), key.as_str()) {
            ("kernel", "kernel") => tell("kernel".to_owned(), text(&value)),
            ("kubelet" | "container runtime", "version") | ("container runtime", "name") | ("cgroup", "version") => {
                tell(format!("{} {key}", item.name), text(&value));
            }
            ("cgroup", "controllers") => tell("cgroup controllers".to_owned(), text(&sorted(value))),
            ("kubelet" | "container runtime", "config") => {
                let Value::Object(fields) = value else { continue };
                for (key, value) in fields.into_iter().filter(|(key, _)| !OF_THE_NODE.contains(&key.as_str())) {
                    tell(format!("{} config {key}", item.name), text(&value));
                }
            }
            ("sysctls", "cut") => {}
            ("sysctls", key) if OF_THE_MACHINE.contains(&key) || key.starts_with("kernel.random.") => {}
            ("sysctls", key) => tell(format!("sysctl {key}"), text(&value)),
            ("time", "synchronised") => tell("time synchronised".to_owned(), text(&value)),
            ("time", "offset_seconds") => {
                if let Some(offset) = number(&value) {
                    let limit = options.clock_offset_seconds;
                    // Offsets are never equal, so all offsets within the limit count as the same
                    // value.
                    let shown =
                        if offset.abs() <= limit { format!("within {limit} s") } else { format!("{offset:.1} s") };
                    tell("time offset".to_owned(), shown);
                }
            }
            ("swap", "total_mb") => {
                if let Some(total) = number(&value) {
                    tell("swap".to_owned(), if total > 0.0 { "on" } else { "off" }.to_owned());
                }
            }
            _ => {}
        }
    }
}

/// Passes the properties by which nodes are counted to `tell`.
pub(crate) fn counted(item: &Item, mut tell: impl FnMut(&'static str, String)) {
    let get = |key: &str| item.details.iter().find(|(name, _)| name == key).map(|(_, detail)| text(&value(detail)));
    let version = || get("version").unwrap_or_else(|| "unknown version".to_owned());
    match item.name.as_str() {
        "system" => {
            if let Some(distribution) = get("distribution") {
                let version = get("distribution_version").unwrap_or_default();
                tell("distribution", format!("{distribution} {version}").trim().to_owned());
            }
            if let Some(architecture) = get("architecture") {
                tell("architecture", architecture);
            }
        }
        "kernel" => {
            if let Some(kernel) = get("kernel") {
                tell("kernel", kernel);
            }
        }
        "kubelet" if get("version").is_some() => tell("kubelet", version()),
        "container runtime" => {
            if let Some(name) = get("name") {
                tell("container runtime", format!("{name} {}", version()));
            }
        }
        _ => {}
    }
}

fn value(detail: &Detail) -> Value {
    match detail {
        Detail::Text(text) => Value::String(text.clone()),
        Detail::Json(json) => serde_json::from_str(json).unwrap_or_default(),
    }
}

/// Returns a value as text, so that `2` and `"2"` are the same. A long value ends with a checksum
/// of the whole.
fn text(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    if text.len() <= MAX_VALUE {
        return text;
    }
    // FNV-1a. It need not be secure: it only distinguishes long values with the same start.
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    let kept = text.get(..text.floor_char_boundary(MAX_VALUE)).unwrap_or_default();
    format!("{kept}… ({} bytes, checksum {hash:016x})", text.len())
}

/// Sorts a list, because the order of controllers has no meaning.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(mut values) => {
            values.sort_by_key(Value::to_string);
            Value::Array(values)
        }
        other => other,
    }
}
