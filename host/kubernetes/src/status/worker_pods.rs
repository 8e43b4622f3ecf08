//! The pods of plugins, and which of them to annotate next. The monitor watches the pods and keeps
//! this up to date.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use plumbline_core::GLOBAL;
use plumbline_core::ledger::{KeyState, Ledger};
use serde_json::json;
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
    plugin: String,
    node: String,
    last: Option<(WorkerStatus, Instant)>,
}

impl Pods {
    pub(crate) fn apply(&mut self, pod: &PodView) {
        let Some(plugin) = pod.plugin.clone() else { return };
        if pod.deleting.is_some() {
            self.remove(&pod.name);
            return;
        }
        let last = self.objects.get(&pod.name).and_then(|written| written.last);
        self.put(&pod.name, Written { plugin, node: pod.node.clone().unwrap_or_default(), last });
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
        index: &WorkerIndex,
        refresh: Duration,
        now: Instant,
        count: usize,
    ) -> Vec<(String, WorkerStatus)> {
        let mut due: Vec<(bool, WorkerStatus, &String)> = Vec::new();
        for (name, written) in &self.objects {
            let on = |node: &str| index.get(&(written.plugin.clone(), node.to_owned()));
            let Some(known) = on(&written.node).or_else(|| on(GLOBAL)) else { continue };
            match &written.last {
                Some((last, _)) if last == known => {}
                Some((last, at)) if last.phase == known.phase => {
                    if now.duration_since(*at) >= refresh + jitter(name, refresh) {
                        due.push((true, *known, name));
                    }
                }
                _ => due.push((false, *known, name)),
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WorkerPhase {
    /// Sorted by the order of writing: final states come before initial ones.
    TimedOut,
    Failed,
    Complete,
    Running,
}

impl WorkerPhase {
    fn as_str(self) -> &'static str {
        match self {
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
            Self::Complete => "complete",
            Self::Running => "running",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkerStatus {
    phase: WorkerPhase,
    heard: Option<Timestamp>,
}

impl WorkerStatus {
    pub(super) fn to_json(self) -> String {
        let mut all = json!({"status": self.phase.as_str()});
        if let (Some(heard), Some(all)) = (self.heard, all.as_object_mut()) {
            all.insert("last-heartbeat".to_owned(), json!(heard));
        }
        all.to_string()
    }
}

pub(super) type WorkerIndex = HashMap<(String, String), WorkerStatus>;

pub(super) fn worker_index(ledger: &Ledger) -> WorkerIndex {
    let known = |key| {
        let phase = match ledger.state(key)? {
            KeyState::Received { .. } => WorkerPhase::Complete,
            KeyState::Failed { .. } if ledger.error(key).is_some_and(|error| error.is_timeout()) => {
                WorkerPhase::TimedOut
            }
            KeyState::Failed { .. } => WorkerPhase::Failed,
            _ => WorkerPhase::Running,
        };
        Some(WorkerStatus { phase, heard: ledger.last_heard(key) })
    };
    ledger.keys().filter_map(|key| Some(((key.plugin.to_string(), key.node.to_string()), known(key)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
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

    #[test]
    fn changes_come_before_heartbeats_and_ends_before_beginnings() {
        let now = Instant::now();
        let mut pods = Pods::default();
        for n in 1..=4 {
            pods.apply(&pod(&format!("p{n}"), "bench", &format!("n{n}")));
        }
        pods.apply(&pod("job", "e2e", "n1"));
        pods.apply(&pod("stranger", "other", "n1"));
        let key = |plugin: &str, node: &str| (plugin.to_owned(), node.to_owned());
        let mut index: WorkerIndex = [
            (key("bench", "n1"), known(WorkerPhase::Running, 1)),
            (key("bench", "n2"), known(WorkerPhase::Failed, 1)),
            (key("bench", "n3"), known(WorkerPhase::Complete, 1)),
            (key("bench", "n4"), known(WorkerPhase::TimedOut, 1)),
            (key("e2e", GLOBAL), known(WorkerPhase::Running, 1)),
        ]
        .into();
        let due = pods.due(&index, REFRESH, now, 9);
        assert_eq!(names(&due), ["p4", "p2", "p3", "job", "p1"]);
        assert_eq!(names(&pods.due(&index, REFRESH, now, 2)), ["p4", "p2"]);
        for (name, known) in due {
            pods.wrote(&name, known, now);
        }
        assert!(pods.due(&index, REFRESH, now + REFRESH * 2, 9).is_empty(), "nothing new");
        index.insert(key("bench", "n1"), known(WorkerPhase::Running, 31));
        assert!(pods.due(&index, REFRESH, now + Duration::from_secs(200), 9).is_empty(), "a heartbeat can wait");
        assert_eq!(names(&pods.due(&index, REFRESH, now + REFRESH * 2, 9)), ["p1"]);
        index.insert(key("bench", "n1"), known(WorkerPhase::Complete, 32));
        assert_eq!(names(&pods.due(&index, REFRESH, now, 9)), ["p1"]);
    }

    #[test]
    fn pods_that_are_gone_are_skipped_and_what_was_written_is_remembered() {
        let now = Instant::now();
        let index: WorkerIndex = [(("a".to_owned(), "n".to_owned()), known(WorkerPhase::Running, 1))].into();
        let mut pods = Pods::default();
        pods.apply(&pod("one", "a", "n"));
        pods.apply(&pod("two", "a", "n"));
        pods.remove("two");
        assert_eq!(names(&pods.due(&index, REFRESH, now, 9)), ["one"]);
        pods.wrote("one", known(WorkerPhase::Running, 1), now);
        pods.begin_list();
        pods.apply(&pod("one", "a", "n"));
        pods.apply(&pod("three", "a", "n"));
        pods.end_list();
        assert_eq!(names(&pods.due(&index, REFRESH, now, 9)), ["three"]);
        pods.apply(&PodView { deleting: Some(30), ..pod("three", "a", "n") });
        assert!(pods.due(&index, REFRESH, now, 9).is_empty());
    }

    #[test]
    fn the_annotation_leaves_out_what_is_not_known() {
        let running = WorkerStatus { phase: WorkerPhase::Running, heard: Some(Timestamp::UNIX_EPOCH) };
        assert_eq!(WorkerStatus { phase: WorkerPhase::TimedOut, heard: None }.to_json(), r#"{"status":"timed_out"}"#);
        assert_eq!(running.to_json(), r#"{"last-heartbeat":"1970-01-01T00:00:00Z","status":"running"}"#);
    }
}
