//! The pods of plugins, and which of them to annotate next. The monitor watches the pods and keeps
//! this up to date.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use plumbline_core::ledger::Ledger;
use plumbline_core::{NodeName, ResultKey};
use serde::Serialize;
use tokio::time::Instant;

use crate::pod_view::PodView;
use crate::watch::Seen;

/// The pods of plugins that a monitor sees, for the code that annotates them. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct WorkerPods(Arc<Mutex<Pods>>);

impl WorkerPods {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Pods> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) type Pods = Seen<Written>;

#[derive(Debug, Clone)]
pub(crate) struct Written {
    /// The key of the pod's result. Without a node, it is that of the whole cluster.
    key: ResultKey,
    last: Option<(WorkerStatus, Instant)>,
}

impl Pods {
    pub(crate) fn apply(&mut self, pod: &PodView) {
        let Some(plugin) = pod.plugin.as_deref().and_then(|plugin| plugin.parse().ok()) else { return };
        if pod.deleting.is_some() {
            self.remove(&pod.name);
            return;
        }
        let node = pod.node.as_deref().and_then(|node| node.parse().ok()).unwrap_or_else(NodeName::global);
        let last = self.objects.get(&pod.name).and_then(|written| written.last);
        self.put(&pod.name, Written { key: ResultKey::new(plugin, node), last });
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.objects.remove(name);
    }

    /// Returns the annotations to write now, at most `count`.
    ///
    /// Changed states come first, with final ones before initial ones. Then come heartbeats older
    /// than `refresh`, plus up to a fifth by pod name, so that they are spread over time.
    pub(super) fn due(
        &self,
        ledger: &Ledger,
        refresh: Duration,
        now: Instant,
        count: usize,
    ) -> Vec<(String, WorkerStatus)> {
        let mut due: Vec<(bool, WorkerStatus, &String)> = Vec::new();
        for (name, written) in &self.objects {
            // A final state stays, and heartbeats can wait.
            if let Some((last, at)) = &written.last
                && last.phase != WorkerPhase::Running
                && now.duration_since(*at) < refresh
            {
                continue;
            }
            let global = || worker_status(ledger, &ResultKey::global(written.key.plugin.clone()));
            let Some(known) = worker_status(ledger, &written.key).or_else(global) else { continue };
            match &written.last {
                Some((last, _)) if *last == known => {}
                Some((last, at)) if last.phase == known.phase => {
                    if now.duration_since(*at) >= refresh + jitter(name, refresh) {
                        due.push((true, known, name));
                    }
                }
                _ => due.push((false, known, name)),
            }
        }
        due.sort_by_key(|(refreshed, known, _)| (*refreshed, known.phase));
        due.into_iter().take(count).map(|(_, known, name)| (name.clone(), known)).collect()
    }

    /// Records that `known` was written on a pod, or cannot be written. It is not retried before
    /// something changes.
    pub(super) fn wrote(&mut self, name: &str, known: WorkerStatus, now: Instant) {
        if let Some(written) = self.objects.get_mut(name) {
            written.last = Some((known, now));
        }
    }
}

fn jitter(name: &str, refresh: Duration) -> Duration {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    // The remainder fits into 32 bits.
    refresh / 5 * u32::try_from(hasher.finish() % 100).unwrap_or(0) / 100
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WorkerPhase {
    /// Sorted by the order of writing: final states come before initial ones.
    TimedOut,
    Failed,
    Complete,
    Running,
}

/// The content of the annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct WorkerStatus {
    #[serde(rename = "last-heartbeat", skip_serializing_if = "Option::is_none")]
    heard: Option<Timestamp>,
    #[serde(rename = "status")]
    phase: WorkerPhase,
}

/// Returns the state of the worker of an expected result. `None` if the result is not expected.
fn worker_status(ledger: &Ledger, key: &ResultKey) -> Option<WorkerStatus> {
    let phase = if ledger.is_missing(key) {
        WorkerPhase::Running
    } else if ledger.is_received(key) {
        WorkerPhase::Complete
    } else if ledger.error(key)?.is_timeout() {
        WorkerPhase::TimedOut
    } else {
        WorkerPhase::Failed
    };
    Some(WorkerStatus { phase, heard: ledger.last_heard(key) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use plumbline_core::ledger::{ErrorRecord, Event, Stored, StoredKind, TIMEOUT_ERROR};
    use serde_json::json;

    const REFRESH: Duration = Duration::from_secs(300);

    fn pod(name: &str, plugin: &str, node: &str) -> PodView {
        let labels = json!({"sonobuoy-plugin": plugin});
        PodView::read(&json!({"metadata": {"name": name, "labels": labels}, "spec": {"nodeName": node}})).unwrap()
    }

    fn known(phase: WorkerPhase, second: i64) -> WorkerStatus {
        WorkerStatus { phase, heard: Some(Timestamp::from_second(second).unwrap()) }
    }

    fn names(due: &[(String, WorkerStatus)]) -> Vec<&str> {
        due.iter().map(|(name, _)| name.as_str()).collect()
    }

    fn apply(ledger: &mut Ledger, second: i64, event: Event) {
        ledger.apply(Timestamp::from_second(second).unwrap(), event).unwrap();
    }

    /// Returns a ledger that expects these results, and has heard from all workers.
    fn ledger(plan: &[(&str, &[&str])]) -> Ledger {
        let mut ledger = Ledger::default();
        for (plugin, keys) in plan {
            let keys = keys.iter().map(|key| key.parse().unwrap()).collect();
            apply(&mut ledger, 0, Event::Planned { plugin: plugin.parse().unwrap(), keys });
        }
        let keys: Vec<ResultKey> = ledger.keys().cloned().collect();
        keys.into_iter().for_each(|key| apply(&mut ledger, 1, Event::Hello { key }));
        ledger
    }

    fn fail(ledger: &mut Ledger, key: &str, error: &str) {
        apply(ledger, 1, Event::Failed { key: key.parse().unwrap(), error: ErrorRecord::new(error) });
    }

    fn receive(ledger: &mut Ledger, key: &str) {
        let key: ResultKey = key.parse().unwrap();
        let stored = Stored { kind: StoredKind::File, files: 1, bytes: 1, sha256: String::new() };
        apply(ledger, 32, Event::UploadStarted { key: key.clone(), upload: 1 });
        apply(ledger, 32, Event::UploadStored { key, upload: 1, stored });
    }

    #[test]
    fn changes_come_before_heartbeats_and_ends_before_beginnings() {
        let now = Instant::now();
        let mut pods = Pods::default();
        for n in 1..=4 {
            pods.apply(&pod(&format!("p{n}"), "bench", &format!("n{n}")));
        }
        pods.apply(&pod("job", "e2e", "n1"));
        pods.apply(&pod("stranger", "other", "n1"));
        let mut ledger =
            ledger(&[("bench", &["bench/n1", "bench/n2", "bench/n3", "bench/n4"]), ("e2e", &["e2e/global"])]);
        fail(&mut ledger, "bench/n2", "no pod");
        receive(&mut ledger, "bench/n3");
        fail(&mut ledger, "bench/n4", TIMEOUT_ERROR);
        let due = pods.due(&ledger, REFRESH, now, 9);
        assert_eq!(names(&due), ["p4", "p2", "p3", "job", "p1"]);
        assert_eq!(names(&pods.due(&ledger, REFRESH, now, 2)), ["p4", "p2"]);
        for (name, known) in due {
            pods.wrote(&name, known, now);
        }
        assert!(pods.due(&ledger, REFRESH, now + REFRESH * 2, 9).is_empty(), "nothing new");
        for key in ["bench/n1", "bench/n2"] {
            apply(&mut ledger, 31, Event::Heartbeat { key: key.parse().unwrap() });
        }
        assert!(pods.due(&ledger, REFRESH, now + Duration::from_secs(200), 9).is_empty(), "a heartbeat can wait");
        assert_eq!(names(&pods.due(&ledger, REFRESH, now + REFRESH * 2, 9)), ["p2", "p1"]);
        receive(&mut ledger, "bench/n1");
        assert_eq!(names(&pods.due(&ledger, REFRESH, now, 9)), ["p1"]);
    }

    #[test]
    fn pods_that_are_gone_are_skipped_and_what_was_written_is_remembered() {
        let now = Instant::now();
        let ledger = ledger(&[("a", &["a/n"])]);
        let mut pods = Pods::default();
        pods.apply(&pod("one", "a", "n"));
        pods.apply(&pod("two", "a", "n"));
        pods.remove("two");
        assert_eq!(names(&pods.due(&ledger, REFRESH, now, 9)), ["one"]);
        pods.wrote("one", known(WorkerPhase::Running, 1), now);
        pods.begin_list();
        pods.apply(&pod("one", "a", "n"));
        pods.apply(&pod("three", "a", "n"));
        pods.end_list();
        assert_eq!(names(&pods.due(&ledger, REFRESH, now, 9)), ["three"]);
        pods.apply(&PodView { deleting: Some(30), ..pod("three", "a", "n") });
        assert!(pods.due(&ledger, REFRESH, now, 9).is_empty());
    }

    #[test]
    fn the_annotation_leaves_out_what_is_not_known() {
        let running = WorkerStatus { phase: WorkerPhase::Running, heard: Some(Timestamp::UNIX_EPOCH) };
        let unheard = WorkerStatus { phase: WorkerPhase::TimedOut, heard: None };
        assert_eq!(json!(unheard).to_string(), r#"{"status":"timed_out"}"#);
        assert_eq!(json!(running).to_string(), r#"{"last-heartbeat":"1970-01-01T00:00:00Z","status":"running"}"#);
    }
}
