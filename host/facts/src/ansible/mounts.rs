//! The mounted filesystems.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::gathering::Collector;
use crate::source::{Source, TABLE, Unreadable};
use crate::statvfs::{SizeCache, Sizes};

/// Ansible's value for a filesystem with an unknown UUID.
const UNKNOWN: &str = "N/A";

/// A mounted filesystem: one line of `/proc/mounts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) device: String,
    pub(crate) mount: String,
    pub(crate) fstype: String,
    pub(crate) options: String,
    dump: u64,
    passno: u64,
}

impl Mount {
    /// Returns true for mounts that Ansible lists: devices, and network filesystems.
    pub(crate) fn is_listed(&self) -> bool {
        (self.device.starts_with(['/', '\\']) || self.device.contains(":/")) && self.fstype != "none"
    }
}

/// Returns the mounts in mount order, and a message if the table was truncated.
pub(crate) fn mounts(source: &Source) -> Result<(Vec<Mount>, Option<String>), Unreadable> {
    let path = source.process_file("mounts");
    let head = source.head(&path, TABLE)?;
    let mut text = head.text.as_str();
    let mut cut = None;
    if head.cut {
        // The last line may be incomplete.
        text = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        cut = Some(format!("{path} holds more than {TABLE} bytes: the mounts after those are left out"));
    }
    Ok((text.lines().filter_map(mount).collect(), cut))
}

/// Mount points that show only a part of a filesystem, such as bind mounts and subvolumes.
#[derive(Debug, Default)]
pub(crate) struct BindMounts(BTreeSet<String>);

impl BindMounts {
    /// Reads the field `root` of `/proc/PID/mountinfo`. Without that file the set is empty.
    pub(crate) fn read(source: &Source) -> Self {
        let text = source.head(&source.process_file("mountinfo"), TABLE).map(|head| head.text).unwrap_or_default();
        let place = |line: &str| {
            // Mount ID, parent ID, device, root, mount point, ...
            let mut fields = line.split_ascii_whitespace().skip(3);
            let (root, place) = (fields.next()?, fields.next()?);
            (root != "/").then(|| unescape(place))
        };
        Self(text.lines().filter_map(place).collect())
    }

    pub(crate) fn contains(&self, mount: &str) -> bool {
        self.0.contains(mount)
    }
}

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let Some((mounts, cut)) = gathering.keep("mounts", mounts(source)) else { return };
    if let Some(cut) = cut {
        gathering.miss("mounts", cut);
    }
    let binds = BindMounts::read(source);
    let mut asked = SizeCache::new(source);
    let mut listed = Vec::new();
    for mount in mounts.into_iter().filter(Mount::is_listed) {
        let uuid = uuid(source, &mount.device);
        let (mut entry, place) = entry(mount, &binds);
        match asked.sizes(&place, entry.get("fstype").and_then(Value::as_str).unwrap_or_default()) {
            Ok(sizes) => add(&mut entry, &sizes),
            Err(reason) => {
                entry.insert("note".to_owned(), format!("Could not get extra information: {reason}").into());
                gathering.miss(&format!("mounts.{place}"), reason);
            }
        }
        entry.insert("uuid".to_owned(), uuid.into());
        listed.push(Value::Object(entry));
    }
    gathering.set("mounts", listed);
}

fn entry(mount: Mount, binds: &BindMounts) -> (Map<String, Value>, String) {
    let mut options = mount.options;
    if binds.contains(&mount.mount) && !options.contains("bind") {
        options.push_str(",bind");
    }
    let place = mount.mount.clone();
    let fields = [
        ("mount", mount.mount.into()),
        ("device", mount.device.into()),
        ("fstype", mount.fstype.into()),
        ("options", options.into()),
        ("dump", mount.dump.into()),
        ("passno", mount.passno.into()),
    ];
    (fields.into_iter().map(|(key, value): (&str, Value)| (key.to_owned(), value)).collect(), place)
}

fn add(entry: &mut Map<String, Value>, sizes: &Sizes) {
    let fields = json!({
        "size_total": sizes.unit.saturating_mul(sizes.blocks),
        "size_available": sizes.unit.saturating_mul(sizes.available),
        "block_size": sizes.block_size,
        "block_total": sizes.blocks,
        "block_available": sizes.available,
        "block_used": sizes.blocks.saturating_sub(sizes.available),
        "inode_total": sizes.inodes,
        "inode_available": sizes.inodes_available,
        "inode_used": sizes.inodes.saturating_sub(sizes.inodes_available),
    });
    if let Value::Object(fields) = fields {
        entry.extend(fields);
    }
}

/// Returns the UUID of the filesystem on a device, according to the links that udev makes.
fn uuid(source: &Source, device: &str) -> String {
    let directory = "/dev/disk/by-uuid";
    let found = device.strip_prefix("/dev/").and_then(|name| {
        // The readable name of a mapped device is a link to the name that udev knows.
        let real = source.link_name(device).unwrap_or_else(|| name.to_owned());
        let names = source.names(directory).ok()?;
        names.into_iter().find(|uuid| source.link_name(&format!("{directory}/{uuid}")).as_deref() == Some(&real))
    });
    found.unwrap_or_else(|| UNKNOWN.to_owned())
}

/// Parses a line in the format of `fstab(5)`.
fn mount(line: &str) -> Option<Mount> {
    let mut fields = line.split_ascii_whitespace().map(unescape);
    Some(Mount {
        device: fields.next()?,
        mount: fields.next()?,
        fstype: fields.next()?,
        options: fields.next()?,
        dump: fields.next().and_then(|number| number.parse().ok()).unwrap_or_default(),
        passno: fields.next().and_then(|number| number.parse().ok()).unwrap_or_default(),
    })
}

/// Decodes a field. White space and backslashes are written as a backslash and three octal digits.
fn unescape(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(part.get(3..).unwrap_or_default().as_bytes());
            }
            None => {
                bytes.push(b'\\');
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn escapes_of_fstab_are_undone() {
        for (field, want) in [
            ("/plain", "/plain"),
            (r"/my\040disk", "/my disk"),
            (r"/tab\011and\134back", "/tab\tand\\back"),
            (r"/umlaut\303\244", "/umlautä"),
            (r"/odd\x", r"/odd\x"),
            (r"/end\", r"/end\"),
            (r"/half\04", r"/half\04"),
            ("/\\ää", "/\\ää"),
        ] {
            assert_eq!(unescape(field), want, "{field}");
        }
    }

    #[test]
    fn a_line_with_too_few_fields_is_no_mount() {
        assert_eq!(mount("/dev/sda1 / ext4"), None);
        let mount = mount("/dev/sda1 / ext4 rw,noatime 0 1").unwrap();
        assert_eq!((mount.device.as_str(), mount.options.as_str(), mount.passno), ("/dev/sda1", "rw,noatime", 1));
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
