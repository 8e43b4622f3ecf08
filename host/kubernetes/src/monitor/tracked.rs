//! What the index keeps: the objects of the cluster, the plugins, and the state of each expected
//! result.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_core::{NodeName, ResultKey};

use super::assess::{Kind, Problem};
use super::options::Watched;
use crate::pod_view::PodView;

/// A moment. Grace periods use a monotonic clock. Heartbeats have times of the ledger's clock, which is
/// ahead of this machine's after that was set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Now {
    /// The time since the monitor started.
    pub(super) at: Duration,
    pub(super) wall: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeletedPod {
    pub(super) pod: Arc<PodView>,
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

/// A problem and its deadlines. Every healthy worker has one, because its silence counts from its last
/// heartbeat. So the problem is described only when it is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ActiveProblem {
    pub(super) kind: Kind,
    pub(super) grace: Duration,
    quiet: Duration,
    /// When the problem is reported as what the run waits for.
    pub(super) reported: Duration,
    /// When the problem leads to a verdict.
    pub(super) due: Duration,
}

impl ActiveProblem {
    fn new(problem: &Problem<'_>, since: Duration) -> Self {
        let Problem { kind, grace, quiet, .. } = *problem;
        Self { kind, grace, quiet, reported: since.saturating_add(quiet), due: since.saturating_add(grace) }
    }
}

/// The state of an expected result. There are thousands, so what few have is boxed.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    /// The names of its pods, mostly one.
    pub(super) pods: Vec<String>,
    pub(super) last: Option<Box<DeletedPod>>,
    /// The current problems in the order of their kinds, mostly one.
    pub(super) problems: Vec<ActiveProblem>,
    /// A crash loop whose container is running again, as it does between two crashes. Until this
    /// time another crash belongs to the same loop.
    looped: Option<Box<(Duration, ActiveProblem)>>,
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
    pub(super) fn take(&mut self, problems: &[Problem<'_>], at: Duration) {
        let mut looped = match self.remove(Kind::CrashLoop) {
            Some(lasting) => Some(Box::new((at.saturating_add(lasting.grace), lasting))),
            None => self.looped.take().filter(|looped| at < looped.0),
        };
        let mut current = Vec::with_capacity(problems.len());
        for problem in problems {
            let known = match problem.kind {
                Kind::CrashLoop => looped.take().map(|looped| looped.1),
                kind => self.remove(kind),
            };
            current.push(match known {
                Some(lasting) => ActiveProblem { grace: problem.grace, quiet: problem.quiet, ..lasting },
                None => ActiveProblem::new(problem, at),
            });
        }
        current.sort_by_key(|lasting| lasting.kind);
        self.problems = current;
        self.looped = looped;
    }

    pub(super) fn problem_mut(&mut self, kind: Kind) -> Option<&mut ActiveProblem> {
        self.problems.iter_mut().find(|lasting| lasting.kind == kind)
    }

    /// Drops the current problem of this kind, and returns it.
    pub(super) fn remove(&mut self, kind: Kind) -> Option<ActiveProblem> {
        let at = self.problems.iter().position(|lasting| lasting.kind == kind)?;
        Some(self.problems.remove(at))
    }

    /// Adds a pod, if it is not known yet.
    pub(super) fn add_pod(&mut self, name: String) {
        if !self.pods.contains(&name) {
            self.pods.reserve_exact(1);
            self.pods.push(name);
        }
    }

    /// Stores the time of the worker's last heartbeat, from which its silence counts.
    pub(super) fn heard(&mut self, last: Option<Timestamp>, now: Now) {
        let (Some(last), Some(silence)) = (last, self.problem_mut(Kind::Silent)) else { return };
        let ago = Duration::try_from(now.wall.duration_since(last)).unwrap_or_default();
        let since = now.at.saturating_sub(ago);
        silence.reported = silence.reported.max(since.saturating_add(silence.quiet));
        silence.due = silence.due.max(since.saturating_add(silence.grace));
    }

    /// Returns when to check the clock again.
    pub(super) fn next_due(&self, at: Duration) -> Option<Duration> {
        if self.settled {
            return None;
        }
        let next = |lasting: &ActiveProblem| match lasting.kind {
            _ if at < lasting.reported => lasting.reported,
            // Only a periodic check shows that heartbeats have resumed.
            Kind::Silent => lasting.due.min(at.saturating_add(SILENCE_CHECK)),
            _ => lasting.due,
        };
        // A problem that never counts needs no check.
        self.problems.iter().map(next).filter(|next| *next < Duration::MAX).min()
    }

    /// Returns the problem to report, if it differs from the last report. `problems` are the current
    /// ones with their descriptions.
    pub(super) fn news(&mut self, at: Duration, problems: &[Problem<'_>]) -> Option<Option<String>> {
        if self.settled {
            return None;
        }
        let lasting = self.problems.iter().find(|lasting| lasting.reported <= at).map(|lasting| lasting.kind);
        let now = problems.iter().find(|problem| Some(problem.kind) == lasting).map(Problem::so_far);
        if self.reported == now {
            return None;
        }
        self.reported.clone_from(&now);
        Some(now)
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
