//! Keeps the index of a directory up to date: reads new archives in parallel, and writes the index.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use plumbline_archive::atomic::{AtomicFile, parent_directory};
use plumbline_core::Digest;
use tempfile::{NamedTempFile, TempDir};

use crate::context::Context;
use crate::error::AppError;
use crate::history::index::{FileKey, Index};
use crate::history::scan::{ScanError, ScanInput, ScannedRun, scan};
use crate::modules::{Limits, cache_root};
use crate::results::{archive_files, is_archive_file};

/// The file with the index, next to the archives.
pub const INDEX_FILE: &str = ".plumbline-history";

/// The directory of the cache for indexes of directories that are not writable.
pub(crate) const CACHE_DIR: &str = "history";

/// The largest index that is read, in bytes. 500 runs of 7,000 tests take 11 MB.
const MAX_INDEX: u64 = 1 << 30;

/// The most archives of a directory or a bucket.
pub(super) const MAX_RUNS: usize = 10_000;

/// The most threads that read archives. Each holds the trees of one archive.
const MAX_THREADS: usize = 8;

/// The stack of such a thread. Parsers and modules need as much as on the main thread.
const STACK: usize = 8 << 20;

/// How often progress is reported.
const PROGRESS: Duration = Duration::from_secs(10);

/// From this number of archives on, reading them is announced.
const ANNOUNCED: usize = 20;

/// The archives of a directory or a bucket, or single archives, with their index.
pub(super) struct Loaded {
    pub(super) index: Index,
    /// Archives and plugins that cannot be read.
    pub(super) problems: Vec<AppError>,
}

/// What links in a directory are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// They are the archives that they lead to.
    Follow,
    /// They are no archives.
    Ignore,
}

/// Loads the history of the directory `dir`: the index for unchanged archives, and the others from
/// the archives themselves.
pub(super) fn load_directory(context: &Context, limits: &Limits, dir: &Path, links: Links) -> Result<Loaded, AppError> {
    let mut files = Vec::new();
    let whole = dir.canonicalize().ok();
    for path in archive_files(dir)? {
        // A file that has just been removed is no longer a part of the history.
        let metadata = if links == Links::Follow { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
        let Ok(metadata) = metadata else { continue };
        if metadata.is_file() && !is_another_name(&path, whole.as_deref()) {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            files.push(Found::file(path, name, Some(&metadata)));
        }
    }
    let mut places = vec![dir.join(INDEX_FILE)];
    places.extend(whole.and_then(|whole| cached(whole.as_os_str().as_encoded_bytes())));
    let too_many = || format!("directory `{}` has more than {MAX_RUNS} archives", dir.display());
    load(Reading { context, limits }, files, &places, too_many)
}

/// Whether `path` is a link to another archive of the directory, such as to the newest one.
fn is_another_name(path: &Path, dir: Option<&Path>) -> bool {
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    is_link
        && path.canonicalize().is_ok_and(|target| {
            let name = target.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
            target.parent() == dir && is_archive_file(&name)
        })
}

/// The name of the copy of an object, in a directory of its own.
pub(super) const COPY: &str = "archive";

/// An archive of the history.
pub(super) struct Found<'a> {
    pub(super) key: FileKey,
    /// The path or URL, for messages.
    pub(super) shown: String,
    /// The modification time in nanoseconds since 1970, 0 if it is unknown.
    pub(super) modified: i64,
    /// Downloads the archive, unless it is a file.
    pub(super) open: Box<dyn Fn() -> Result<LocalCopy, AppError> + Send + Sync + 'a>,
}

/// An archive, or a copy that is removed when this is dropped.
pub(super) enum LocalCopy {
    File(PathBuf),
    Object(TempDir),
    Blob(NamedTempFile),
}

impl LocalCopy {
    fn path(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            Self::Object(dir) => dir.path().join(COPY),
            Self::Blob(blob) => blob.path().to_owned(),
        }
    }
}

impl Found<'_> {
    fn file(path: PathBuf, name: String, metadata: Option<&Metadata>) -> Self {
        let (size, modified) = metadata.map_or((0, 0), stamp);
        let (key, shown) = (FileKey { name, size, modified }, path.display().to_string());
        Self { key, shown, modified, open: Box::new(move || Ok(LocalCopy::File(path.clone()))) }
    }

    /// Reads the archive. Returns the result, and whether it is that of the key.
    fn scan(&self, reading: Reading<'_>) -> (Result<ScannedRun, ScanError>, bool) {
        let copy = match (self.open)() {
            Ok(copy) => copy,
            Err(error) => return (Err(ScanError::Unreadable(error)), true),
        };
        let input = ScanInput { path: &copy.path(), shown: &self.shown, modified: self.modified };
        let run = scan(reading.context, reading.limits, input);
        let unchanged = match &copy {
            LocalCopy::File(path) => {
                fs::metadata(path).is_ok_and(|now| stamp(&now) == (self.key.size, self.key.modified))
            }
            LocalCopy::Object(_) | LocalCopy::Blob(_) => true,
        };
        (run, unchanged)
    }
}

/// Loads the history of a bucket or a registry. Its index is in the cache, by its URL.
pub(super) fn load_remote(
    context: &Context,
    limits: &Limits,
    url: &str,
    files: Vec<Found<'_>>,
) -> Result<Loaded, AppError> {
    let places: Vec<PathBuf> = cached(url.as_bytes()).into_iter().collect();
    let too_many = || format!("`{url}` has more than {MAX_RUNS} archives");
    load(Reading { context, limits }, files, &places, too_many)
}

/// Loads single archives, without an index on disk.
pub(super) fn load_archives(context: &Context, limits: &Limits, paths: &[PathBuf]) -> Loaded {
    let found =
        |path: &PathBuf| Found::file(path.clone(), path.display().to_string(), fs::metadata(path).ok().as_ref());
    let files: Vec<Found<'_>> = paths.iter().map(found).collect();
    let mut loaded = Loaded { index: Index::default(), problems: Vec::new() };
    add(Reading { context, limits }, &mut loaded, &files);
    loaded
}

fn load(
    reading: Reading<'_>,
    files: Vec<Found<'_>>,
    places: &[PathBuf],
    too_many: impl Fn() -> String,
) -> Result<Loaded, AppError> {
    if files.len() > MAX_RUNS {
        return Err(AppError::usage(too_many()).hint("divide the archives among several directories"));
    }
    let mut index = places.iter().find_map(|path| read_index(path)).unwrap_or_default();
    let before = index.runs.len();
    let keys: HashSet<FileKey> = files.iter().map(|file| file.key.clone()).collect();
    index.retain(|key| keys.contains(key));
    let changed = index.runs.len() != before;
    let known: HashSet<&FileKey> = index.runs.iter().map(|run| &run.file).collect();
    let new: Vec<Found<'_>> = files.into_iter().filter(|file| !known.contains(&file.key)).collect();
    let mut loaded = Loaded { index, problems: Vec::new() };
    let added = add(reading, &mut loaded, &new);
    if changed || added {
        save(reading.context, &loaded.index, places);
    }
    Ok(loaded)
}

/// What is needed to read archives.
#[derive(Clone, Copy)]
struct Reading<'a> {
    context: &'a Context,
    limits: &'a Limits,
}

/// The size and the modification time in nanoseconds since 1970.
fn stamp(metadata: &Metadata) -> (u64, i64) {
    let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
    let nanos = modified.map_or(0, Timestamp::as_nanosecond);
    (metadata.len(), i64::try_from(nanos).unwrap_or_default())
}

/// The place of an index in the cache.
fn cached(what: &[u8]) -> Option<PathBuf> {
    Some(cache_root()?.join(CACHE_DIR).join(Digest::of(what).hex()))
}

fn read_index(path: &Path) -> Option<Index> {
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(MAX_INDEX)).ok()?);
    let read = file.take(MAX_INDEX + 1).read_to_end(&mut bytes).ok()?;
    if read as u64 > MAX_INDEX {
        return None;
    }
    Index::from_bytes(bytes)
}

/// Writes the index to the first place that is writable. The directory of archives exists, and that
/// of the cache is created.
fn save(context: &Context, index: &Index, places: &[PathBuf]) {
    let bytes = index.to_bytes();
    if bytes.len() as u64 > MAX_INDEX {
        context.reporter.warning(&format!("the index has more than {} GiB: it is not kept", MAX_INDEX >> 30));
        return;
    }
    let mut last = None;
    for path in places {
        let written = fs::create_dir_all(parent_directory(path)).and_then(|()| {
            let mut file = AtomicFile::create(path)?;
            file.write_all(&bytes)?;
            file.commit()
        });
        match written {
            Ok(()) => return,
            Err(error) => last = Some(error),
        }
    }
    if let Some(error) = last {
        context
            .reporter
            .warning(&format!("failed to write the index, so the next command reads all archives again: {error}"));
    }
}

/// Reads the archives `files` into the index. Returns whether one was added that need not be read
/// again.
fn add(reading: Reading<'_>, loaded: &mut Loaded, files: &[Found<'_>]) -> bool {
    let context = reading.context;
    if files.len() >= ANNOUNCED {
        context.reporter.progress(&format!("reading {} archives …", files.len()));
    }
    let (next, started) = (AtomicUsize::new(0), Instant::now());
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(files.len());
    let (mut added, mut unstarted) = (false, None);
    thread::scope(|scope| {
        // Without room, so that finished trees do not pile up in memory.
        let (results, scanned) = mpsc::sync_channel(0);
        for _ in 0..threads {
            let (next, results) = (&next, results.clone());
            let read = move || {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if results.send((file, file.scan(reading))).is_err() {
                        return;
                    }
                }
            };
            unstarted = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, read).err().or(unstarted.take());
        }
        drop(results);
        let mut last_report = started;
        for (done, (file, (run, unchanged))) in (1..).zip(scanned) {
            added |= keep(reading, loaded, file, run, unchanged);
            if last_report.elapsed() >= PROGRESS {
                last_report = Instant::now();
                let rest = started.elapsed() / done * (files.len() as u32).saturating_sub(done);
                let text = format!("read {done} of {} archives, about {} s left", files.len(), rest.as_secs());
                context.reporter.progress(&text);
            }
        }
    });
    // The other threads do the work of one that did not start. Without any, nothing was read.
    if let Some(error) = unstarted.filter(|_| next.load(Ordering::Relaxed) == 0) {
        let failed = AppError::system("failed to start a thread that reads archives").because(&error);
        loaded.problems.push(failed);
    }
    added
}

/// Adds one archive to the index. Returns whether it need not be read again.
fn keep(
    reading: Reading<'_>,
    loaded: &mut Loaded,
    file: &Found<'_>,
    run: Result<ScannedRun, ScanError>,
    unchanged: bool,
) -> bool {
    let shown = &file.shown;
    let ScannedRun { facts, outcomes, problems } = match run {
        Ok(run) => run,
        Err(ScanError::NotResults) => {
            reading.context.reporter.note(&format!("`{shown}` is not an archive of results: skipped"));
            return false;
        }
        Err(ScanError::Unreadable(error)) => {
            loaded.problems.push(error);
            return false;
        }
    };
    // An archive with a problem is read again next time, so that the problem is reported again. So
    // is one that changed while it was read.
    let whole = unchanged && problems.is_empty();
    let key = if whole { file.key.clone() } else { file.key.clone().unsettled() };
    loaded.problems.extend(problems);
    match loaded.index.add(key, facts, outcomes) {
        Ok(()) => whole,
        Err(error) => {
            let failed = AppError::usage(format!("failed to add archive `{shown}` to the history"));
            loaded.problems.push(failed.because(&error).hint("divide the archives among several directories"));
            false
        }
    }
}
