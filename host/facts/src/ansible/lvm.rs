//! Logical volumes that are active, which are the ones that the kernel knows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::gathering::Collector;
use crate::source::Source;

const BLOCK: &str = "/sys/block";

/// The program that Ansible calls. Without it, Ansible reports no volumes.
const PROGRAMS: [&str; 2] = ["/usr/sbin/vgs", "/sbin/vgs"];

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let (volumes, groups, parts) = volumes(source);
    if volumes.is_empty() && !PROGRAMS.iter().any(|program| source.exists(program)) {
        gathering.set("lvm", "N/A");
        return;
    }
    if !groups.is_empty() {
        let reason = "the sizes of groups, and what is free in them, stand in metadata on the disks, which is not read";
        gathering.miss("lvm.vgs", reason.to_owned());
    }
    gathering.set("lvm", json!({"lvs": volumes, "vgs": groups, "pvs": parts}));
}

type Maps = (Map<String, Value>, Map<String, Value>, Map<String, Value>);

fn volumes(source: &Source) -> Maps {
    let mut volumes = Map::new();
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    let mut members: BTreeMap<String, (u64, BTreeSet<String>)> = BTreeMap::new();
    for device in source.names(BLOCK).unwrap_or_default() {
        let read = |file: &str| source.value(&format!("{BLOCK}/{device}/{file}"));
        if !read("dm/uuid").is_ok_and(|uuid| uuid.starts_with("LVM-")) {
            continue;
        }
        let Some((group, volume)) = read("dm/name").ok().and_then(|name| split(&name)) else { continue };
        let size = source.number(&format!("{BLOCK}/{device}/size")).unwrap_or_default();
        volumes.insert(volume, json!({"size_g": gibibytes(size), "vg": group}));
        let member = members.entry(group.clone()).or_default();
        member.0 += 1;
        for part in source.names(&format!("{BLOCK}/{device}/slaves")).unwrap_or_default() {
            let path = format!("/dev/{part}");
            member.1.insert(path.clone());
            parts.insert(path, group.clone());
        }
    }
    let groups = members
        .into_iter()
        .map(|(group, (volumes, parts))| {
            // Ansible has these numbers as strings.
            (group, json!({"num_lvs": volumes.to_string(), "num_pvs": parts.len().to_string()}))
        })
        .collect();
    (volumes, groups, parts.into_iter().map(|(path, group)| (path, json!({"vg": group}))).collect())
}

/// Splits a name of the form `group-volume`. A dash within either part is doubled.
fn split(name: &str) -> Option<(String, String)> {
    let bytes = name.as_bytes();
    let mut position = 0;
    while let Some(byte) = bytes.get(position) {
        match (byte, bytes.get(position + 1)) {
            (b'-', Some(b'-')) => position += 2,
            (b'-', _) => {
                let (group, volume) = (name.get(..position)?, name.get(position + 1..)?);
                return Some((group.replace("--", "-"), volume.replace("--", "-")));
            }
            _ => position += 1,
        }
    }
    None
}

/// Converts units of 512 bytes to GiB with two decimal places.
fn gibibytes(units: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "two digits after the point are shown")]
    let size = units as f64 / 2_097_152.0;
    format!("{size:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn active_volumes_are_found_with_their_groups_and_disks() {
        let tree = Tree::new();
        for (path, content) in [
            ("/sys/block/dm-0/dm/uuid", "LVM-abc\n"),
            ("/sys/block/dm-0/dm/name", "my--group-root\n"),
            ("/sys/block/dm-0/size", "20971520\n"),
            ("/sys/block/dm-0/slaves/sda3/size", "1\n"),
            ("/sys/block/dm-1/dm/uuid", "CRYPT-LUKS2-x\n"),
            ("/sys/block/dm-1/dm/name", "secret\n"),
        ] {
            tree.file(path, content);
        }
        let (volumes, groups, parts) = volumes(&Source::new(tree.root()));
        assert_eq!(Value::from(volumes), json!({"root": {"size_g": "10.00", "vg": "my-group"}}));
        assert_eq!(Value::from(groups), json!({"my-group": {"num_lvs": "1", "num_pvs": "1"}}));
        assert_eq!(Value::from(parts), json!({"/dev/sda3": {"vg": "my-group"}}));
    }
}
