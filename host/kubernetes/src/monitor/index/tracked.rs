//! What is remembered of one expected result, and of one plugin.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use plumbline_core::{NodeName, PluginName, ResultKey};

use super::super::assess::{Kind, Trouble};
use super::super::options::Watched;
use crate::pod_view::PodView;

/// A moment. Graces are counted on a clock that nobody sets; workers are heard of at times of the clock on the wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Now {
    /// Since the monitor began.
    pub(in super::super) at: Duration,
    pub(in super::super) wall: Timestamp,
}

/// A pod that is not there any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Departed {
    pub(in super::super) pod: PodView,
    /// The object as it was seen last, as JSON; empty if only the lack of it was seen. A text, because thousands may go at once.
    pub(in super::super) object: Box<str>,
}

/// A result that will not arrive, as far as can be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Verdict {
    pub(in super::super) key: ResultKey,
    pub(in super::super) kind: Kind,
    pub(in super::super) sentence: String,
    pub(in super::super) session: String,
    /// The plugin's own container.
    pub(in super::super) container: String,
    /// The node that the result is about, if it is about one.
    pub(in super::super) node: Option<String>,
    /// The pod that the result is about, if there is or was one.
    pub(in super::super) pod: Option<PodView>,
    /// The pod as it was seen last, if it is gone.
    pub(in super::super) last: Option<Departed>,
}

/// How often it is checked whether a silent worker is heard of again.
const SILENCE_CHECK: Duration = Duration::from_secs(5);

/// A trouble that lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lasting {
    /// From when on it is reported as what the run waits for.
    pub(super) told: Duration,
    /// From when on it counts.
    pub(super) due: Duration,
    pub(super) trouble: Trouble,
}

impl Lasting {
    /// A trouble that began at `since`.
    pub(super) fn new(trouble: Trouble, since: Duration) -> Self {
        Self { told: since.saturating_add(trouble.quiet), due: since.saturating_add(trouble.grace), trouble }
    }
}

/// An expected result.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    /// The names of its pods.
    pub(super) pods: BTreeSet<String>,
    pub(super) last: Option<Departed>,
    pub(super) troubles: BTreeMap<Kind, Lasting>,
    /// A crash loop whose container runs again, as it does between two crashes. Until then another
    /// crash belongs to the same loop.
    pub(super) looped: Option<(Duration, Lasting)>,
    /// What was reported last as that which keeps the result from arriving.
    pub(super) reported: Option<String>,
    /// What is in the index of deadlines.
    pub(super) due: Option<Duration>,
    /// Its worker was heard of.
    pub(super) greeted: bool,
    /// A verdict was given, or the result is in.
    pub(super) settled: bool,
    /// A verdict was given.
    pub(super) given_up: bool,
}

impl Tracked {
    /// Takes what is wrong now: what was wrong before keeps its deadline, and what is over is forgotten.
    pub(super) fn take(&mut self, troubles: Vec<Trouble>, at: Duration) {
        let mut before = std::mem::take(&mut self.troubles);
        let mut looped = match before.remove(&Kind::CrashLoop) {
            Some(lasting) => Some((at.saturating_add(lasting.trouble.grace), lasting)),
            None => self.looped.take().filter(|(until, _)| at < *until),
        };
        for trouble in troubles {
            let known = match trouble.kind {
                Kind::CrashLoop => looped.take().map(|(_, lasting)| lasting),
                kind => before.remove(&kind),
            };
            let lasting = match known {
                Some(lasting) => Lasting { trouble, ..lasting },
                None => Lasting::new(trouble, at),
            };
            self.troubles.insert(lasting.trouble.kind, lasting);
        }
        self.looped = looped;
    }

    /// Takes when the worker was heard of last: its silence counts from then on.
    pub(super) fn heard(&mut self, last: Option<Timestamp>, now: Now) {
        let (Some(last), Some(silence)) = (last, self.troubles.get_mut(&Kind::Silent)) else { return };
        let ago = Duration::try_from(now.wall.duration_since(last)).unwrap_or_default();
        let since = now.at.saturating_sub(ago);
        silence.told = silence.told.max(since.saturating_add(silence.trouble.quiet));
        silence.due = silence.due.max(since.saturating_add(silence.trouble.grace));
    }

    /// When to look at the clock again.
    pub(super) fn next_due(&self, at: Duration) -> Option<Duration> {
        if self.settled {
            return None;
        }
        let next = |lasting: &Lasting| match lasting.trouble.kind {
            _ if at < lasting.told => lasting.told,
            // Nothing but the clock shows that it is heard of again.
            Kind::Silent => lasting.due.min(at.saturating_add(SILENCE_CHECK)),
            _ => lasting.due,
        };
        // One that never counts is not waited for.
        self.troubles.values().map(next).filter(|next| *next < Duration::MAX).min()
    }

    /// What is to be reported as that which keeps the result from arriving, if it is something else
    /// than before.
    pub(super) fn news(&mut self, at: Duration) -> Option<Option<String>> {
        if self.settled {
            return None;
        }
        let lasting = self.troubles.values().find(|lasting| lasting.told <= at);
        let now = lasting.map(|lasting| &lasting.trouble.so_far);
        if self.reported.as_ref() == now {
            return None;
        }
        self.reported = now.cloned();
        Some(self.reported.clone())
    }
}

/// A plugin that is watched.
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

    pub(super) fn name(&self) -> &PluginName {
        &self.watched.plugin
    }

    pub(super) fn key(&self, node: &NodeName) -> ResultKey {
        ResultKey::new(self.watched.plugin.clone(), node.clone())
    }

    /// Which of its results a pod is about. Nothing is expected of a pod without a node, or on a node where none was expected.
    pub(super) fn place(&self, pod: &PodView) -> Option<NodeName> {
        if pod.session.as_deref() != Some(&self.watched.session) {
            return None;
        }
        let node = if self.watched.per_node { pod.place()?.parse().ok()? } else { NodeName::global() };
        self.keys.contains_key(&node).then_some(node)
    }
}
