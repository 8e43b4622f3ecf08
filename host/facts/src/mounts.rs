//! The mounted filesystems and their sizes.

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::StatVfs;

use crate::source::{Source, TABLE, Unreadable};

/// Timeout for one filesystem. A disk answers in microseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of unresponsive filesystems after which no more are queried. Each leaves a blocked thread
/// behind.
const MAX_SILENT: usize = 4;

/// Filesystem types that are backed by another machine or by a program. Querying their size may
/// block forever, so they are skipped.
const REMOTE: [&str; 16] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "gfs2",
    "glusterfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "smb3",
    "smbfs",
];

/// A mounted filesystem: one line of `/proc/mounts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) device: String,
    pub(crate) mount: String,
    pub(crate) fstype: String,
    pub(crate) options: String,
    pub(crate) dump: u64,
    pub(crate) passno: u64,
}

impl Mount {
    /// Parses a line in the format of `fstab(5)`.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace().map(unescape);
        Some(Self {
            device: fields.next()?,
            mount: fields.next()?,
            fstype: fields.next()?,
            options: fields.next()?,
            dump: fields.next().and_then(|number| number.parse().ok()).unwrap_or_default(),
            passno: fields.next().and_then(|number| number.parse().ok()).unwrap_or_default(),
        })
    }

    /// Returns true for types of filesystems whose size is not queried.
    pub(crate) fn is_remote(&self) -> bool {
        REMOTE.contains(&self.fstype.as_str()) || self.fstype.starts_with("fuse")
    }
}

/// Returns the mounts in mount order, and a message if the table was truncated.
pub(crate) fn mounts(source: &Source) -> Result<(Vec<Mount>, Option<String>), Unreadable> {
    let path = source.process_file("mounts");
    let (text, cut) = source.head(&path, TABLE)?;
    let mut text = text.as_str();
    if cut {
        // The last line may be incomplete.
        text = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    }
    let cut = cut.then(|| format!("{path} has more than {TABLE} bytes: later mounts are omitted"));
    Ok((text.lines().filter_map(Mount::parse).collect(), cut))
}

/// Returns the mount points that show only a part of a filesystem, such as bind mounts and
/// subvolumes, from the field `root` of `/proc/PID/mountinfo`. Without that file the set is empty.
pub(crate) fn bind_mounts(source: &Source) -> BTreeSet<String> {
    let (text, _) = source.head(&source.process_file("mountinfo"), TABLE).unwrap_or_default();
    let mount_point = |line: &str| {
        // Mount ID, parent ID, device, root, mount point, ...
        let mut fields = line.split_ascii_whitespace().skip(3);
        let (root, mount_point) = (fields.next()?, fields.next()?);
        (root != "/").then(|| unescape(mount_point))
    };
    text.lines().filter_map(mount_point).collect()
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

/// Queries sizes on a separate thread with a timeout, because one of a filesystem whose server is
/// gone would block forever.
pub(crate) struct SizeQuery {
    source: Source,
    silent: usize,
}

impl SizeQuery {
    pub(crate) fn new(source: &Source) -> Self {
        Self { source: source.clone(), silent: 0 }
    }

    /// Returns the sizes of a filesystem, or the reason why they are unknown.
    pub(crate) fn sizes(&mut self, mount: &Mount) -> Result<StatVfs, String> {
        if mount.is_remote() {
            return Err(format!(
                "the size of `{}` filesystems is not read: a lost server would never respond",
                mount.fstype
            ));
        }
        if self.silent >= MAX_SILENT {
            return Err(format!("not read: {MAX_SILENT} earlier filesystems did not respond"));
        }
        let (sender, answer) = mpsc::sync_channel(1);
        let (source, path) = (self.source.clone(), mount.mount.clone());
        let query = move || {
            let found = source.filesystem(&path);
            // After a timeout, the receiver is gone.
            let _ = sender.send(found.map_err(|reason| reason.to_string()));
        };
        thread::Builder::new().spawn(query).map_err(|error| format!("failed to start a thread: {error}"))?;
        answer.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            self.silent += 1;
            Err(format!("no response within {} s", PATIENCE.as_secs()))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_filesystem_of_another_machine_is_not_asked() {
        let mut asked = SizeQuery::new(&Source::new(Path::new("/")));
        let mount = |mount: &str, fstype: &str| Mount::parse(&format!("device {mount} {fstype} rw 0 0")).unwrap();
        assert!(asked.sizes(&mount("/", "nfs4")).is_err_and(|error| error.contains("`nfs4`")));
        assert!(asked.sizes(&mount("/", "fuse.sshfs")).is_err());
        let sizes = asked.sizes(&mount("/", "ext4")).unwrap();
        assert!(sizes.f_frsize > 0 && sizes.f_bavail <= sizes.f_blocks);
        let missing = asked.sizes(&mount("/there/is/none", "ext4"));
        assert!(missing.is_err_and(|error| error.contains("/there/is/none")));
    }

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
    fn a_line_with_too_few_fields_is_not_a_mount() {
        assert_eq!(Mount::parse("/dev/sda1 / ext4"), None);
        let mount = Mount::parse("/dev/sda1 / ext4 rw,noatime 0 1").unwrap();
        assert_eq!((mount.device.as_str(), mount.options.as_str(), mount.passno), ("/dev/sda1", "rw,noatime", 1));
    }
}
