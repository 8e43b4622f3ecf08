//! Limits and use of resources: process limits, swap, disks, and the time that work waited.

use std::collections::BTreeSet;

use rustix::fs::StatVfs;
use serde_json::{Map, Value, json};

use crate::ansible::{MEMINFO, mebibytes};
use crate::collector::Collector;
use crate::mounts::{Mount, SizeQuery, bind_mounts, mounts};
use crate::source::{SMALL, Source};

/// Lines of `/proc/1/limits`, and their names in the facts.
const LIMITS: [(&str, &str); 6] = [
    ("Max open files", "open_files"),
    ("Max processes", "processes"),
    ("Max locked memory", "locked_memory"),
    ("Max core file size", "core_size"),
    ("Max pending signals", "pending_signals"),
    ("Max stack size", "stack_size"),
];

/// Directories that harm a node when they fill up: those of the kubelet, the container runtimes,
/// etcd and the logs. The disk of each one is reported.
const PLACES: [&str; 6] =
    ["/var/lib/kubelet", "/var/lib/containerd", "/var/lib/containers", "/var/lib/docker", "/var/lib/etcd", "/var/log"];

/// Maximum number of disks. A node with many volumes has each of them mounted.
const MAX_DISKS: usize = 256;

/// Gathers the resource limits of the first process, which every service inherits unless it sets
/// its own.
pub(super) fn limits(collector: &mut Collector<'_>) {
    if let Some(text) = collector.keep("plumbline_facts.limits", collector.source.text("/proc/1/limits", SMALL)) {
        collector.own("limits", parse_limits(&text));
    }
}

/// Parses the limits. Each line has name, soft limit, hard limit and unit. A limit is a number or
/// `unlimited`.
fn parse_limits(text: &str) -> Map<String, Value> {
    let limit = |text: Option<&str>| text.map(|text| text.parse::<u64>().map_or_else(|_| text.into(), Value::from));
    let line = |(title, name): &(&str, &str)| {
        let mut fields = text.lines().find_map(|line| line.strip_prefix(title))?.split_ascii_whitespace();
        let (soft, hard) = (limit(fields.next())?, limit(fields.next())?);
        Some(((*name).to_owned(), json!({"soft": soft, "hard": hard})))
    };
    LIMITS.iter().filter_map(line).collect()
}

pub(super) fn swap(collector: &mut Collector<'_>) {
    let source = collector.source;
    let meminfo = source.text(MEMINFO, SMALL);
    let Some(meminfo) = collector.keep("plumbline_facts.swap", meminfo) else { return };
    let total = collector.keep("plumbline_facts.swap.total_mb", mebibytes(&meminfo, "SwapTotal"));
    let free = collector.keep("plumbline_facts.swap.free_mb", mebibytes(&meminfo, "SwapFree"));
    // A kernel without swap does not have this file.
    let table = collector.keep_if_there("plumbline_facts.swap.devices", source.text("/proc/swaps", SMALL));
    let devices: Vec<Value> = table.unwrap_or_default().lines().skip(1).filter_map(swap_device).collect();
    collector.own("swap", json!({"total_mb": total, "free_mb": free, "devices": devices}));
}

/// Parses a line: file, type, size in KiB, use in KiB, priority.
fn swap_device(line: &str) -> Option<Value> {
    let mut fields = line.split_ascii_whitespace();
    let (path, kind) = (fields.next()?, fields.next()?);
    let (size, used): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let priority: i64 = fields.next()?.parse().ok()?;
    Some(json!({"device": path, "type": kind, "size_mb": size >> 10, "used_mb": used >> 10, "priority": priority}))
}

pub(super) fn disks(collector: &mut Collector<'_>) {
    let source = collector.source;
    let Some((mounts, _)) = collector.keep("plumbline_facts.disks", mounts(source)) else { return };
    let binds = bind_mounts(source);
    let mut seen = BTreeSet::new();
    let disks: Vec<Mount> = mounts
        .into_iter()
        .filter(|mount| mount.device.starts_with("/dev/") && !mount.is_remote() && !binds.contains(&mount.mount))
        .filter(|mount| seen.insert(mount.device.clone()))
        .collect();
    if disks.len() > MAX_DISKS {
        collector
            .miss("plumbline_facts.disks", format!("only the first {MAX_DISKS} of {} disks are read", disks.len()));
    }
    let mut query = SizeQuery::new(source);
    let mut found = Vec::new();
    for disk in disks.iter().take(MAX_DISKS) {
        match query.sizes(disk) {
            Ok(sizes) => {
                let holds = PLACES.iter().filter(|place| source.is_directory(place) && on(&disks, place) == Some(disk));
                found.push(figures(disk, &sizes, &holds.copied().collect::<Vec<_>>()));
            }
            Err(reason) => collector.miss(&format!("plumbline_facts.disks.{}", disk.mount), reason),
        }
    }
    collector.own("disks", found);
}

/// Returns the disk that holds a path: the one with the longest mount point above it.
fn on<'a>(disks: &'a [Mount], path: &str) -> Option<&'a Mount> {
    let above = |disk: &&Mount| {
        let mount = disk.mount.trim_end_matches('/');
        path.strip_prefix(mount).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    disks.iter().filter(above).max_by_key(|disk| disk.mount.len())
}

fn figures(disk: &Mount, sizes: &StatVfs, holds: &[&str]) -> Value {
    let used = sizes.f_blocks.saturating_sub(sizes.f_bfree);
    let inodes_used = sizes.f_files.saturating_sub(sizes.f_favail);
    json!({
        "mount": disk.mount,
        "device": disk.device,
        "fstype": disk.fstype,
        "size_bytes": sizes.f_frsize.saturating_mul(sizes.f_blocks),
        "available_bytes": sizes.f_frsize.saturating_mul(sizes.f_bavail),
        // The share of the space that unprivileged users can use, as `df` counts it.
        "used_percent": percent(used, used.saturating_add(sizes.f_bavail)),
        "inodes": sizes.f_files,
        "inodes_available": sizes.f_favail,
        "inodes_used_percent": percent(inodes_used, sizes.f_files),
        "read_only": disk.options.split(',').any(|option| option == "ro"),
        "holds": holds,
    })
}

/// Returns the percentage with one decimal place, or 0 if `whole` is 0.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "only one digit after the point is reported")]
    let share = part as f64 / whole as f64;
    (share * 1000.0).round() / 10.0
}

/// Gathers the kernel's pressure stall information: how long work waited for processors, memory and
/// disks.
pub(super) fn pressure(collector: &mut Collector<'_>) {
    let source = collector.source;
    let found = ["cpu", "io", "memory"].map(|resource| Some((resource.to_owned(), stalls(source, resource)?)));
    let found: Map<String, Value> = found.into_iter().flatten().collect();
    // Kernels without pressure stall information do not have these files. That is not an error.
    if !found.is_empty() {
        collector.own("pressure", found);
    }
}

/// Returns the percentage of time over 10, 60 and 300 seconds in which some or all work had to
/// wait.
fn stalls(source: &Source, resource: &str) -> Option<Value> {
    let text = source.value(&format!("/proc/pressure/{resource}")).ok()?;
    let mut found = Map::new();
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace();
        let kind = fields.next().filter(|kind| ["some", "full"].contains(kind))?;
        let averages: Map<String, Value> = fields
            .filter_map(|field| field.split_once('='))
            .filter(|(name, _)| name.starts_with("avg"))
            .filter_map(|(name, value)| Some((name.to_owned(), json!(value.parse::<f64>().ok()?))))
            .collect();
        found.insert(kind.to_owned(), averages.into());
    }
    Some(found.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn limits_are_numbers_or_unlimited() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1024                 524288               files     \nMax processes             unlimited            63422                processes \n";
        assert_eq!(
            Value::from(parse_limits(text)),
            json!({"open_files": {"soft": 1024, "hard": 524_288}, "processes": {"soft": "unlimited", "hard": 63422}})
        );
    }

    #[test]
    fn shares_are_rounded_and_safe() {
        assert!((percent(1, 3) - 33.3).abs() < f64::EPSILON);
        assert!(percent(0, 0).abs() < f64::EPSILON);
        assert!((percent(u64::MAX, u64::MAX) - 100.0).abs() < f64::EPSILON);
    }

    #[test]
    fn averages_are_numbers() {
        let tree = Tree::new();
        tree.file(
            "/proc/pressure/io",
            "some avg10=1.50 avg60=0.00 avg300=0.02 total=99\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=9\n",
        );
        let source = Source::new(tree.root());
        assert_eq!(
            stalls(&source, "io"),
            Some(json!({
                "some": {"avg10": 1.5, "avg60": 0.0, "avg300": 0.02},
                "full": {"avg10": 0.5, "avg60": 0.0, "avg300": 0.0},
            }))
        );
        assert_eq!(stalls(&source, "cpu"), None);
    }
}
