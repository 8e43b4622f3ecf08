//! The usage of the disks.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::ansible::{BindMounts, Mount, mounts};
use crate::gathering::Collector;
use crate::statvfs::{SizeCache, Sizes, is_remote};

/// Directories that harm a node when they fill up: those of the kubelet, the container runtimes,
/// etcd and the logs. The disk of each one is reported.
const PLACES: [&str; 6] =
    ["/var/lib/kubelet", "/var/lib/containerd", "/var/lib/containers", "/var/lib/docker", "/var/lib/etcd", "/var/log"];

/// Maximum number of disks. A node with many volumes has each of them mounted.
const MAX_DISKS: usize = 256;

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let Some((mounts, _)) = gathering.keep("plumbline_facts.disks", mounts(source)) else { return };
    let binds = BindMounts::read(source);
    let mut seen = BTreeSet::new();
    let disks: Vec<Mount> = mounts
        .into_iter()
        .filter(|mount| mount.device.starts_with("/dev/") && !is_remote(&mount.fstype) && !binds.contains(&mount.mount))
        .filter(|mount| seen.insert(mount.device.clone()))
        .collect();
    if disks.len() > MAX_DISKS {
        gathering.miss(
            "plumbline_facts.disks",
            format!("of {} disks, those after the first {MAX_DISKS} are left out", disks.len()),
        );
    }
    let mut asked = SizeCache::new(source);
    let mut told = Vec::new();
    for disk in disks.iter().take(MAX_DISKS) {
        match asked.sizes(&disk.mount, &disk.fstype) {
            Ok(sizes) => {
                let holds = PLACES.iter().filter(|place| source.is_directory(place) && on(&disks, place) == Some(disk));
                told.push(figures(disk, &sizes, &holds.copied().collect::<Vec<_>>()));
            }
            Err(reason) => gathering.miss(&format!("plumbline_facts.disks.{}", disk.mount), reason),
        }
    }
    gathering.own("disks", told);
}

/// Returns the disk that holds a path: the one with the longest mount point above it.
fn on<'a>(disks: &'a [Mount], path: &str) -> Option<&'a Mount> {
    let above = |disk: &&Mount| {
        let mount = disk.mount.trim_end_matches('/');
        path.strip_prefix(mount).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    disks.iter().filter(above).max_by_key(|disk| disk.mount.len())
}

fn figures(disk: &Mount, sizes: &Sizes, holds: &[&str]) -> Value {
    let bytes = |blocks: u64| sizes.unit.saturating_mul(blocks);
    let used = sizes.blocks.saturating_sub(sizes.free);
    let inodes_used = sizes.inodes.saturating_sub(sizes.inodes_available);
    json!({
        "mount": disk.mount,
        "device": disk.device,
        "fstype": disk.fstype,
        "size_bytes": bytes(sizes.blocks),
        "available_bytes": bytes(sizes.available),
        // The share of the space that unprivileged users can use, as `df` counts it.
        "used_percent": percent(used, used.saturating_add(sizes.available)),
        "inodes": sizes.inodes,
        "inodes_available": sizes.inodes_available,
        "inodes_used_percent": percent(inodes_used, sizes.inodes),
        "read_only": disk.options.split(',').any(|option| option == "ro"),
        "holds": holds,
    })
}

/// Returns the percentage with one decimal place, or 0 if `whole` is 0.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "one digit after the point is told")]
    let share = part as f64 / whole as f64;
    (share * 1000.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_and_safe() {
        assert!((percent(1, 3) - 33.3).abs() < f64::EPSILON);
        assert!(percent(0, 0).abs() < f64::EPSILON);
        assert!((percent(u64::MAX, u64::MAX) - 100.0).abs() < f64::EPSILON);
    }
}
