//! What is written on the pods of plugins, and on which of them next: pure, so that it can be tested by calling it.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use jiff::Timestamp;
use kube::core::{NotUsed, Object};
use plumbline_core::GLOBAL;
use plumbline_core::ledger::{KeyState, Ledger};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::names;

/// How a worker's result stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Word {
    /// In the order in which they are written: an end is told before a beginning.
    TimedOut,
    Failed,
    Complete,
    Running,
}

impl Word {
    fn as_str(self) -> &'static str {
        match self {
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
            Self::Complete => "complete",
            Self::Running => "running",
        }
    }
}

/// What is known of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) word: Word,
    pub(super) heard: Option<Timestamp>,
}

impl Known {
    /// The annotation.
    pub(super) fn to_json(self) -> String {
        let mut all = json!({"status": self.word.as_str()});
        if let (Some(heard), Some(all)) = (self.heard, all.as_object_mut()) {
            all.insert("last-heartbeat".to_owned(), json!(heard));
        }
        all.to_string()
    }
}

/// By plugin and node.
pub(super) type Index = HashMap<(String, String), Known>;

/// What the ledger knows of all workers.
pub(super) fn index(ledger: &Ledger) -> Index {
    let known = |key| {
        let word = match ledger.state(key)? {
            KeyState::Received { .. } => Word::Complete,
            KeyState::Failed { .. } if ledger.error(key).is_some_and(|error| error.is_timeout()) => Word::TimedOut,
            KeyState::Failed { .. } => Word::Failed,
            _ => Word::Running,
        };
        Some(Known { word, heard: ledger.last_heard(key) })
    };
    ledger.keys().filter_map(|key| Some(((key.plugin.to_string(), key.node.to_string()), known(key)?))).collect()
}

/// As much of a pod as counts here: thousands of whole ones are listed and watched by the monitor already.
pub(super) type Pod = Object<Spec, NotUsed>;

/// Where a pod runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    pub(super) node_name: Option<String>,
}

/// The pods of plugins, and what was written on them.
#[derive(Debug, Default)]
pub(super) struct Pods {
    pods: BTreeMap<String, Written>,
    /// While the pods are listed anew: those that were seen.
    listing: Option<BTreeMap<String, Written>>,
}

#[derive(Debug, Clone)]
struct Written {
    plugin: String,
    node: String,
    last: Option<(Known, Instant)>,
}

impl Pods {
    /// A pod is there, or was changed.
    pub(super) fn apply(&mut self, pod: &Pod) {
        let label = pod.metadata.labels.as_ref().and_then(|labels| labels.get(names::PLUGIN_LABEL));
        let (Some(name), Some(plugin)) = (pod.metadata.name.clone(), label) else { return };
        if pod.metadata.deletion_timestamp.is_some() {
            self.remove(&name);
            return;
        }
        let node = pod.spec.node_name.clone().unwrap_or_default();
        let last = self.pods.get(&name).and_then(|written| written.last);
        let written = Written { plugin: plugin.clone(), node, last };
        self.listing.as_mut().unwrap_or(&mut self.pods).insert(name, written);
    }

    /// A pod is gone.
    pub(super) fn remove(&mut self, name: &str) {
        self.pods.remove(name);
        if let Some(listing) = &mut self.listing {
            listing.remove(name);
        }
    }

    /// All pods are listed anew: those that are not, are gone.
    pub(super) fn begin_list(&mut self) {
        self.listing = Some(BTreeMap::new());
    }

    /// All pods were listed.
    pub(super) fn end_list(&mut self) {
        if let Some(listed) = self.listing.take() {
            self.pods = listed;
        }
    }

    /// What to write now, at most `count` of them: changed words first, ends before beginnings, then heartbeats that are older than
    /// `refresh` (and up to a fifth more, by the name of the pod, so that they do not come all at once).
    pub(super) fn due(&self, index: &Index, refresh: Duration, now: Instant, count: usize) -> Vec<(String, Known)> {
        let mut due: Vec<(bool, Known, &String)> = Vec::new();
        for (name, written) in &self.pods {
            let on = |node: &str| index.get(&(written.plugin.clone(), node.to_owned()));
            let Some(known) = on(&written.node).or_else(|| on(GLOBAL)) else { continue };
            match &written.last {
                Some((last, _)) if last == known => {}
                Some((last, at)) if last.word == known.word => {
                    if now.duration_since(*at) >= refresh + jitter(name, refresh) {
                        due.push((true, *known, name));
                    }
                }
                _ => due.push((false, *known, name)),
            }
        }
        due.sort_by_key(|(refreshed, known, _)| (*refreshed, known.word));
        due.into_iter().take(count).map(|(_, known, name)| (name.clone(), known)).collect()
    }

    /// `known` was written on a pod, or cannot be: it is not tried again before something changes.
    pub(super) fn wrote(&mut self, name: &str, known: Known, now: Instant) {
        if let Some(written) = self.pods.get_mut(name) {
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

#[cfg(test)]
mod tests {
    use super::*;

    const REFRESH: Duration = Duration::from_secs(300);

    fn pod(name: &str, plugin: &str, node: &str) -> Pod {
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"sonobuoy-plugin": plugin}},
            "spec": {"nodeName": node, "containers": []},
        }))
        .unwrap()
    }

    fn known(word: Word, second: i64) -> Known {
        Known { word, heard: Some(Timestamp::from_second(second).unwrap()) }
    }

    fn names(due: &[(String, Known)]) -> Vec<&str> {
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
        let mut index: Index = [
            (key("bench", "n1"), known(Word::Running, 1)),
            (key("bench", "n2"), known(Word::Failed, 1)),
            (key("bench", "n3"), known(Word::Complete, 1)),
            (key("bench", "n4"), known(Word::TimedOut, 1)),
            (key("e2e", GLOBAL), known(Word::Running, 1)),
        ]
        .into();
        let due = pods.due(&index, REFRESH, now, 9);
        assert_eq!(names(&due), ["p4", "p2", "p3", "job", "p1"]);
        assert_eq!(names(&pods.due(&index, REFRESH, now, 2)), ["p4", "p2"]);
        for (name, known) in due {
            pods.wrote(&name, known, now);
        }
        assert!(pods.due(&index, REFRESH, now + REFRESH * 2, 9).is_empty(), "nothing new");
        index.insert(key("bench", "n1"), known(Word::Running, 31));
        assert!(pods.due(&index, REFRESH, now + Duration::from_secs(200), 9).is_empty(), "a heartbeat can wait");
        assert_eq!(names(&pods.due(&index, REFRESH, now + REFRESH * 2, 9)), ["p1"]);
        index.insert(key("bench", "n1"), known(Word::Complete, 32));
        assert_eq!(names(&pods.due(&index, REFRESH, now, 9)), ["p1"]);
    }

    #[test]
    fn pods_that_are_gone_are_skipped_and_what_was_written_is_remembered() {
        let now = Instant::now();
        let index: Index = [(("a".to_owned(), "n".to_owned()), known(Word::Running, 1))].into();
        let mut pods = Pods::default();
        pods.apply(&pod("one", "a", "n"));
        pods.apply(&pod("two", "a", "n"));
        pods.remove("two");
        assert_eq!(names(&pods.due(&index, REFRESH, now, 9)), ["one"]);
        pods.wrote("one", known(Word::Running, 1), now);
        pods.begin_list();
        pods.apply(&pod("one", "a", "n"));
        pods.apply(&pod("three", "a", "n"));
        pods.end_list();
        assert_eq!(names(&pods.due(&index, REFRESH, now, 9)), ["three"]);
        let mut leaving = pod("three", "a", "n");
        leaving.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Timestamp::now()));
        pods.apply(&leaving);
        assert!(pods.due(&index, REFRESH, now, 9).is_empty());
    }

    #[test]
    fn the_annotation_leaves_out_what_is_not_known() {
        assert_eq!(Known { word: Word::TimedOut, heard: None }.to_json(), r#"{"status":"timed_out"}"#);
        assert_eq!(
            known(Word::Running, 0).to_json(),
            r#"{"last-heartbeat":"1970-01-01T00:00:00Z","status":"running"}"#
        );
    }
}
