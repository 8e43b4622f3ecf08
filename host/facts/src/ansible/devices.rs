//! Block devices.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::gathering::Collector;
use crate::source::Source;

const BLOCK: &str = "/sys/block";

/// The kinds of links to a device, and the directories that hold them.
const LINKS: [(&str, &str); 3] =
    [("ids", "/dev/disk/by-id"), ("uuids", "/dev/disk/by-uuid"), ("labels", "/dev/disk/by-label")];

/// Links by kind, then by device name.
type Links = BTreeMap<&'static str, BTreeMap<String, Vec<String>>>;

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let Some(names) = gathering.keep("devices", source.names(BLOCK)) else {
        gathering.set("devices", Map::new());
        return;
    };
    let links = links(source, &names);
    let devices: Map<String, Value> =
        names.iter().map(|name| (name.clone(), Value::from(device(source, name, &links)))).collect();
    gathering.set("devices", devices);
    gathering.set("device_links", json!(links));
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

fn links_of(links: &Links, name: &str) -> Value {
    let of: BTreeMap<_, _> =
        links.iter().map(|(kind, by)| (*kind, by.get(name).cloned().unwrap_or_default())).collect();
    json!(of)
}

fn device(source: &Source, name: &str, links: &Links) -> Map<String, Value> {
    let directory = format!("{BLOCK}/{name}");
    let text = |file: &str| source.value(&format!("{directory}/{file}")).ok();
    let (sectors, sectorsize, size) = size(source, &directory);
    let mut device = Map::new();
    let mut put = |key: &str, value: Value| drop(device.insert(key.to_owned(), value));
    // The sysfs entry is a link on every kernel of the last fifteen years. Ansible therefore
    // reports all such devices as virtual.
    put("virtual", 1.into());
    put("links", links_of(links, name));
    for key in ["vendor", "model", "sas_address", "sas_device_handle"] {
        put(key, json!(text(&format!("device/{key}"))));
    }
    if let Some(serial) = text("device/serial") {
        put("serial", serial.into());
    }
    put("removable", json!(text("removable")));
    let discards = text("queue/discard_max_hw_bytes").as_deref() != Some("0");
    put("support_discard", if discards { json!(text("queue/discard_granularity")) } else { "0".into() });
    let wwn = links
        .get("ids")
        .and_then(|ids| ids.get(name))
        .and_then(|ids| ids.iter().find_map(|id| id.strip_prefix("wwn-")));
    if let Some(wwn) = wwn {
        put("wwn", wwn.into());
    }
    put("partitions", partitions(source, name, links).into());
    put("rotational", json!(text("queue/rotational")));
    put("scheduler_mode", text("queue/scheduler").as_deref().and_then(chosen).unwrap_or_default().into());
    put("sectorsize", sectorsize);
    put("sectors", sectors.into());
    put("size", size.into());
    // Ansible asks `lspci` for this text, and reports an empty string without it.
    put("host", "".into());
    put("holders", holders(source, &directory).into());
    device
}

fn partitions(source: &Source, disk: &str, links: &Links) -> Map<String, Value> {
    let mut partitions = Map::new();
    for name in source.names(&format!("{BLOCK}/{disk}")).unwrap_or_default() {
        let directory = format!("{BLOCK}/{disk}/{name}");
        // Only partitions have a `start` file.
        let Ok(start) = source.value(&format!("{directory}/start")) else { continue };
        let (sectors, _, size) = size(source, &directory);
        let uuid = links.get("uuids").and_then(|uuids| uuids.get(&name)).and_then(|uuids| uuids.first());
        let mut partition = json!({
            "links": links_of(links, &name),
            "start": start,
            "sectors": sectors,
            "size": size,
            "uuid": uuid,
            "holders": holders(source, &directory),
        });
        // A partition has no queue of its own. Ansible then counts in units of 512 bytes, as a
        // number.
        if let Value::Object(fields) = &mut partition {
            fields.insert("sectorsize".to_owned(), 512.into());
        }
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
    let units = ["Bytes", "KB", "MB", "GB", "TB", "PB", "EB"];
    #[expect(clippy::cast_precision_loss, reason = "two digits after the point are shown")]
    let mut size = bytes as f64;
    let mut units = units.into_iter();
    let mut unit = units.next().unwrap_or_default();
    while size >= 1024.0 {
        let Some(larger) = units.next() else { break };
        size /= 1024.0;
        unit = larger;
    }
    format!("{size:.2} {unit}")
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
        let disk = Value::from(device(&source, "sda", &links));
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
}
