//! What a run has gathered so far, as an archive, while it goes on.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::pack::{PackError, PackOptions, Packing, pack_directory};

/// How the names of working directories begin, beside the archive-to-be.
pub const WORK_PREFIX: &str = ".plumbline-run-";

/// In a working directory: what becomes the archive.
const TREE: &str = "tree";

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The directory could not be read.
    #[error("failed to read `{}`: {source}", dir.display())]
    Read {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No run is under way there: its working directory is gone once it has its archive.
    #[error("no run is under way in `{}`", .0.display())]
    NoRun(PathBuf),
    /// The tree could not be packed.
    #[error(transparent)]
    Pack(#[from] PackError),
}

/// Packs the tree of the run that is under way in `dir` onto `out`, streaming. Of several (one was broken off), the one that was
/// worked on last. What is written meanwhile may be in it or not; a file that became shorter while it was packed is an error, and
/// asking again helps.
///
/// # Errors
/// [`SnapshotError`]. What was written to `out` by then is no whole archive, and every reader says so.
pub fn snapshot<W: Write>(dir: &Path, out: W) -> Result<Packing, SnapshotError> {
    let tree = newest(dir)?.ok_or_else(|| SnapshotError::NoRun(dir.to_owned()))?;
    // In the aggregator's pod, beside an aggregator that needs its cores and its memory.
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
        // The status in it is replaced all the time, which changes the directory.
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
