//! Tracks the problems of expected results, how long they last, and which exceed their grace
//! period. Turns observations into verdicts. Synchronous, without I/O or a clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use plumbline_core::{NodeName, PluginName, ResultKey};

use super::assess::{Kind, Problem, assess, assess_node, no_hello, no_pod, no_pod_on, pod_gone, silent};
use super::options::{GracePeriods, Watched};
use super::tracked::{DeletedPod, Now, Plugin, Tracked, Verdict};
use crate::nodes::NodeView;
use crate::pod_view::PodView;
use crate::timeline::Before;
use crate::watch::Seen;

#[derive(Debug, Default)]
pub(super) struct Index {
    graces: GracePeriods,
    namespace: String,
    pub(super) pods: Seen<Arc<PodView>>,
    pub(super) nodes: Seen<NodeView>,
    plugins: BTreeMap<PluginName, Plugin>,
    sessions: BTreeMap<String, PluginName>,
    deadlines: BTreeSet<(Duration, ResultKey)>,
    /// Changes in the problems that delay results, until they are taken.
    news: BTreeMap<ResultKey, Option<String>>,
}

impl Index {
    pub(super) fn new(namespace: String, graces: GracePeriods) -> Self {
        Self { graces, namespace, ..Self::default() }
    }

    /// Starts to watch a plugin. If it is already watched, its state is reset.
    pub(super) fn watch(&mut self, watched: Watched, now: Now) {
        self.forget(&watched.plugin);
        let mut plugin = Plugin::new(watched);
        for pod in self.pods.objects.values() {
            if let Some(tracked) = plugin.place(pod).and_then(|node| plugin.keys.get_mut(&node)) {
                tracked.add_pod(pod.name.clone());
            }
        }
        let keys: Vec<ResultKey> = plugin.result_keys().collect();
        self.sessions.insert(plugin.watched.session.clone(), plugin.watched.plugin.clone());
        self.plugins.insert(plugin.watched.plugin.clone(), plugin);
        self.refresh_each(&keys, now);
    }

    pub(super) fn forget(&mut self, plugin: &PluginName) {
        if let Some(plugin) = self.plugins.remove(plugin) {
            self.sessions.remove(&plugin.watched.session);
            self.deadlines.retain(|(_, key)| key.plugin != plugin.watched.plugin);
            self.news.retain(|key, _| key.plugin != plugin.watched.plugin);
        }
    }

    pub(super) fn pod_applied(&mut self, pod: impl Into<Arc<PodView>>, now: Now) {
        let pod = pod.into();
        let key = self.key_of(&pod);
        let name = pod.name.clone();
        let before = self.pods.put(&name, pod);
        let old = before.as_ref().and_then(|before| self.key_of(before));
        if let (Some(old), Some(before)) = (&old, before)
            && key.as_ref() != Some(old)
        {
            // The name now belongs to another pod.
            self.unplace(old, &name, DeletedPod { pod: before, object: Box::default() });
            self.refresh(old, now);
        }
        if let Some(key) = key {
            if let Some(tracked) = self.tracked_mut(&key) {
                tracked.add_pod(name);
                tracked.last = None;
            }
            self.refresh(&key, now);
        }
    }

    /// Processes a deleted pod. `object` is its last known state.
    pub(super) fn pod_removed(&mut self, pod: impl Into<Arc<PodView>>, object: Box<str>, now: Now) {
        let pod = pod.into();
        // The index does not know a pod that was deleted before this watch started. Its earlier
        // existence explains its absence.
        self.pods.objects.remove(&pod.name);
        if let Some(key) = self.key_of(&pod) {
            let name = pod.name.clone();
            self.unplace(&key, &name, DeletedPod { pod, object });
            self.refresh(&key, now);
        }
    }

    pub(super) fn pods_listed(&mut self, now: Now) {
        let first = !self.pods.complete;
        for pod in self.pods.end_list() {
            self.pod_removed(pod, Box::default(), now);
        }
        if first {
            self.refresh_all(now);
        }
    }

    pub(super) fn node_applied(&mut self, node: NodeView, now: Now) {
        let name = node.name.clone();
        let before = self.nodes.put(&name, node);
        // The kubelet updates its node frequently, mostly without relevant changes.
        if before.as_ref() != self.nodes.objects.get(&name) {
            self.refresh_node(&name, now);
        }
    }

    pub(super) fn node_removed(&mut self, name: &str, now: Now) {
        self.nodes.objects.remove(name);
        self.refresh_node(name, now);
    }

    /// Completes a list of nodes. Returns the names of nodes that are gone.
    pub(super) fn nodes_listed(&mut self, now: Now) -> Vec<String> {
        let gone = self.nodes.end_list();
        // Lists are rare, and only a list reveals a node that was never seen.
        self.refresh_all(now);
        gone.into_iter().map(|node| node.name).collect()
    }

    pub(super) fn node(&self, name: &str) -> Before<'_> {
        match self.nodes.objects.get(name) {
            Some(node) => Before::Seen(node),
            None if self.nodes.complete => Before::Absent,
            None => Before::Unknown,
        }
    }

    /// Returns when to call [`Index::tick`] again, or `None` if there is no problem.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.first().map(|(due, _)| *due)
    }

    /// Returns a verdict for every result whose problem exceeds its grace period. Each is returned
    /// once, unless [`Index::reprieve`] resets it.
    pub(super) fn tick(&mut self, now: Now) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        // Only take what is due now. A result that is postponed gets a later deadline, or waits for
        // the next tick.
        let due: Vec<ResultKey> =
            self.deadlines.iter().take_while(|(due, _)| *due <= now.at).map(|(_, key)| key.clone()).collect();
        for key in due {
            verdicts.extend(self.judge(&key, now));
            self.refresh(&key, now);
        }
        verdicts
    }

    /// Returns the changes in the problems that delay results, with `None` for a problem that is
    /// over.
    pub(super) fn take_news(&mut self) -> BTreeMap<ResultKey, Option<String>> {
        std::mem::take(&mut self.news)
    }

    /// Withdraws a premature verdict. It is issued again after `delay` if the problem still exists.
    pub(super) fn reprieve(&mut self, key: &ResultKey, kind: Kind, delay: Duration, now: Now) {
        let Some(tracked) = self.tracked_mut(key) else { return };
        (tracked.settled, tracked.given_up) = (false, false);
        let due = now.at.saturating_add(delay);
        for lasting in &mut tracked.problems {
            // Other overdue problems would otherwise be reported at once, and confirmed as often.
            if lasting.kind == kind || lasting.due < due {
                lasting.due = due;
            }
        }
        self.refresh(key, now);
    }

    /// Records that the workers of a plugin do not contact the aggregator, because they are not
    /// Plumbline's.
    ///
    /// `key` is the result for which this was found out, instead of a verdict.
    pub(super) fn expect_no_hello(&mut self, key: &ResultKey, now: Now) {
        let Some(plugin) = self.plugins.get_mut(&key.plugin) else { return };
        plugin.keys.values_mut().for_each(|tracked| tracked.greeted = true);
        if let Some(tracked) = plugin.keys.get_mut(&key.node) {
            (tracked.settled, tracked.given_up) = (false, false);
        }
        let keys: Vec<ResultKey> = plugin.keys.keys().map(|node| plugin.key(node)).collect();
        self.refresh_each(&keys, now);
    }

    pub(super) fn pods_of(&self, session: &str) -> Vec<Arc<PodView>> {
        self.pods.objects.values().filter(|pod| pod.session.as_deref() == Some(session)).cloned().collect()
    }

    /// Returns the pod that represents a result, if there is one.
    pub(super) fn pod_for(&self, key: &ResultKey) -> Option<&PodView> {
        newest(&self.pods, self.tracked(key)?)
    }

    /// Returns the nodes that are ready, or `None` if the nodes are unknown. The kubelets of others,
    /// which serve the logs and report the state of pods, would not answer.
    pub(super) fn ready_nodes(&self) -> Option<BTreeSet<String>> {
        let ready = self.nodes.objects.iter().filter(|(_, node)| node.ready);
        self.nodes.complete.then(|| ready.map(|(name, _)| name.clone()).collect())
    }

    pub(super) fn watched(&self, plugin: &PluginName) -> Option<&Watched> {
        self.plugins.get(plugin).map(|plugin| &plugin.watched)
    }

    pub(super) fn watched_in(&self, session: &str) -> Option<&Watched> {
        self.watched(self.sessions.get(session)?)
    }

    pub(super) fn was_given_up(&self, key: &ResultKey) -> bool {
        self.tracked(key).is_some_and(|tracked| tracked.given_up)
    }

    fn judge(&mut self, key: &ResultKey, now: Now) -> Option<Verdict> {
        let plugin = self.plugins.get_mut(&key.plugin)?;
        let heard = plugin.watched.heard.clone();
        let tracked = plugin.keys.get_mut(&key.node)?;
        if !heard.is_missing(key) {
            tracked.settled = true;
            return None;
        }
        if !tracked.greeted {
            tracked.greeted = heard.at(key).is_some();
        }
        if tracked.greeted {
            tracked.remove(Kind::Hello);
        }
        tracked.heard(heard.at(key), now);
        if let Some(lasting) = tracked.problem_mut(Kind::NodeNotReady)
            && lasting.due <= now.at
            && heard.at(key).is_some_and(|at| is_within(at, now.wall, lasting.grace))
        {
            // The worker is fine, and only the kubelet of the node is not.
            lasting.due = now.at.saturating_add(lasting.grace);
        }
        let kind = tracked.problems.iter().find(|lasting| lasting.due <= now.at)?.kind;
        let look = Look { pods: &self.pods, nodes: &self.nodes, graces: &self.graces, namespace: &self.namespace };
        let problems = look.problems(&plugin.watched, &key.node, tracked);
        // Without it, the problem is over since the last change.
        let sentence = problems.iter().find(|problem| problem.kind == kind)?.sentence();
        (tracked.settled, tracked.given_up) = (true, true);
        let last = tracked.last.as_deref().cloned().filter(|_| tracked.pods.is_empty());
        let pod = newest(&self.pods, tracked).or(last.as_ref().map(|last| &*last.pod)).cloned();
        let node = if key.node.is_global() {
            pod.as_ref().and_then(|pod| pod.node.clone())
        } else {
            Some(key.node.to_string())
        };
        let (session, container) = (plugin.watched.session.clone(), plugin.watched.container.clone());
        Some(Verdict { key: key.clone(), kind, sentence, session, container, node, pod, last })
    }

    /// Returns whether an observed pod changes anything. An equal view counts until its worker is known
    /// to have said hello, because the annotation after a hello starts the watch for silence.
    pub(super) fn is_news(&self, pod: &PodView) -> bool {
        let is_known = self.pods.objects.get(&pod.name).is_some_and(|known| **known == *pod);
        let waits = || {
            let tracked = self.key_of(pod).and_then(|key| self.tracked(&key));
            tracked.is_some_and(|tracked| !tracked.greeted && !tracked.settled)
        };
        !is_known || waits()
    }

    fn key_of(&self, pod: &PodView) -> Option<ResultKey> {
        let plugin = self.plugins.get(self.sessions.get(pod.session.as_deref()?)?)?;
        plugin.place(pod).map(|node| plugin.key(&node))
    }

    fn tracked(&self, key: &ResultKey) -> Option<&Tracked> {
        self.plugins.get(&key.plugin)?.keys.get(&key.node)
    }

    fn tracked_mut(&mut self, key: &ResultKey) -> Option<&mut Tracked> {
        self.plugins.get_mut(&key.plugin)?.keys.get_mut(&key.node)
    }

    fn unplace(&mut self, key: &ResultKey, pod: &str, departed: DeletedPod) {
        if let Some(tracked) = self.tracked_mut(key) {
            tracked.pods.retain(|own| own != pod);
            // The pod of a settled result is not needed any more.
            tracked.last = (!tracked.settled).then(|| Box::new(departed));
        }
    }

    /// Recomputes the problems of all results that a node may affect.
    fn refresh_node(&mut self, node: &str, now: Now) {
        let of_plugin = |plugin: &Plugin| {
            let node = if plugin.watched.per_node { node.parse().ok()? } else { NodeName::global() };
            plugin.keys.contains_key(&node).then(|| plugin.key(&node))
        };
        let keys: Vec<ResultKey> = self.plugins.values().filter_map(of_plugin).collect();
        self.refresh_each(&keys, now);
    }

    fn refresh_all(&mut self, now: Now) {
        let keys: Vec<ResultKey> = self.plugins.values().flat_map(Plugin::result_keys).collect();
        self.refresh_each(&keys, now);
    }

    fn refresh_each(&mut self, keys: &[ResultKey], now: Now) {
        for key in keys {
            self.refresh(key, now);
        }
    }

    /// Recomputes the problems of one result.
    fn refresh(&mut self, key: &ResultKey, now: Now) {
        let Some(plugin) = self.plugins.get_mut(&key.plugin) else { return };
        let Some(tracked) = plugin.keys.get_mut(&key.node) else { return };
        if !tracked.settled {
            let look = Look { pods: &self.pods, nodes: &self.nodes, graces: &self.graces, namespace: &self.namespace };
            let problems = look.problems(&plugin.watched, &key.node, tracked);
            tracked.take(&problems, now.at);
            tracked.heard(plugin.watched.heard.at(key), now);
            if let Some(news) = tracked.news(now.at, &problems) {
                self.news.insert(key.clone(), news);
            }
        }
        let due = tracked.next_due(now.at);
        if due != tracked.due {
            if let Some(before) = std::mem::replace(&mut tracked.due, due) {
                self.deadlines.remove(&(before, key.clone()));
            }
            self.deadlines.extend(due.map(|due| (due, key.clone())));
        }
    }
}

fn is_within(at: Timestamp, now: Timestamp, span: Duration) -> bool {
    SignedDuration::try_from(span).is_ok_and(|span| now.duration_since(at) < span)
}

/// Returns the pod that represents a result: the newest one.
fn newest<'a>(pods: &'a Seen<Arc<PodView>>, tracked: &Tracked) -> Option<&'a PodView> {
    let newest = tracked.pods.iter().filter_map(|name| pods.objects.get(name));
    newest.map(|pod| &**pod).max_by_key(|pod| (&pod.created, &pod.name))
}

/// The state from which the problems of a result are computed.
struct Look<'a> {
    pods: &'a Seen<Arc<PodView>>,
    nodes: &'a Seen<NodeView>,
    graces: &'a GracePeriods,
    namespace: &'a str,
}

impl<'a> Look<'a> {
    fn problems(&self, watched: &'a Watched, node: &'a NodeName, tracked: &Tracked) -> Vec<Problem<'a>> {
        let newest = newest(self.pods, tracked);
        let last = tracked.last.as_deref().map(|last| &*last.pod);
        let place =
            if node.is_global() { newest.or(last).and_then(|pod| pod.node.as_deref()) } else { Some(node.as_str()) };
        let of_node = place.filter(|_| self.nodes.complete);
        let of_node = of_node.and_then(|name| assess_node(name, self.nodes.objects.get(name), self.graces));
        let of_pod = match newest {
            _ if !self.pods.complete => None,
            None => Some(match last {
                Some(last) => pod_gone(last, self.graces),
                None if node.is_global() => no_pod(&watched.session, self.graces),
                None => no_pod_on(node.as_str(), self.nodes.objects.get(node.as_str()), self.graces),
            }),
            Some(newest) => self.of_pods(watched, node, tracked, newest),
        };
        // On a node that is away, the node problem explains why the worker is silent.
        let of_pod = of_pod.filter(|problem| problem.kind != Kind::Silent || of_node.is_none());
        of_node.into_iter().chain(of_pod).collect()
    }

    /// Returns the problem of the pods of a result. One healthy pod is enough, because the others
    /// are being removed.
    fn of_pods(
        &self,
        watched: &Watched,
        node: &NodeName,
        tracked: &Tracked,
        newest: &'a PodView,
    ) -> Option<Problem<'a>> {
        let all = self.pods;
        let pods = || tracked.pods.iter().filter_map(|name| all.objects.get(name)).map(|pod| &**pod);
        let assess = |pod: &'a PodView| assess(pod, &watched.container, self.graces);
        let Some(well) = pods().filter(|pod| assess(pod).is_none()).max_by_key(|pod| (&pod.created, &pod.name)) else {
            return assess(newest);
        };
        if !well.worker_runs() {
            return None;
        }
        match watched.heard.at(&ResultKey::new(watched.plugin.clone(), node.clone())) {
            // This problem counts from the last heartbeat, so it exists even while all is well.
            Some(_) => Some(silent(well, self.graces)),
            None if tracked.greeted => None,
            None => Some(no_hello(well, self.namespace, self.graces)),
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
