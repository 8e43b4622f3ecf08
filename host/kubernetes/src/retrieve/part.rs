//! A partly downloaded archive: its bytes in `NAME.part`, and its description in `NAME.part.json`.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::write_atomic;
use plumbline_archive::finished::FinishedArchive;
use plumbline_archive::gzip::Digest;
use tokio::io::AsyncWriteExt;
use tokio::task::spawn_blocking;

use super::error::RetrieveError;

/// Maximum size in bytes of the description file, which has one line.
const MAX_SIDE_BYTES: u64 = 4096;

/// A partly downloaded archive, locked against other processes. When it is dropped, the bytes stay
/// for the next attempt.
pub(super) struct Part {
    file: tokio::fs::File,
    /// The file with the received bytes.
    pub(super) path: PathBuf,
    side: PathBuf,
    target: PathBuf,
    /// The number of received bytes.
    pub(super) have: u64,
}

impl Part {
    /// Starts the download to `target`, or resumes an earlier attempt at the same archive (by name,
    /// size and digest).
    pub(super) async fn open(target: &Path, archive: &FinishedArchive) -> Result<Self, RetrieveError> {
        let (target, archive) = (target.to_owned(), archive.clone());
        blocking(move || {
            let (path, side) = (target.with_added_extension("part"), target.with_added_extension("part.json"));
            let failed = || RetrieveError::local("write", &path);
            let mut file = open(&path).map_err(failed())?;
            lock(&file, &path)?;
            let mut have = file.metadata().map_err(failed())?.len();
            if have > archive.size || read_side(&side).as_ref() != Some(&archive) {
                file.set_len(0).map_err(failed())?;
                let line = serde_json::to_vec(&archive).map_err(|error| failed()(error.into()))?;
                write_atomic(&side, &line).map_err(RetrieveError::local("write", &side))?;
                have = 0;
            }
            file.seek(SeekFrom::Start(have)).map_err(failed())?;
            Ok(Self { file: tokio::fs::File::from_std(file), path, side, target, have })
        })
        .await
    }

    /// Appends bytes. They are passed to the operating system before this returns, so an
    /// interruption loses none of them.
    pub(super) async fn append(&mut self, data: &[u8]) -> Result<(), RetrieveError> {
        let written = async {
            self.file.write_all(data).await?;
            self.file.flush().await
        };
        written.await.map_err(RetrieveError::local("write", &self.path))?;
        self.have = self.have.saturating_add(data.len() as u64);
        Ok(())
    }

    /// Reads everything back from disk, and moves the file to its final name unless `difference`
    /// says how its digest differs from the expected one. When this returns, the file survives a
    /// power failure.
    ///
    /// A file that differs is kept for inspection, under a name from which no attempt resumes. Then
    /// this returns the difference and that name.
    pub(super) async fn finish(
        self,
        difference: impl FnOnce(&Digest) -> Option<String> + Send + 'static,
    ) -> Result<Option<(String, PathBuf)>, RetrieveError> {
        let Self { file, path, side, target, .. } = self;
        let mut file = file.into_std().await;
        blocking(move || {
            let failed = || RetrieveError::local("read", &path);
            file.seek(SeekFrom::Start(0)).map_err(failed())?;
            let difference = difference(&Digest::of_reader(&mut file).map_err(failed())?);
            if difference.is_none() {
                file.sync_all().map_err(RetrieveError::local("write", &path))?;
            }
            let moved = if difference.is_none() { target.clone() } else { damaged(&target) };
            fs::rename(&path, &moved).map_err(RetrieveError::local("write", &moved))?;
            // A leftover file describes a part that no longer exists. The next attempt replaces it.
            if let Err(error) = fs::remove_file(&side) {
                tracing::debug!("failed to remove `{}`: {error}", side.display());
            }
            if let Some(why) = difference {
                return Ok(Some((why, moved)));
            }
            let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(dir).and_then(|dir| dir.sync_all()).map_err(RetrieveError::local("write", dir))?;
            Ok(None)
        })
        .await
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Locks the open file at `path`. The lock is held until the file is closed.
fn lock(file: &File, path: &Path) -> Result<(), RetrieveError> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(RetrieveError::Busy(path.to_owned())),
        // The file system does not support locks, so nothing protects against a second process.
        Err(TryLockError::Error(_)) => {}
    }
    let locked = file.metadata().map_err(RetrieveError::local("write", path))?;
    // A process that held the lock before may have moved the complete file to its final name, where it must
    // not change any more.
    match fs::metadata(path) {
        Ok(there) if (there.dev(), there.ino()) == (locked.dev(), locked.ino()) => Ok(()),
        _ => Err(RetrieveError::Busy(path.to_owned())),
    }
}

/// Returns the path for data that is not the expected archive.
pub(super) fn damaged(target: &Path) -> PathBuf {
    target.with_added_extension("damaged")
}

/// Returns size and digest of the file at `path`, or `None` if it does not exist or has a size
/// other than `size`.
pub(super) async fn digest_of(path: &Path, size: u64) -> Option<Digest> {
    let path = path.to_owned();
    let digest = spawn_blocking(move || {
        let metadata = fs::symlink_metadata(&path).ok()?;
        if !metadata.is_file() || metadata.len() != size {
            return None;
        }
        Digest::of_reader(File::open(&path).ok()?).ok()
    });
    digest.await.ok().flatten()
}

/// Runs blocking work on a thread where that is allowed.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RetrieveError> + Send + 'static,
) -> Result<T, RetrieveError> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(RetrieveError::Stream(format!("writing was interrupted: {error}"))),
    }
}

/// Reads the description file. An unreadable one counts as absent.
fn read_side(path: &Path) -> Option<FinishedArchive> {
    let mut line = Vec::new();
    File::open(path).ok()?.take(MAX_SIDE_BYTES).read_to_end(&mut line).ok()?;
    serde_json::from_slice(&line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(size: u64, sha256: &str) -> FinishedArchive {
        FinishedArchive { name: "a.tar.gz".into(), size, sha256: sha256.into() }
    }

    #[tokio::test]
    async fn only_the_same_archive_is_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("mine.tar.gz");
        let mut part = Part::open(&target, &archive(10, "x")).await.unwrap();
        part.append(b"01234").await.unwrap();
        assert!(matches!(Part::open(&target, &archive(10, "x")).await, Err(RetrieveError::Busy(_))));
        drop(part);
        assert_eq!(Part::open(&target, &archive(10, "x")).await.unwrap().have, 5);
        for other in [archive(10, "y"), archive(4, "x"), FinishedArchive { name: "b".into(), ..archive(10, "x") }] {
            let mut part = Part::open(&target, &other).await.unwrap();
            assert_eq!(part.have, 0, "{other:?}");
            part.append(b"01").await.unwrap();
        }
        let mut part = Part::open(&target, &archive(3, "x")).await.unwrap();
        part.append(b"abc").await.unwrap();
        let whole = |digest: &Digest| (digest.bytes != 3).then(|| digest.bytes.to_string());
        assert_eq!(part.finish(whole).await.unwrap(), None);
        assert_eq!(fs::read(&target).unwrap(), b"abc");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_file_that_another_process_has_completed_meanwhile_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.tar.gz");
        let mut part = Part::open(&target, &archive(3, "x")).await.unwrap();
        part.append(b"abc").await.unwrap();
        let path = part.path.clone();
        // A second process opens the file, and takes the lock when the first one has finished.
        let second = open(&path).unwrap();
        assert!(matches!(lock(&second, &path), Err(RetrieveError::Busy(_))));
        assert_eq!(part.finish(|_| None).await.unwrap(), None);
        assert!(matches!(lock(&second, &path), Err(RetrieveError::Busy(_))));
        drop(second);
        // A part that a third one has started is another file.
        let second = open(&path).unwrap();
        fs::rename(&path, dir.path().join("moved")).unwrap();
        fs::write(&path, "new").unwrap();
        assert!(matches!(lock(&second, &path), Err(RetrieveError::Busy(_))));
        assert_eq!(fs::read(&target).unwrap(), b"abc");
    }
}
