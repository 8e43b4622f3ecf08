//! Sizes of filesystems, without waiting for one whose server is gone.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::source::Source;

/// How long one filesystem may take. A disk answers in microseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many filesystems may stay silent before no further one is asked: each leaves a thread behind that waits for it.
const MAX_SILENT: usize = 4;

/// Filesystems that are another machine's, or a program's. Asking for their size may block for ever, so nobody does.
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
    /// What blocks are counted in, in bytes.
    pub(crate) unit: u64,
    /// What the filesystem prefers to read and write at once, in bytes.
    pub(crate) block_size: u64,
    pub(crate) blocks: u64,
    /// Blocks that anybody may still use.
    pub(crate) available: u64,
    /// Blocks that nobody uses, those included that only root may.
    pub(crate) free: u64,
    pub(crate) inodes: u64,
    pub(crate) inodes_available: u64,
}

/// Whether the size of such a filesystem is not asked for.
pub(crate) fn is_remote(fstype: &str) -> bool {
    REMOTE.contains(&fstype) || fstype.starts_with("fuse")
}

/// Asks on a thread of its own, and goes on without an answer.
pub(crate) struct Asked {
    source: Source,
    silent: usize,
    known: BTreeMap<String, Result<Sizes, String>>,
}

impl Asked {
    pub(crate) fn new(source: &Source) -> Self {
        Self { source: source.clone(), silent: 0, known: BTreeMap::new() }
    }

    /// The sizes of the filesystem of type `fstype` at `mount`, or why they are not known.
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
            // Nobody listens any more where the answer came too late.
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
        let mut asked = Asked::new(&Source::new(Path::new("/")));
        assert!(asked.sizes("/", "nfs4").unwrap_err().contains("`nfs4`"));
        assert!(asked.sizes("/", "fuse.sshfs").is_err());
        let sizes = asked.sizes("/", "ext4").unwrap();
        assert!(sizes.unit > 0 && sizes.available <= sizes.blocks);
        assert!(asked.sizes("/there/is/none", "ext4").unwrap_err().contains("/there/is/none"));
    }
}
