//! Block devices, logical volumes, mounts, and the names for storage networks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::collector::{Collector, present};
use crate::mounts::{SizeQuery, bind_mounts, mounts};
use crate::source::{SMALL, Source};

const BLOCK: &str = "/sys/block";
const BY_UUID: &str = "/dev/disk/by-uuid";
const FIBRE_CHANNEL: &str = "/sys/class/fc_host";

/// The kinds of links to a device, and the directories that hold them.
const LINKS: [(&str, &str); 3] = [("ids", "/dev/disk/by-id"), ("uuids", BY_UUID), ("labels", "/dev/disk/by-label")];

/// The program that Ansible calls for logical volumes. Without it, Ansible reports none.
const VGS: [&str; 2] = ["/usr/sbin/vgs", "/sbin/vgs"];

/// Links by kind, then by device name.
type Links = BTreeMap<&'static str, BTreeMap<String, Vec<String>>>;

/// Gathers block devices, logical volumes and mounts.
pub(super) fn gather(collector: &mut Collector<'_>) {
    devices(collector);
    volumes(collector);
    filesystems(collector);
}

fn devices(collector: &mut Collector<'_>) {
    let source = collector.source;
    let Some(names) = collector.keep("devices", source.names(BLOCK)) else {
        collector.set("devices", Map::new());
        return;
    };
    let links = links(source, &names);
    let devices = names.iter().map(|name| (name.clone(), device(source, name, &links)));
    collector.set("devices", devices.collect::<Map<_, _>>());
    collector.set("device_links", json!(links));
}

fn links(source: &Source, names: &[String]) -> Links {
    let mut links: Links = BTreeMap::new();
    for (kind, directory) in LINKS {
        let found = links.entry(kind).or_default();
        for entry in source.names(directory).unwrap_or_default() {
            if let Some(target) = source.link_name(&format!("{directory}/{entry}")) {
                found.entry(target).or_default().push(entry);
            }
        }
    }
    // A device that is made of others is their master.
    let masters = links.entry("masters").or_default();
    for name in names {
        for part in source.names(&format!("{BLOCK}/{name}/slaves")).unwrap_or_default() {
            masters.entry(part).or_default().push(name.clone());
        }
    }
    links
}

fn links_of<'a>(links: &'a Links, name: &str) -> BTreeMap<&'static str, &'a [String]> {
    links.iter().map(|(kind, by)| (*kind, by.get(name).map(Vec::as_slice).unwrap_or_default())).collect()
}

fn device(source: &Source, name: &str, links: &Links) -> Value {
    let directory = format!("{BLOCK}/{name}");
    let text = |file: &str| source.value(&format!("{directory}/{file}")).ok();
    let (sectors, sectorsize, size) = size(source, &directory);
    let links_here = links_of(links, name);
    let discards = text("queue/discard_max_hw_bytes").as_deref() != Some("0");
    let scheduler = text("queue/scheduler");
    let mut device = json!({
        // The sysfs entry is a link on every kernel of the last fifteen years. Ansible therefore
        // reports all such devices as virtual.
        "virtual": 1,
        "vendor": text("device/vendor"),
        "model": text("device/model"),
        "sas_address": text("device/sas_address"),
        "sas_device_handle": text("device/sas_device_handle"),
        "removable": text("removable"),
        "support_discard": if discards { text("queue/discard_granularity") } else { Some("0".to_owned()) },
        "partitions": partitions(source, name, links),
        "rotational": text("queue/rotational"),
        "scheduler_mode": scheduler.as_deref().and_then(chosen).unwrap_or_default(),
        "sectorsize": sectorsize,
        "sectors": sectors,
        "size": size,
        // Ansible asks `lspci` for this text, and reports an empty string without it.
        "host": "",
        "holders": holders(source, &directory),
    });
    // These have no value `null`, unlike the others.
    let wwn = links_here.get("ids").and_then(|ids| ids.iter().find_map(|id| id.strip_prefix("wwn-")));
    let optional = present(json!({"links": links_here, "serial": text("device/serial"), "wwn": wwn}));
    if let Value::Object(fields) = &mut device {
        fields.extend(optional);
    }
    device
}

fn partitions(source: &Source, disk: &str, links: &Links) -> Map<String, Value> {
    let mut partitions = Map::new();
    for name in source.names(&format!("{BLOCK}/{disk}")).unwrap_or_default() {
        let directory = format!("{BLOCK}/{disk}/{name}");
        // Only partitions have a `start` file.
        let Ok(start) = source.value(&format!("{directory}/start")) else { continue };
        let (sectors, _, size) = size(source, &directory);
        let links = links_of(links, &name);
        let partition = json!({
            "start": start,
            "sectors": sectors,
            // A partition has no queue of its own. Ansible then counts in units of 512 bytes, as a
            // number.
            "sectorsize": 512,
            "size": size,
            "uuid": links.get("uuids").and_then(|uuids| uuids.first()),
            "links": links,
            "holders": holders(source, &directory),
        });
        partitions.insert(name, partition);
    }
    partitions
}

/// Returns the number of sectors, the sector size as the file states it, and the total size for
/// people.
fn size(source: &Source, directory: &str) -> (u64, Value, String) {
    let text = ["logical_block_size", "hw_sector_size"]
        .iter()
        .find_map(|file| source.value(&format!("{directory}/queue/{file}")).ok());
    let bytes = text.as_deref().and_then(|text| text.parse::<u64>().ok()).filter(|bytes| *bytes > 0).unwrap_or(512);
    // The kernel counts in units of 512 bytes here, whatever the sector size of the device is.
    let units = source.number(&format!("{directory}/size")).unwrap_or_default();
    let sectors = units.saturating_mul(512) / bytes;
    let sectorsize = text.map_or_else(|| 512.into(), Value::from);
    (sectors, sectorsize, human(sectors.saturating_mul(bytes)))
}

/// Returns the device-mapper devices on top of this device, by their device-mapper names.
fn holders(source: &Source, directory: &str) -> Vec<String> {
    let names = source.names(&format!("{directory}/holders")).unwrap_or_default();
    let mapped = names.into_iter().filter(|name| name.starts_with("dm-"));
    mapped.map(|name| source.value(&format!("{directory}/holders/{name}/dm/name")).unwrap_or(name)).collect()
}

/// Returns the text in brackets, for example `mq-deadline` in `none [mq-deadline] kyber`.
fn chosen(schedulers: &str) -> Option<&str> {
    schedulers.split_once('[')?.1.split_once(']').map(|(chosen, _)| chosen)
}

/// Formats a size as Ansible does: two decimal places, in units of 1,024.
fn human(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "two digits after the point are shown")]
    let mut size = bytes as f64;
    let mut units = ["Bytes", "KB", "MB", "GB", "TB", "PB", "EB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while size >= 1024.0
        && let Some(larger) = units.next()
    {
        size /= 1024.0;
        unit = larger;
    }
    format!("{size:.2} {unit}")
}

/// Gathers the logical volumes that are active, which are the ones that the kernel knows.
fn volumes(collector: &mut Collector<'_>) {
    let source = collector.source;
    let lvm = logical_volumes(source);
    let is_empty = |key: &str| lvm.get(key).and_then(Value::as_object).is_none_or(Map::is_empty);
    if is_empty("lvs") && !VGS.iter().any(|program| source.exists(program)) {
        collector.set("lvm", "N/A");
        return;
    }
    if !is_empty("vgs") {
        collector
            .miss("lvm.vgs", "sizes and free space of volume groups are in metadata on the disks, which is not read");
    }
    collector.set("lvm", lvm);
}

fn logical_volumes(source: &Source) -> Value {
    let mut volumes = Map::new();
    let mut parts = Map::new();
    let mut groups: BTreeMap<String, (u64, BTreeSet<String>)> = BTreeMap::new();
    for device in source.names(BLOCK).unwrap_or_default() {
        let read = |file: &str| source.value(&format!("{BLOCK}/{device}/{file}"));
        if !read("dm/uuid").is_ok_and(|uuid| uuid.starts_with("LVM-")) {
            continue;
        }
        let Some((group, volume)) = read("dm/name").ok().and_then(|name| split_volume(&name)) else { continue };
        let units = source.number(&format!("{BLOCK}/{device}/size")).unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "two digits after the point are shown")]
        let gibibytes = units as f64 / 2_097_152.0;
        volumes.insert(volume, json!({"size_g": format!("{gibibytes:.2}"), "vg": group}));
        let (count, members) = groups.entry(group.clone()).or_default();
        *count += 1;
        for part in source.names(&format!("{BLOCK}/{device}/slaves")).unwrap_or_default() {
            let path = format!("/dev/{part}");
            parts.insert(path.clone(), json!({"vg": group}));
            members.insert(path);
        }
    }
    // Ansible has these numbers as strings.
    let group = |(name, (volumes, parts)): (String, (u64, BTreeSet<String>))| {
        (name, json!({"num_lvs": volumes.to_string(), "num_pvs": parts.len().to_string()}))
    };
    json!({"lvs": volumes, "vgs": groups.into_iter().map(group).collect::<Map<_, _>>(), "pvs": parts})
}

/// Splits a name of the form `group-volume`. A dash within either part is doubled.
fn split_volume(name: &str) -> Option<(String, String)> {
    let mut dashes = 0;
    for (position, c) in name.char_indices() {
        if c == '-' {
            dashes += 1;
        } else if dashes % 2 == 1 {
            let (group, volume) = (name.get(..position - 1)?, name.get(position..)?);
            return Some((group.replace("--", "-"), volume.replace("--", "-")));
        } else {
            dashes = 0;
        }
    }
    None
}

fn filesystems(collector: &mut Collector<'_>) {
    let source = collector.source;
    let Some((mounts, cut)) = collector.keep("mounts", mounts(source)) else { return };
    if let Some(cut) = cut {
        collector.miss("mounts", cut);
    }
    let binds = bind_mounts(source);
    let mut query = SizeQuery::new(source);
    let mut listed = Vec::new();
    // Ansible lists devices and network filesystems.
    let is_listed = |device: &str| device.starts_with(['/', '\\']) || device.contains(":/");
    for mount in mounts.into_iter().filter(|mount| is_listed(&mount.device) && mount.fstype != "none") {
        let is_bind = binds.contains(&mount.mount) && !mount.options.contains("bind");
        let mut entry = json!({
            "mount": mount.mount,
            "device": mount.device,
            "fstype": mount.fstype,
            "options": if is_bind { format!("{},bind", mount.options) } else { mount.options.clone() },
            "dump": mount.dump,
            "passno": mount.passno,
            "uuid": uuid(source, &mount.device),
        });
        let more = match query.sizes(&mount) {
            Ok(sizes) => json!({
                "size_total": sizes.f_frsize.saturating_mul(sizes.f_blocks),
                "size_available": sizes.f_frsize.saturating_mul(sizes.f_bavail),
                "block_size": sizes.f_bsize,
                "block_total": sizes.f_blocks,
                "block_available": sizes.f_bavail,
                "block_used": sizes.f_blocks.saturating_sub(sizes.f_bavail),
                "inode_total": sizes.f_files,
                "inode_available": sizes.f_favail,
                "inode_used": sizes.f_files.saturating_sub(sizes.f_favail),
            }),
            Err(reason) => {
                let note = format!("Could not get extra information: {reason}");
                collector.miss(&format!("mounts.{}", mount.mount), reason);
                json!({"note": note})
            }
        };
        if let Value::Object(fields) = &mut entry {
            fields.extend(present(more));
        }
        listed.push(entry);
    }
    collector.set("mounts", listed);
}

/// Returns the UUID of the filesystem on a device, according to the links that udev makes.
fn uuid(source: &Source, device: &str) -> String {
    let found = device.strip_prefix("/dev/").and_then(|name| {
        // The readable name of a mapped device is a link to the name that udev knows.
        let real = source.link_name(device).unwrap_or_else(|| name.to_owned());
        let names = source.names(BY_UUID).ok()?;
        names.into_iter().find(|uuid| source.link_name(&format!("{BY_UUID}/{uuid}")).as_deref() == Some(&real))
    });
    found.unwrap_or_else(|| "N/A".to_owned())
}

/// Gathers the names by which the machine identifies itself to storage.
pub(super) fn initiators(collector: &mut Collector<'_>) {
    let source = collector.source;
    // The first line with a value counts. Without one, or without the file, the value is empty.
    let line = |path: &str, value: fn(&str) -> Option<&str>| {
        let text = source.text(path, SMALL).unwrap_or_default();
        text.lines().find_map(|line| value(line.trim())).unwrap_or_default().to_owned()
    };
    collector.set("iscsi_iqn", line("/etc/iscsi/initiatorname.iscsi", |line| line.strip_prefix("InitiatorName=")));
    collector.set("hostnqn", line("/etc/nvme/hostnqn", |line| line.starts_with("nqn.").then_some(line)));
    let ports = source.names(FIBRE_CHANNEL).unwrap_or_default();
    let names = ports.iter().filter_map(|port| source.value(&format!("{FIBRE_CHANNEL}/{port}/port_name")).ok());
    let names: Vec<String> = names.map(|name| name.strip_prefix("0x").unwrap_or(&name).to_owned()).collect();
    collector.set("fibre_channel_wwn", names);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn sizes_are_written_as_ansible_writes_them() {
        for (bytes, want) in
            [(0, "0.00 Bytes"), (1023, "1023.00 Bytes"), (1024, "1.00 KB"), (274_877_906_944, "256.00 GB")]
        {
            assert_eq!(human(bytes), want);
        }
    }

    #[test]
    fn a_disk_with_a_partition_and_a_volume_on_it() {
        let tree = Tree::new();
        for (path, content) in [
            ("/sys/block/sda/size", "2097152\n"),
            ("/sys/block/sda/removable", "0\n"),
            ("/sys/block/sda/device/vendor", "ATA     \n"),
            ("/sys/block/sda/device/model", "Disk 9000\n"),
            ("/sys/block/sda/queue/logical_block_size", "4096\n"),
            ("/sys/block/sda/queue/rotational", "1\n"),
            ("/sys/block/sda/queue/scheduler", "none [mq-deadline]\n"),
            ("/sys/block/sda/queue/discard_max_hw_bytes", "0\n"),
            ("/sys/block/sda/queue/discard_granularity", "4096\n"),
            ("/sys/block/sda/sda1/start", "2048\n"),
            ("/sys/block/sda/sda1/size", "2048\n"),
            ("/sys/block/sda/sda1/holders/dm-0/dm/name", "vg-root\n"),
            ("/sys/block/dm-0/size", "2048\n"),
            ("/sys/block/dm-0/slaves/sda1/size", "2048\n"),
        ] {
            tree.file(path, content);
        }
        tree.link("/dev/disk/by-id/wwn-0x5000", "../../sda");
        tree.link("/dev/disk/by-uuid/1234-ABCD", "../../sda1");
        let source = Source::new(tree.root());
        let names = source.names(BLOCK).unwrap();
        let links = links(&source, &names);
        let disk = device(&source, "sda", &links);
        assert_eq!(
            disk,
            json!({
                "virtual": 1, "vendor": "ATA", "model": "Disk 9000", "sas_address": null, "sas_device_handle": null,
                "links": {"ids": ["wwn-0x5000"], "uuids": [], "labels": [], "masters": []}, "wwn": "0x5000",
                "removable": "0", "rotational": "1", "scheduler_mode": "mq-deadline", "support_discard": "0",
                "sectorsize": "4096", "sectors": 262_144, "size": "1.00 GB", "host": "", "holders": [],
                "partitions": {"sda1": {
                    "links": {"ids": [], "uuids": ["1234-ABCD"], "labels": [], "masters": ["dm-0"]},
                    "start": "2048", "sectors": 2048, "sectorsize": 512, "size": "1.00 MB", "uuid": "1234-ABCD",
                    "holders": ["vg-root"],
                }},
            })
        );
    }

    #[test]
    fn devices_have_the_identity_that_udev_linked() {
        let tree = Tree::new();
        tree.link("/dev/disk/by-uuid/aaaa", "../../dm-0");
        tree.link("/dev/disk/by-uuid/bbbb", "../../sda1");
        tree.link("/dev/mapper/vg-root", "../dm-0");
        let source = Source::new(tree.root());
        assert_eq!(uuid(&source, "/dev/mapper/vg-root"), "aaaa");
        assert_eq!(uuid(&source, "/dev/sda1"), "bbbb");
        assert_eq!(uuid(&source, "/dev/sdb1"), "N/A");
        assert_eq!(uuid(&source, "server:/export"), "N/A");
    }
}
