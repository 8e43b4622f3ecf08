//! A disk that hangs: an operation on it neither succeeds nor fails. The thread that waits for it
//! cannot be ended, so others look at how long it takes.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use plumbline_archive::disk::Disk;

/// Interval between writes that only look whether the disk answers.
const PROBE: Duration = Duration::from_secs(10);
/// How long an operation may take before the run gives up: 10 min, as for a disk that is full.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// When an operation takes too long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HangLimits {
    /// From here on, the status says that the disk does not answer. A sync that writes gigabytes of
    /// uploads takes a part of it.
    pub(crate) report: Duration,
    /// From here on, the run has failed.
    pub(crate) give_up: Duration,
    /// Interval of checks.
    pub(crate) poll: Duration,
}

impl Default for HangLimits {
    fn default() -> Self {
        Self { report: Duration::from_secs(60), give_up: PATIENCE, poll: Duration::from_secs(5) }
    }
}

/// The operations on the disk that are in progress. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct HangWatch {
    limits: HangLimits,
    running: Arc<Mutex<Running>>,
}

#[derive(Default)]
struct Running {
    next: u64,
    since: BTreeMap<u64, Instant>,
}

/// An operation in progress, until dropped.
pub(crate) struct Operation {
    id: u64,
    running: Arc<Mutex<Running>>,
}

impl Drop for Operation {
    fn drop(&mut self) {
        self.running.lock().since.remove(&self.id);
    }
}

impl HangWatch {
    #[cfg(test)]
    pub(crate) fn new(limits: HangLimits) -> Self {
        Self { limits, running: Arc::default() }
    }

    /// Starts an operation. Call it on the thread that may block.
    pub(crate) fn start(&self) -> Operation {
        let mut running = self.running.lock();
        let id = running.next;
        running.next = id.wrapping_add(1);
        running.since.insert(id, Instant::now());
        Operation { id, running: Arc::clone(&self.running) }
    }

    /// Returns why the disk counts as hanging, if it does.
    pub(crate) fn hanging(&self) -> Option<String> {
        let report = self.limits.report;
        let reason = || format!("the disk does not answer: an operation has taken more than {} s", report.as_secs());
        self.exceeds(report).then(reason)
    }

    /// Returns whether the run gives up.
    pub(crate) fn has_given_up(&self) -> bool {
        self.exceeds(self.limits.give_up)
    }

    pub(crate) fn poll(&self) -> Duration {
        self.limits.poll
    }

    fn exceeds(&self, limit: Duration) -> bool {
        // IDs are in the order of the starts.
        self.running.lock().since.values().next().is_some_and(|since| since.elapsed() > limit)
    }

    /// Returns when the run gives up. Logs when the disk hangs, and when it answers again.
    pub(crate) async fn given_up(&self) {
        let mut was_hanging = false;
        loop {
            if self.has_given_up() {
                return tracing::error!("the disk does not answer: stopping the run");
            }
            let hanging = self.hanging();
            if hanging.is_some() != std::mem::replace(&mut was_hanging, hanging.is_some()) {
                match hanging {
                    Some(reason) => tracing::error!("{reason}"),
                    None => tracing::info!("the disk answers again"),
                }
            }
            tokio::time::sleep(self.limits.poll).await;
        }
    }

    /// Writes the file at `path` at intervals, so that a disk that hangs is noticed whatever waits for
    /// it.
    pub(crate) async fn probe(&self, disk: Disk, path: PathBuf) -> Infallible {
        loop {
            tokio::time::sleep(PROBE).await;
            let (watch, disk, path) = (self.clone(), disk.clone(), path.clone());
            let write = move || {
                let _operation = watch.start();
                disk.replace(&path, b"", 0o600)
            };
            // An error is left to whatever needs the disk.
            drop(tokio::task::spawn_blocking(write).await);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_operation_without_an_end_is_reported_and_then_given_up() {
        let ms = Duration::from_millis;
        let watch = HangWatch::new(HangLimits { report: ms(1), give_up: ms(20), poll: ms(1) });
        drop(watch.start());
        assert_eq!((watch.hanging(), watch.has_given_up()), (None, false));
        let operation = watch.start();
        watch.given_up().await;
        assert!(watch.has_given_up() && watch.hanging().unwrap().contains("the disk does not answer"));
        // A later one that ends changes nothing.
        drop(watch.start());
        assert!(watch.has_given_up());
        drop(operation);
        assert_eq!((watch.hanging(), watch.has_given_up()), (None, false));
    }
}
