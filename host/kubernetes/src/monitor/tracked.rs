//! What the index keeps: the objects of the cluster, the plugins, and the state of each expected
//! result.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use plumbline_core::{NodeName, ResultKey};

use super::assess::{Kind, Problem};
use super::options::Watched;
use crate::pod_view::PodView;

/// A moment. Grace periods use a monotonic clock, and heartbeats have wall clock times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Now {
    /// The time since the monitor started.
    pub(super) at: Duration,
    pub(super) wall: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeletedPod {
    pub(super) pod: PodView,
    /// The last known object as JSON, or empty if only its absence was seen. It is a string because
    /// thousands may disappear at once.
    pub(super) object: Box<str>,
}

/// The decision that a result will not arrive, before it is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) key: ResultKey,
    pub(super) kind: Kind,
    pub(super) sentence: String,
    pub(super) session: String,
    /// The name of the plugin's own container.
    pub(super) container: String,
    /// The node of the result, if it has one.
    pub(super) node: Option<String>,
    /// The pod of the result, if it has or had one.
    pub(super) pod: Option<PodView>,
    /// The last known state of the pod, if it is gone.
    pub(super) last: Option<DeletedPod>,
}

/// Interval between checks whether a silent worker sends heartbeats again.
const SILENCE_CHECK: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ActiveProblem {
    /// When the problem is reported as what the run waits for.
    pub(super) reported: Duration,
    /// When the problem leads to a verdict.
    pub(super) due: Duration,
    pub(super) problem: Problem,
}

impl ActiveProblem {
    pub(super) fn new(problem: Problem, since: Duration) -> Self {
        Self { reported: since.saturating_add(problem.quiet), due: since.saturating_add(problem.grace), problem }
    }
}

#[derive(Debug, Default)]
pub(super) struct Tracked {
    pub(super) pods: BTreeSet<String>,
    pub(super) last: Option<DeletedPod>,
    pub(super) problems: BTreeMap<Kind, ActiveProblem>,
    /// A crash loop whose container is running again, as it does between two crashes. Until this
    /// time another crash belongs to the same loop.
    pub(super) looped: Option<(Duration, ActiveProblem)>,
    /// The problem that was reported last.
    pub(super) reported: Option<String>,
    /// The entry in the index of deadlines.
    pub(super) due: Option<Duration>,
    /// Whether its worker has contacted the aggregator.
    pub(super) greeted: bool,
    /// Whether there was a verdict, or the result has arrived.
    pub(super) settled: bool,
    pub(super) given_up: bool,
}

impl Tracked {
    /// Stores the current problems. Known ones keep their deadlines, and those that are over are
    /// dropped.
    pub(super) fn take(&mut self, problems: Vec<Problem>, at: Duration) {
        let mut before = std::mem::take(&mut self.problems);
        let mut looped = match before.remove(&Kind::CrashLoop) {
            Some(lasting) => Some((at.saturating_add(lasting.problem.grace), lasting)),
            None => self.looped.take().filter(|(until, _)| at < *until),
        };
        for problem in problems {
            let known = match problem.kind {
                Kind::CrashLoop => looped.take().map(|(_, lasting)| lasting),
                kind => before.remove(&kind),
            };
            let lasting = match known {
                Some(lasting) => ActiveProblem { problem, ..lasting },
                None => ActiveProblem::new(problem, at),
            };
            self.problems.insert(lasting.problem.kind, lasting);
        }
        self.looped = looped;
    }

    /// Stores the time of the worker's last heartbeat, from which its silence counts.
    pub(super) fn heard(&mut self, last: Option<Timestamp>, now: Now) {
        let (Some(last), Some(silence)) = (last, self.problems.get_mut(&Kind::Silent)) else { return };
        let ago = Duration::try_from(now.wall.duration_since(last)).unwrap_or_default();
        let since = now.at.saturating_sub(ago);
        silence.reported = silence.reported.max(since.saturating_add(silence.problem.quiet));
        silence.due = silence.due.max(since.saturating_add(silence.problem.grace));
    }

    /// Returns when to check the clock again.
    pub(super) fn next_due(&self, at: Duration) -> Option<Duration> {
        if self.settled {
            return None;
        }
        let next = |lasting: &ActiveProblem| match lasting.problem.kind {
            _ if at < lasting.reported => lasting.reported,
            // Only a periodic check shows that heartbeats have resumed.
            Kind::Silent => lasting.due.min(at.saturating_add(SILENCE_CHECK)),
            _ => lasting.due,
        };
        // A problem that never counts needs no check.
        self.problems.values().map(next).filter(|next| *next < Duration::MAX).min()
    }

    /// Returns the problem to report, if it differs from the last report.
    pub(super) fn news(&mut self, at: Duration) -> Option<Option<String>> {
        if self.settled {
            return None;
        }
        let lasting = self.problems.values().find(|lasting| lasting.reported <= at);
        let now = lasting.map(|lasting| &lasting.problem.so_far);
        if self.reported.as_ref() == now {
            return None;
        }
        self.reported = now.cloned();
        Some(self.reported.clone())
    }
}

#[derive(Debug)]
pub(super) struct Plugin {
    pub(super) watched: Watched,
    pub(super) keys: BTreeMap<NodeName, Tracked>,
}

impl Plugin {
    pub(super) fn new(watched: Watched) -> Self {
        let keys = watched.missing.iter().filter(|key| key.plugin == watched.plugin);
        let keys = keys.map(|key| (key.node.clone(), Tracked::default())).collect();
        Self { watched, keys }
    }

    pub(super) fn result_keys(&self) -> impl Iterator<Item = ResultKey> {
        self.keys.keys().map(|node| self.key(node))
    }

    pub(super) fn key(&self, node: &NodeName) -> ResultKey {
        ResultKey::new(self.watched.plugin.clone(), node.clone())
    }

    /// Returns the result to which a pod belongs. There is none for a pod without a node, or on a
    /// node without an expected result.
    pub(super) fn place(&self, pod: &PodView) -> Option<NodeName> {
        if pod.session.as_deref() != Some(&self.watched.session) {
            return None;
        }
        let node = if self.watched.per_node { pod.place()?.parse().ok()? } else { NodeName::global() };
        self.keys.contains_key(&node).then_some(node)
    }
}
