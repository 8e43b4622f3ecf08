//! What is mounted.

use super::data::Mount;
use super::gather::Gathering;
use super::source::TABLE;

pub(super) fn gather(gathering: &mut Gathering<'_>) {
    let path = gathering.source.process_file("mounts");
    if let Some(head) = gathering.keep("mounts", gathering.source.head(&path, TABLE)) {
        let mut text = head.text.as_str();
        if head.cut {
            // The last line may be half a line.
            text = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            gathering
                .miss("mounts", format!("{path} holds more than {TABLE} bytes: the mounts after those are left out"));
        }
        gathering.facts.host.mounts = Some(text.lines().filter_map(mount).collect());
    }
}

/// A line of `/proc/mounts`, in the format of `fstab(5)`.
fn mount(line: &str) -> Option<Mount> {
    let mut fields = line.split_ascii_whitespace().map(unescape);
    Some(Mount { device: fields.next()?, mount: fields.next()?, fstype: fields.next()?, options: fields.next()? })
}

/// White space and backslashes in a field are written as a backslash and three octal digits.
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
        let mount = mount("/dev/sda1 / ext4 rw,noatime 0 0").unwrap();
        assert_eq!((mount.device.as_str(), mount.options.as_str()), ("/dev/sda1", "rw,noatime"));
    }
}
