//! Sizes of filesystems, without blocking on one whose server is gone.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::source::Source;

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

/// Size and use of a filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// The unit of the block counts, in bytes.
    pub(crate) unit: u64,
    /// The preferred I/O size of the filesystem, in bytes.
    pub(crate) block_size: u64,
    pub(crate) blocks: u64,
    /// Blocks available to unprivileged users.
    pub(crate) available: u64,
    /// Free blocks, including those reserved for root.
    pub(crate) free: u64,
    pub(crate) inodes: u64,
    pub(crate) inodes_available: u64,
}

/// Returns true for types of filesystems whose size is not queried.
pub(crate) fn is_remote(fstype: &str) -> bool {
    REMOTE.contains(&fstype) || fstype.starts_with("fuse")
}

/// Queries sizes on a separate thread with a timeout, and caches the answers.
pub(crate) struct SizeCache {
    source: Source,
    silent: usize,
    known: BTreeMap<String, Result<Sizes, String>>,
}

impl SizeCache {
    pub(crate) fn new(source: &Source) -> Self {
        Self { source: source.clone(), silent: 0, known: BTreeMap::new() }
    }

    /// Returns the sizes of the filesystem of type `fstype` at `mount`, or the reason why they are
    /// unknown.
    pub(crate) fn sizes(&mut self, mount: &str, fstype: &str) -> Result<Sizes, String> {
        if is_remote(fstype) {
            return Err(format!(
                "filesystems of type `{fstype}` are not asked for their size: a server that is gone would never answer"
            ));
        }
        if self.silent >= MAX_SILENT {
            return Err(format!("not asked: {MAX_SILENT} filesystems before it did not answer"));
        }
        if let Some(known) = self.known.get(mount) {
            return known.clone();
        }
        let answer = self.ask(mount);
        self.known.insert(mount.to_owned(), answer.clone());
        answer
    }

    fn ask(&mut self, mount: &str) -> Result<Sizes, String> {
        let (tell, answer) = mpsc::sync_channel(1);
        let (source, path) = (self.source.clone(), mount.to_owned());
        let asking = move || {
            let found = source.filesystem(&path);
            // After a timeout, the receiver is gone.
            let _ = tell.send(found.map_err(|reason| reason.to_string()));
        };
        thread::Builder::new().spawn(asking).map_err(|error| format!("no thread to ask on: {error}"))?;
        match answer.recv_timeout(PATIENCE) {
            Ok(Ok(found)) => Ok(Sizes {
                unit: found.f_frsize,
                block_size: found.f_bsize,
                blocks: found.f_blocks,
                available: found.f_bavail,
                free: found.f_bfree,
                inodes: found.f_files,
                inodes_available: found.f_favail,
            }),
            Ok(Err(reason)) => Err(reason),
            Err(_) => {
                self.silent += 1;
                Err(format!("did not answer within {} s", PATIENCE.as_secs()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_filesystem_of_another_machine_is_not_asked() {
        let mut asked = SizeCache::new(&Source::new(Path::new("/")));
        assert!(asked.sizes("/", "nfs4").unwrap_err().contains("`nfs4`"));
        assert!(asked.sizes("/", "fuse.sshfs").is_err());
        let sizes = asked.sizes("/", "ext4").unwrap();
        assert!(sizes.unit > 0 && sizes.available <= sizes.blocks);
        assert!(asked.sizes("/there/is/none", "ext4").unwrap_err().contains("/there/is/none"));
    }
}
