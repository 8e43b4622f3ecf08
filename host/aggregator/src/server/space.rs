//! Uploads that wait for disk space. They are rejected before they start, so that they neither take
//! space of the journal nor count as failed.

use std::collections::HashMap;
use std::io;

use axum::response::Response;
use parking_lot::Mutex;
use plumbline_core::ResultKey;
use plumbline_core::ledger::{Event, KeyState};

use super::receive::Receiver;
use super::response::ReceiveError;
use crate::journal::lacks_space;

/// Reason for the delay of a result.
const NO_SPACE: &str = "the aggregator has no disk space for the result";

/// The least number of bytes of disk space that a result takes, if its upload failed for lack of it.
/// Otherwise a body that grows when it is unpacked, or has no declared length, would start again at
/// each retry.
#[derive(Default)]
pub(super) struct Lacking(Mutex<HashMap<ResultKey, u64>>);

impl Lacking {
    pub(super) fn remember(&self, key: &ResultKey, bytes: u64) {
        self.0.lock().insert(key.clone(), bytes);
    }

    pub(super) fn forget(&self, key: &ResultKey) {
        self.0.lock().remove(key);
    }

    fn of(&self, key: &ResultKey) -> Option<u64> {
        self.0.lock().get(key).copied()
    }
}

impl Receiver {
    /// Rejects a body of this declared length if the disk has no space for it now. The time for a
    /// retry then starts again.
    pub(super) async fn check_space(&self, key: &ResultKey, declared: Option<u64>) -> Result<(), Box<Response>> {
        let bytes = declared.max(self.lacking.of(key)).unwrap_or_default();
        let checked = if bytes > 0 {
            let store = self.store.clone();
            tokio::task::spawn_blocking(move || store.check_free(bytes)).await.map_err(io::Error::other).flatten()
        } else {
            Ok(())
        };
        match checked {
            Err(error) if lacks_space(&error) => {
                tracing::warn!(plugin = %key.plugin, node = %key.node, "upload rejected: {error}");
                self.delay(key);
                Err(Box::new(ReceiveError::Io(error).response(&format!("result {key}"))))
            }
            // Any other error occurs again when the upload is written, and is recorded there.
            _ => {
                self.report(key, Some(NO_SPACE), None);
                Ok(())
            }
        }
    }

    /// Records that a result waits for disk space.
    fn delay(&self, key: &ResultKey) {
        let is_broken = self.state.read(|ledger| matches!(ledger.state(key), Some(KeyState::Broken { .. })));
        if !is_broken {
            return self.report(key, None, Some(NO_SPACE));
        }
        // After a timeout, a worker that declares a large body could delay the end of the run forever.
        if !self.state.read(|ledger| ledger.has_timed_out(key)) {
            self.renew_retry(key, NO_SPACE);
        }
    }

    /// Changes the reported problem of a result from `before` to `after`. Another one stays: a monitor
    /// reports only changes.
    fn report(&self, key: &ResultKey, before: Option<&str>, after: Option<&str>) {
        if self.state.read(|ledger| ledger.problem(key) != before) {
            return;
        }
        let problem = Event::Problem { key: key.clone(), reason: after.map(str::to_owned) };
        if let Err(error) = self.state.apply(problem) {
            tracing::warn!("not recorded: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use axum::http::StatusCode;
    use jiff::{SignedDuration, Timestamp};
    use plumbline_archive::disk::{Disk, Faults, Step};
    use plumbline_core::ReceiveLimits;
    use plumbline_core::ledger::Ledger;
    use tempfile::TempDir;

    use super::*;
    use crate::journal::Journal;
    use crate::server::Store;
    use crate::state::State;

    /// A disk that works, with this many free bytes.
    struct Free(AtomicU64);

    impl Faults for Free {
        fn step(&self, _: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
            act()
        }

        fn free_bytes(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }

    /// A receiver of `p/global` after `events` a minute ago.
    struct Bed {
        receiver: Receiver,
        key: ResultKey,
        free: Arc<Free>,
        dir: TempDir,
    }

    impl Bed {
        fn after(events: impl IntoIterator<Item = Event>) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let key: ResultKey = "p/global".parse().unwrap();
            let planned = Event::Planned { plugin: key.plugin.clone(), keys: vec![key.clone()] };
            let before = Timestamp::now() - SignedDuration::from_secs(60);
            let events = std::iter::once(planned).chain(events);
            let ledger = Ledger::replay(events.map(|event| (before, event))).unwrap();
            let (journal, _) = Journal::open_on(&Disk::default(), &dir.path().join("journal")).unwrap();
            let (state, _effects) = State::new(ledger, journal);
            let free = Arc::new(Free(AtomicU64::new(0)));
            let limits = ReceiveLimits::default();
            let [incoming, tree] = ["incoming", "tree"].map(|name| dir.path().join(name));
            let store = Store::create(&Disk::faulty(free.clone()), incoming, tree, &limits).unwrap();
            Self { receiver: Receiver::new(state, store, limits), key, free, dir }
        }

        async fn check(&self, declared: Option<u64>) -> Option<StatusCode> {
            self.receiver.check_space(&self.key, declared).await.err().map(|answer| answer.status())
        }

        fn is_complete_after(&self, seconds: i64) -> bool {
            let later = self.receiver.state.now() + SignedDuration::from_secs(seconds);
            self.receiver.state.read(|ledger| ledger.is_plugin_complete(&self.key.plugin, later))
        }

        fn reason(&self) -> Option<String> {
            self.receiver.state.status().plugins.unwrap().remove(0).reason
        }
    }

    fn broken() -> [Event; 2] {
        let key: ResultKey = "p/global".parse().unwrap();
        let reason = "connection reset".to_owned();
        [Event::UploadStarted { key: key.clone(), upload: 1 }, Event::UploadFailed { key, upload: 1, reason }]
    }

    #[tokio::test]
    async fn a_body_waits_for_its_space_and_the_status_says_so() {
        let bed = Bed::after([]);
        assert_eq!(bed.check(Some(10)).await, Some(StatusCode::SERVICE_UNAVAILABLE));
        assert_eq!(bed.reason().as_deref(), Some(NO_SPACE));
        bed.free.0.store(9, Ordering::Relaxed);
        assert_eq!(bed.check(Some(10)).await, Some(StatusCode::SERVICE_UNAVAILABLE));
        // The journal shares the full disk.
        assert_eq!(std::fs::metadata(bed.dir.path().join("journal")).unwrap().len(), 0);
        bed.free.0.store(10, Ordering::Relaxed);
        assert_eq!((bed.check(Some(10)).await, bed.reason()), (None, None));
    }

    #[tokio::test]
    async fn a_problem_that_a_monitor_reports_stays() {
        let bed = Bed::after([]);
        let reason = Some("node n1 is not ready".to_owned());
        bed.receiver.state.apply(Event::Problem { key: bed.key.clone(), reason: reason.clone() }).unwrap();
        assert!(bed.check(Some(10)).await.is_some());
        assert_eq!(bed.reason(), reason);
        bed.free.0.store(10, Ordering::Relaxed);
        assert_eq!((bed.check(Some(10)).await, bed.reason()), (None, reason));
    }

    #[tokio::test]
    async fn a_body_that_lacked_space_waits_until_that_much_is_free() {
        let bed = Bed::after([]);
        assert_eq!(bed.check(None).await, None, "nobody knows its size");
        bed.receiver.lacking.remember(&bed.key, 100);
        for (free, status) in [(99, Some(StatusCode::SERVICE_UNAVAILABLE)), (100, None)] {
            bed.free.0.store(free, Ordering::Relaxed);
            assert_eq!((bed.check(None).await, bed.check(Some(10)).await), (status, status), "{free}");
        }
        bed.free.0.store(10, Ordering::Relaxed);
        bed.receiver.lacking.forget(&bed.key);
        assert_eq!(bed.check(Some(10)).await, None);
    }

    #[tokio::test]
    async fn a_retry_window_starts_again_while_the_disk_is_full() {
        let bed = Bed::after(broken());
        // The window of the failure ends before this time.
        assert!(bed.is_complete_after(90));
        assert!(bed.check(Some(10)).await.is_some());
        assert!(!bed.is_complete_after(90));
        assert_eq!(bed.reason().as_deref(), Some(NO_SPACE));
    }

    #[tokio::test]
    async fn a_full_disk_does_not_delay_the_end_of_a_plugin_that_timed_out() {
        let timed_out = Event::TimedOut { plugin: "p".parse().unwrap() };
        let bed = Bed::after(broken().into_iter().chain([timed_out]));
        assert!(bed.check(Some(10)).await.is_some());
        assert!(bed.is_complete_after(90));
    }
}
