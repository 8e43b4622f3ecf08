//! Rounds: one at the beginning, and one whenever something changed and then was quiet.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use plumbline_aggregator::{LimitPolicy, Modules};

use super::error::WatchError;
use super::snapshot::Snapshot;
use crate::golden::{self, GoldenError, Project, Report, Runner};

/// How long it must be quiet before a round begins: editors write a file in several steps, and tools write several files.
pub const QUIET: Duration = Duration::from_millis(150);
/// A round begins at the latest so long after the first change, however busy the directory is.
const MAX_WAIT: Duration = Duration::from_secs(2);

enum Message {
    Changed,
    Failed(notify::Error),
    Stop,
}

/// Ends a watch from another thread.
#[derive(Clone)]
pub struct Stopper(Sender<Message>);

impl Stopper {
    /// The watch ends after the round that is under way.
    pub fn stop(&self) {
        // If it has ended already, that is all right.
        let _ = self.0.send(Message::Stop);
    }
}

/// Why a round is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Its number, from 1.
    pub number: u64,
    /// What changed, relative to the project; empty for the first.
    pub changed: Vec<PathBuf>,
}

/// A project that is watched. What tools make (`build/`, `target/`, `node_modules/`, hidden directories, the module itself) is not looked at.
pub struct Watch {
    dir: PathBuf,
    quiet: Duration,
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    told: Receiver<Message>,
}

impl Watch {
    /// Watches `dir`. A round begins when nothing changed for `quiet`.
    ///
    /// # Errors
    /// When the directory cannot be read, or the system does not tell of changes.
    pub fn new(dir: &Path, quiet: Duration) -> Result<(Self, Stopper), WatchError> {
        let dir = dir.canonicalize().map_err(|source| WatchError::Read { path: dir.to_owned(), source })?;
        let (tell, told) = mpsc::channel();
        let stopper = Stopper(tell.clone());
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let message = match event {
                // To be read is no change; the rounds themselves read everything.
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
                Ok(_) => Message::Changed,
                Err(error) => Message::Failed(error),
            };
            // Nobody listens any more when the watch has ended.
            let _ = tell.send(message);
        })
        .map_err(|source| WatchError::Watch { path: dir.clone(), source })?;
        Ok((Self { dir, quiet, watcher, watched: BTreeSet::new(), told }, stopper))
    }

    /// Calls `work` now, and after every change, until it is stopped.
    ///
    /// # Errors
    /// When the project cannot be read or watched any more.
    pub fn run(mut self, mut work: impl FnMut(&Round)) -> Result<(), WatchError> {
        let mut seen = self.look()?;
        let mut round = Round { number: 1, changed: Vec::new() };
        work(&round);
        loop {
            // At once, too: something may have changed while the work was done.
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

    /// What the project looks like; from now on the system tells of changes in all its directories. Only in those that count: a watch on everything
    /// below `node_modules` costs thousands of handles.
    fn look(&mut self) -> Result<Snapshot, WatchError> {
        let snapshot = Snapshot::of(&self.dir)?;
        let mut new = false;
        for directory in &snapshot.directories {
            if self.watched.contains(directory) {
                continue;
            }
            match self.watcher.watch(directory, RecursiveMode::NonRecursive) {
                Ok(()) => new = true,
                // Removed since we looked: the directory above tells of it.
                Err(_) if !directory.exists() => continue,
                Err(source) => return Err(WatchError::Watch { path: directory.clone(), source }),
            }
        }
        self.watched.clone_from(&snapshot.directories);
        // What was written into a new directory before it was watched, nobody tells of.
        if new { Snapshot::of(&self.dir) } else { Ok(snapshot) }
    }

    /// Waits for a change, and then until it is quiet. `false`: it is to end.
    fn wait(&self) -> Result<bool, WatchError> {
        let failed = |source| WatchError::Watch { path: self.dir.clone(), source };
        match self.told.recv() {
            Ok(Message::Changed) => {}
            Ok(Message::Failed(error)) => return Err(failed(error)),
            Ok(Message::Stop) | Err(_) => return Ok(false),
        }
        let begun = Instant::now();
        while begun.elapsed() < MAX_WAIT {
            match self.told.recv_timeout(self.quiet) {
                Ok(Message::Changed) => {}
                Ok(Message::Failed(error)) => return Err(failed(error)),
                Ok(Message::Stop) => return Ok(false),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(true)
    }
}

/// What a build came to: what it says of the module, or why there is none.
pub type Built = Result<String, String>;

/// What a round came to.
#[derive(Debug)]
pub struct RoundReport {
    /// The build.
    pub built: Built,
    /// The cases; `None` if there was nothing to try them with.
    pub cases: Option<Result<Report, GoldenError>>,
    /// What it took, from the first to the last.
    pub wall: Duration,
}

/// Builds the project in `dir` and runs its golden cases. `modules` is new for every round: what was read of the last build is not to be used
/// again.
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
