//! Watches a project, and builds and tests it after every change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use plumbline_aggregator::{LimitPolicy, Modules};

use crate::error::AuthorError;
use crate::golden::{self, Project, Report, Runner};
use crate::snapshot::Snapshot;

/// How long the project must be quiet before a round starts. Editors write a file in several steps,
/// and tools write several files.
pub const QUIET: Duration = Duration::from_millis(150);
/// Maximum time from the first change to the start of a round, even if the directory keeps
/// changing.
const MAX_WAIT: Duration = Duration::from_secs(2);

enum Message {
    Changed,
    Failed(notify::Error),
    Stop,
}

/// Stops a watch from another thread.
#[derive(Clone)]
pub struct Stopper(Sender<Message>);

impl Stopper {
    /// Stops the watch after the current round.
    pub fn stop(&self) {
        // Sending fails only if the watch has already ended.
        let _ = self.0.send(Message::Stop);
    }
}

/// The reason for a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The number of the round, from 1.
    pub number: u64,
    /// The changed files, relative to the project; empty for the first round.
    pub changed: Vec<PathBuf>,
}

/// A watched project. It ignores the output of tools: `build/`, `target/`, `node_modules/`, hidden
/// directories, and the module itself.
pub struct Watch {
    dir: PathBuf,
    quiet: Duration,
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    receiver: Receiver<Message>,
}

impl Watch {
    /// Starts to watch `dir`. A round starts when nothing has changed for `quiet`.
    pub fn new(dir: &Path, quiet: Duration) -> Result<(Self, Stopper), AuthorError> {
        let dir = dir.canonicalize().map_err(AuthorError::io("read", dir))?;
        let (sender, receiver) = mpsc::channel();
        let stopper = Stopper(sender.clone());
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let message = match event {
                // Ignore reads: the rounds themselves read everything.
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
                Ok(_) => Message::Changed,
                Err(error) => Message::Failed(error),
            };
            // Sending fails only if the watch has ended.
            let _ = sender.send(message);
        })
        .map_err(|error| unwatched(&dir, &error))?;
        Ok((Self { dir, quiet, watcher, watched: BTreeSet::new(), receiver }, stopper))
    }

    /// Calls `work` now and after every change, until the watch is stopped.
    pub fn run(mut self, mut work: impl FnMut(&Round)) -> Result<(), AuthorError> {
        let mut seen = self.look()?;
        let mut round = Round { number: 1, changed: Vec::new() };
        work(&round);
        loop {
            // Look before waiting: something may have changed during the work.
            let now = self.look()?;
            let changed = now.changed_since(&seen);
            if !changed.is_empty() {
                seen = now;
                round = Round { number: round.number + 1, changed };
                work(&round);
            }
            if !self.wait()? {
                return Ok(());
            }
        }
    }

    /// Returns a snapshot of the project, and watches its new directories. Ignored directories are
    /// not watched: a watch on everything below `node_modules` takes thousands of handles.
    fn look(&mut self) -> Result<Snapshot, AuthorError> {
        let snapshot = Snapshot::of(&self.dir)?;
        let mut new = false;
        for directory in &snapshot.directories {
            if self.watched.contains(directory) {
                continue;
            }
            match self.watcher.watch(directory, RecursiveMode::NonRecursive) {
                Ok(()) => new = true,
                // The directory was removed since the snapshot. The watch on its parent reports
                // that.
                Err(_) if !directory.exists() => continue,
                Err(error) => return Err(unwatched(directory, &error)),
            }
        }
        self.watched.clone_from(&snapshot.directories);
        // Look again: no event reports files that were written into a new directory before it was
        // watched.
        if new { Snapshot::of(&self.dir) } else { Ok(snapshot) }
    }

    /// Waits for a change, and then until the project is quiet. Returns `false` if the watch is to
    /// stop.
    fn wait(&self) -> Result<bool, AuthorError> {
        match self.receiver.recv() {
            Ok(Message::Changed) => {}
            Ok(Message::Failed(error)) => return Err(unwatched(&self.dir, &error)),
            Ok(Message::Stop) | Err(_) => return Ok(false),
        }
        let begun = Instant::now();
        while begun.elapsed() < MAX_WAIT {
            match self.receiver.recv_timeout(self.quiet) {
                Ok(Message::Changed) => {}
                Ok(Message::Failed(error)) => return Err(unwatched(&self.dir, &error)),
                Ok(Message::Stop) => return Ok(false),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(true)
    }
}

fn unwatched(path: &Path, error: &notify::Error) -> AuthorError {
    let hint = matches!(error.kind, notify::ErrorKind::MaxFilesWatch).then_some(
        "the system watches no more directories for this user: raise fs.inotify.max_user_watches, or close other watchers",
    );
    AuthorError::system(format!("failed to watch `{}`", path.display())).because(error).maybe_hint(hint)
}

/// The result of a build: a message about the module, or the error.
pub type Built = Result<String, String>;

/// The result of a round.
#[derive(Debug)]
pub struct RoundReport {
    /// The result of the build.
    pub built: Built,
    /// The outcomes of the cases; `None` if there was no module to test.
    pub cases: Option<Result<Report, AuthorError>>,
    /// The wall-clock time of the whole round.
    pub wall: Duration,
}

/// Builds the project in `dir` and runs its golden cases. Pass new `modules` for every round,
/// because they cache the modules of the last build.
pub fn try_out(
    dir: &Path,
    build: &mut dyn FnMut(&Path) -> Built,
    modules: &Modules,
    limits: &LimitPolicy,
) -> RoundReport {
    let start = Instant::now();
    let built = build(dir);
    let cases = built.is_ok().then(|| {
        let project = Project::open(dir)?;
        let cases = golden::find(&project, &[])?;
        Ok(golden::run(&project, &cases, &Runner::new(modules, limits)))
    });
    RoundReport { built, cases, wall: start.elapsed() }
}
