//! Packs what a run has gathered so far as an archive, while the run continues.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::pack::{PackError, PackOptions, Packing, pack_directory};

/// The prefix of working directories, which are next to the future archive.
pub const WORK_PREFIX: &str = ".plumbline-run-";

/// The directory inside a working directory that becomes the archive.
const TREE: &str = "tree";

/// Error while taking a snapshot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The directory could not be read.
    #[error("failed to read `{}`: {source}", dir.display())]
    Read {
        /// The directory.
        dir: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// No run is in progress in the directory. A run removes its working directory once it has
    /// written its archive.
    #[error("no run is under way in `{}`", .0.display())]
    NoRun(PathBuf),
    /// The tree could not be packed.
    #[error(transparent)]
    Pack(#[from] PackError),
}

/// Packs the tree of the run in progress in `dir` to `out`, streaming.
///
/// If there are several because a run was interrupted, the most recently changed one is packed.
/// Files that are written meanwhile may or may not be included. A file that becomes shorter while
/// it is packed is an error, and a retry helps.
///
/// # Errors
///
/// Returns a [`SnapshotError`]. What was already written to `out` is then an incomplete archive,
/// which every reader reports.
pub fn snapshot<W: Write>(dir: &Path, out: W) -> Result<Packing, SnapshotError> {
    let tree = newest(dir)?.ok_or_else(|| SnapshotError::NoRun(dir.to_owned()))?;
    // This runs in the aggregator's pod, next to the aggregator, which needs its cores and memory.
    let (_, packing) = pack_directory(&tree, out, &PackOptions::single_threaded(), &mut || false)?;
    Ok(packing)
}

fn newest(dir: &Path) -> Result<Option<PathBuf>, SnapshotError> {
    let failed = |source| SnapshotError::Read { dir: dir.to_owned(), source };
    let mut newest: Option<(SystemTime, PathBuf)> = None;
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let tree = entry.path().join(TREE);
        if !entry.file_name().to_string_lossy().starts_with(WORK_PREFIX) || !tree.is_dir() {
            continue;
        }
        // The status in the directory is replaced all the time, which changes its modification
        // time.
        let at = entry.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        if newest.as_ref().is_none_or(|(known, _)| at > *known) {
            newest = Some((at, tree));
        }
    }
    Ok(newest.map(|(_, tree)| tree))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::extract::{ExtractLimits, extract_tar_gz};

    #[test]
    fn the_run_under_way_is_packed() {
        let (dir, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert!(matches!(snapshot(dir.path(), io::sink()), Err(SnapshotError::NoRun(_))));
        for (name, text, age) in [(".plumbline-run-old", "old", 60), (".plumbline-run-new", "new", 0)] {
            let work = dir.path().join(name);
            fs::create_dir_all(work.join("tree/plugins")).unwrap();
            fs::write(work.join("tree/plugins/x"), text).unwrap();
            let at = SystemTime::now() - Duration::from_secs(age);
            fs::File::open(&work).unwrap().set_modified(at).unwrap();
        }
        fs::create_dir_all(dir.path().join("other/tree")).unwrap();
        let mut out = Vec::new();
        snapshot(dir.path(), &mut out).unwrap();
        extract_tar_gz(&out[..], to.path(), &ExtractLimits::default()).unwrap();
        assert_eq!(fs::read_to_string(to.path().join("plugins/x")).unwrap(), "new");
    }
}
