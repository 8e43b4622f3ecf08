//! A disk that fails, or that stops between two steps and leaves the state that a crash would
//! leave.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use plumbline_aggregator::State;
use plumbline_archive::disk::{Faults, Step};
use plumbline_archive::layout::ARCHIVE_EXTENSION;
use tokio_util::sync::CancellationToken;

use super::fixture::copy_all;

/// How a step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The disk is full.
    Full,
    /// The device reports an error.
    Device,
    /// A write takes half of the bytes, and then no space is left.
    Short,
}

/// Which data is lost when the disk stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crash {
    /// The process crashes: everything that was written stays.
    Process,
    /// The machine crashes: everything that was not synced is lost.
    Machine,
}

/// Function to call before a step.
pub(crate) type Hook = fn(&State, &Plan);

/// Faults and events by step, counted from 0.
pub(crate) struct Plan {
    /// Directory to copy at a crash.
    root: PathBuf,
    stop: Option<(usize, Crash, PathBuf)>,
    fail: Option<(Range<usize>, Failure)>,
    event: Option<(usize, Hook)>,
    seen: Mutex<Seen>,
    /// Cancelled when the disk has stopped.
    pub(crate) stopped: CancellationToken,
    /// Cancelled to make a client hang up.
    pub(crate) hang_up: CancellationToken,
    /// Cancelled to end the run early, as a user does.
    pub(crate) cancel: CancellationToken,
    /// The state of the run, once it has started.
    pub(crate) state: OnceLock<State>,
}

#[derive(Default)]
struct Seen {
    steps: usize,
    short: bool,
    volatile: Volatile,
    /// Finished archives that a rename replaced.
    replaced: Vec<PathBuf>,
}

impl Plan {
    /// Stops at step `at`: copies `root` to `copy` as `crash` leaves it, and fails all later steps.
    pub(crate) fn stop(root: &Path, at: usize, crash: Crash, copy: &Path) -> Self {
        Self { stop: Some((at, crash, copy.to_owned())), ..Self::of(root) }
    }

    /// Makes these steps fail.
    pub(crate) fn fail(root: &Path, steps: Range<usize>, failure: Failure) -> Self {
        Self { fail: Some((steps, failure)), ..Self::of(root) }
    }

    /// Triggers `event` before step `at`, if the run has started by then.
    pub(crate) fn event(root: &Path, at: usize, event: Hook) -> Self {
        Self::of(root).with_event(at, event)
    }

    /// Returns the plan with `event` before step `at`.
    pub(crate) fn with_event(self, at: usize, event: Hook) -> Self {
        Self { event: Some((at, event)), ..self }
    }

    fn of(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            stop: None,
            fail: None,
            event: None,
            seen: Mutex::default(),
            stopped: CancellationToken::new(),
            hang_up: CancellationToken::new(),
            cancel: CancellationToken::new(),
            state: OnceLock::new(),
        }
    }

    /// Stops between two steps, and does not change any files.
    pub(crate) fn halt(&self) {
        let _between = self.seen.lock().unwrap();
        self.stopped.cancel();
    }

    /// Returns the number of steps so far.
    pub(crate) fn steps(&self) -> usize {
        self.seen.lock().unwrap().steps
    }

    /// Returns the finished archives that a rename replaced.
    pub(crate) fn replaced(&self) -> Vec<PathBuf> {
        self.seen.lock().unwrap().replaced.clone()
    }

    fn stop_at(&self, step: Step<'_>, seen: &Seen, crash: Crash, copy: &Path) {
        copy_all(&self.root, copy);
        let there = |path: &Path| path.strip_prefix(&self.root).ok().map(|below| copy.join(below));
        if crash == Crash::Machine {
            seen.volatile.lose(&there);
        }
        // A write that the crash interrupts leaves a part of its bytes. At the end of a run, the
        // journal is removed, and may still be written.
        if let Step::Write(path, _) = step
            && path.file_name().is_some_and(|name| name == "journal")
            && let Some(path) = there(path).filter(|path| path.exists())
        {
            OpenOptions::new().append(true).open(path).unwrap().write_all(b"0badc0de {\"at\"").unwrap();
        }
    }
}

impl Faults for Plan {
    /// Runs one step at a time, so that a copy never shows an incomplete step.
    fn step(&self, step: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        let mut seen = self.seen.lock().unwrap();
        let number = seen.steps;
        if self.stopped.is_cancelled() {
            return Err(io::Error::other("the disk has stopped"));
        }
        seen.steps += 1;
        if let Some((_, crash, copy)) = self.stop.as_ref().filter(|stop| stop.0 == number) {
            self.stop_at(step, &seen, *crash, copy);
            self.stopped.cancel();
            return Err(io::Error::other("the disk has stopped"));
        }
        if let (Some((_, event)), Some(state)) = (self.event.filter(|event| event.0 == number), self.state.get()) {
            event(state, self);
        }
        let existed = matches!(step, Step::Create(path) if path.exists());
        match &self.fail {
            Some((_, Failure::Short)) if std::mem::take(&mut seen.short) => act()?,
            Some((steps, failure)) if steps.contains(&number) => {
                return Err(match failure {
                    Failure::Device => io::Error::from_raw_os_error(5),
                    Failure::Full | Failure::Short => io::ErrorKind::StorageFull.into(),
                });
            }
            _ => {
                if let Step::Rename(_, to) = step
                    && to.to_string_lossy().ends_with(ARCHIVE_EXTENSION)
                    && to.exists()
                {
                    seen.replaced.push(to.to_owned());
                }
                act()?;
            }
        }
        // A file that is opened again keeps its durable length.
        if !existed {
            seen.volatile.note(step);
        }
        Ok(())
    }

    fn accept(&self, bytes: usize) -> usize {
        let mut seen = self.seen.lock().unwrap();
        let number = seen.steps;
        seen.short = matches!(&self.fail, Some((steps, Failure::Short)) if steps.start == number) && bytes > 1;
        if seen.short { bytes / 2 } else { bytes }
    }
}

/// The most that a power failure can lose: bytes of files and entries of directories that were not
/// synced.
#[derive(Default)]
struct Volatile {
    /// Durable length of each file.
    lengths: BTreeMap<PathBuf, u64>,
    /// Changes of directories, in order.
    entries: Vec<Entry>,
}

enum Entry {
    Created(PathBuf),
    Renamed(PathBuf, PathBuf),
}

impl Volatile {
    fn note(&mut self, step: Step<'_>) {
        match step {
            Step::Create(path) => {
                self.lengths.insert(path.to_owned(), 0);
                self.entries.push(Entry::Created(path.to_owned()));
            }
            Step::CreateDirectory(path) => self.entries.push(Entry::Created(path.to_owned())),
            Step::CreateTemporary(_) | Step::Truncate(..) => {}
            Step::Write(path, _) => {
                self.lengths.entry(path.to_owned()).or_default();
            }
            Step::Sync(path) => {
                // If its directory has been renamed since it was opened, nobody reads it any more.
                if let Some(length) = length(path) {
                    self.lengths.insert(path.to_owned(), length);
                }
            }
            Step::Rename(from, to) => {
                let moved = |path: PathBuf| moved(&path, from, to).unwrap_or(path);
                self.lengths =
                    std::mem::take(&mut self.lengths).into_iter().map(|(path, n)| (moved(path), n)).collect();
                self.entries.push(Entry::Renamed(from.to_owned(), to.to_owned()));
            }
            Step::Remove(path) => {
                self.lengths.retain(|file, _| !file.starts_with(path));
                self.entries.retain(|entry| match entry {
                    Entry::Created(file) | Entry::Renamed(_, file) => !file.starts_with(path),
                });
            }
            Step::SyncDirectory(directory) => self.sync(directory),
            // This syncs the whole file system.
            Step::SyncTree(_) => {
                self.lengths.retain(|path, durable| length(path).map(|length| *durable = length).is_some());
                self.entries.clear();
            }
        }
    }

    /// Marks the entries of `directory` as durable. What was created under a name before a rename
    /// has moved permanently.
    fn sync(&mut self, directory: &Path) {
        let mut kept: Vec<Entry> = Vec::new();
        for entry in std::mem::take(&mut self.entries) {
            match &entry {
                Entry::Created(path) if path.parent() == Some(directory) => {}
                Entry::Renamed(from, to) if to.parent() == Some(directory) => {
                    kept.retain(|entry| !matches!(entry, Entry::Created(path) if path == from));
                    for entry in &mut kept {
                        let (Entry::Created(path) | Entry::Renamed(_, path)) = entry;
                        if let Some(to) = moved(path, from, to) {
                            *path = to;
                        }
                    }
                }
                _ => kept.push(entry),
            }
        }
        self.entries = kept;
    }

    /// Reverts in the copy everything that is not durable. Files that are already missing were in a
    /// lost directory.
    fn lose(&self, there: &dyn Fn(&Path) -> Option<PathBuf>) {
        for (path, length) in &self.lengths {
            if let Some(file) = there(path).and_then(|path| OpenOptions::new().write(true).open(path).ok()) {
                file.set_len(*length.min(&file.metadata().unwrap().len())).unwrap();
            }
        }
        for entry in self.entries.iter().rev() {
            match entry {
                Entry::Created(path) => {
                    if let Some(path) = there(path) {
                        remove(&path);
                    }
                }
                Entry::Renamed(from, to) => {
                    if let (Some(from), Some(to)) = (there(from), there(to))
                        && fs::rename(&to, from).is_err()
                    {
                        // The source directory was temporary.
                        remove(&to);
                    }
                }
            }
        }
    }
}

fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

fn length(path: &Path) -> Option<u64> {
    Some(fs::metadata(path).ok()?.len())
}

fn moved(path: &Path, from: &Path, to: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(from).ok()?;
    Some(if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) })
}
