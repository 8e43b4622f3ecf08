//! How the plugins' own containers ended after they sent their results.

use std::collections::BTreeSet;
use std::sync::Arc;

use plumbline_aggregator::{Exit, ExitKind};
use plumbline_core::{NodeName, ResultKey};

use super::assess::how_it_ended;
use super::options::{MonitorOptions, SettledPlugin, Watched};
use crate::error::ClusterError;
use crate::names;
use crate::pod_view::{ContainerState, ContainerView, Ended, PodView, Role};
use crate::retry::{Listing, list};

/// Lists the pods of a plugin, whose results wait meanwhile. A watch may be late or interrupted, or may
/// have started after a restart of the aggregator.
pub(super) async fn list_pods(options: &MonitorOptions, session: &str) -> Result<Vec<Arc<PodView>>, ClusterError> {
    let labels = format!("{}={session}", names::SESSION_LABEL);
    let what = format!("list the pods with the label `{labels}`");
    let path = format!("/api/v1/namespaces/{}/pods", options.namespace);
    let listing = Listing { labels: Some(&labels), ..Listing::new(&what, &path) };
    let pods = list(&options.cluster, &listing, |pod| PodView::read(&pod)).await?;
    Ok(pods.into_iter().flatten().map(Arc::new).collect())
}

/// Returns whether the container of the plugin has ended in each of `pods`. If no pod has it, the watch
/// may be late, and the container may run.
pub(super) fn have_ended(pods: &[Arc<PodView>], container: &str) -> bool {
    let mut ends = pods.iter().filter_map(|pod| pod.container(container)).map(end_of).peekable();
    ends.peek().is_some() && ends.all(|end| end.is_some())
}

/// Returns the pods of a run-once plugin that were deleted between `seen` and `listed`, and whose
/// container of the plugin had ended.
pub(super) fn ended_and_gone(
    plugin: &SettledPlugin,
    seen: Vec<Arc<PodView>>,
    listed: &[Arc<PodView>],
) -> Vec<Arc<PodView>> {
    // Pods of a DaemonSet come and go.
    if plugin.per_node {
        return Vec::new();
    }
    let listed: BTreeSet<&str> = listed.iter().map(|pod| pod.identity()).collect();
    let has_ended = |pod: &PodView| pod.container(&plugin.container).is_some_and(|own| end_of(own).is_some());
    seen.into_iter().filter(|pod| !listed.contains(pod.identity()) && has_ended(pod)).collect()
}

/// What is known of the pods of a plugin whose results are complete.
pub(super) struct Ends<'a> {
    pub(super) plugin: &'a SettledPlugin,
    pub(super) pods: &'a [Arc<PodView>],
    /// Why `pods` may be out of date or incomplete, if they may.
    pub(super) fault: Option<&'a str>,
    /// The nodes whose kubelets report the state of their pods. `None` if the nodes are unknown.
    pub(super) ready: Option<&'a BTreeSet<String>>,
}

impl Ends<'_> {
    /// Returns how containers of the plugin ended, with the results to which they belong, sorted. Of
    /// several ends of one result, the worst counts.
    ///
    /// The end of a container is unknown if its result arrived, and nothing shows whether it ended or
    /// still runs. Containers of a plugin that runs once per node continue as long as their worker,
    /// and a missing pod then means nothing. Neither does the end of a pod that is being deleted, if
    /// it was replaced.
    pub(super) fn exits(&self) -> Vec<Exit> {
        let plugin = self.plugin;
        let mut exits = Vec::new();
        let mut seen = BTreeSet::new();
        let staying = self.pods.iter().filter(|pod| plugin.per_node && pod.deleting.is_none());
        let staying: BTreeSet<ResultKey> = staying.filter_map(|pod| self.key_of(pod)).collect();
        for pod in self.pods {
            let (Some(key), Some(container)) = (self.key_of(pod), pod.container(&plugin.container)) else { continue };
            if pod.deleting.is_some() && staying.contains(&key) {
                continue;
            }
            if let Some((kind, text)) = self.end(pod, container) {
                exits.push(Exit { key: key.clone(), text, kind });
            }
            seen.insert(key);
        }
        if let Some(why) = self.fault.or((!plugin.per_node).then_some("its pod is gone")) {
            let gone = plugin.received.difference(&seen);
            exits.extend(gone.map(|key| unknown(key.clone(), &plugin.container, why)));
        }
        // A result that failed has an error, which needs no unknown end.
        exits.retain(|exit| exit.kind != ExitKind::Unknown || plugin.received.contains(&exit.key));
        exits.sort_by(|a, b| a.key.cmp(&b.key).then(severity(b.kind).cmp(&severity(a.kind))));
        exits.dedup_by(|a, b| a.key == b.key);
        exits
    }

    /// Returns the result to which a pod belongs.
    fn key_of(&self, pod: &PodView) -> Option<ResultKey> {
        let node = if self.plugin.per_node { pod.place()?.parse().ok()? } else { NodeName::global() };
        let key = ResultKey::new(self.plugin.plugin.clone(), node);
        (self.plugin.received.contains(&key) || self.plugin.failed.contains(&key)).then_some(key)
    }

    /// Returns how the container of the plugin ended in this pod, or `None` if it continues.
    fn end(&self, pod: &PodView, container: &ContainerView) -> Option<(ExitKind, String)> {
        let of = format!("container `{}` of pod `{}`", container.name, pod.name);
        if let Some(end) = end_of(container) {
            return Some((kind(end), format!("{of} {}", how_it_ended(container, end))));
        }
        let why = self.fault.map(str::to_owned).or_else(|| self.lost(pod, container))?;
        Some((ExitKind::Unknown, format!("how {of} ended is unknown: {why}")))
    }

    /// Returns why the state of a container without an end says nothing about its end.
    fn lost(&self, pod: &PodView, container: &ContainerView) -> Option<String> {
        let away = pod.node.as_deref().filter(|node| self.ready.is_some_and(|ready| !ready.contains(*node)));
        match &container.state {
            _ if self.plugin.per_node => None,
            _ if pod.has_ended() => {
                let because = pod.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
                Some(format!("the pod ended{because}, and its status does not show it"))
            }
            ContainerState::Running => away.map(|node| format!("node `{node}` is not ready")),
            // It is restarted after each success.
            ContainerState::Waiting { .. } if container.last.is_some() => None,
            ContainerState::Waiting { .. } | ContainerState::Unknown | ContainerState::Ended(_) => {
                Some("its result arrived, and its status does not show that it ran".to_owned())
            }
        }
    }
}

/// Returns the ends of a plugin about which nothing can be learned.
pub(super) fn all_unknown(plugin: &SettledPlugin, why: &str) -> Vec<Exit> {
    plugin.received.iter().map(|key| unknown(key.clone(), &plugin.container, why)).collect()
}

fn unknown(key: ResultKey, container: &str, why: &str) -> Exit {
    let text = format!("how container `{container}` ended is unknown: {why}");
    Exit { key, text, kind: ExitKind::Unknown }
}

/// Returns the order of the kinds. A higher one counts if there are several.
fn severity(kind: ExitKind) -> u8 {
    match kind {
        ExitKind::Success => 0,
        ExitKind::Unknown => 1,
        ExitKind::NoTests => 2,
        ExitKind::Failure => 3,
        ExitKind::Crash => 4,
    }
}

fn kind(end: &Ended) -> ExitKind {
    if end.was_out_of_memory() { ExitKind::Crash } else { ExitKind::of_code(end.code) }
}

/// Returns the result of a run-once plugin in whose pod every main container except the worker ended
/// with exit code 0.
///
/// Containers of a DaemonSet are restarted whatever their exit code is. Native sidecars say nothing:
/// the kubelet ends them after the worker, which is the last of them.
pub(super) fn ended_well(pod: &PodView, watched: &Watched) -> Option<ResultKey> {
    let key = ResultKey::new(watched.plugin.clone(), NodeName::global());
    let is_monitored =
        |container: &&ContainerView| container.name != names::WORKER_CONTAINER && container.role == Role::Main;
    let well = |container: &ContainerView| container.ended().is_some_and(|end| end.code == 0);
    let containers: Vec<_> = pod.containers.iter().filter(is_monitored).collect();
    let over = !containers.is_empty() && containers.into_iter().all(well);
    (over && !watched.per_node && watched.missing.contains(&key)).then_some(key)
}

/// Returns how a container ended.
///
/// A restarted container may still end differently, and one that waits for a restart may still
/// fail. For the latter, only a failure counts.
fn end_of(container: &ContainerView) -> Option<&Ended> {
    match &container.state {
        ContainerState::Ended(end) => Some(end),
        ContainerState::Waiting { .. } => container.last.as_ref().filter(|end| !end.went_well()),
        ContainerState::Running | ContainerState::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(name: &str, node: &str, status: Value) -> Arc<PodView> {
        let pod = PodView::read(&json!({
            "metadata": {"name": name, "labels": {"sonobuoy-run": "s"}},
            "spec": {"nodeName": node, "containers": [{"name": "scan", "resources": {"limits": {"memory": "64Mi"}}}, {"name": "side"}]},
            "status": {"phase": "Running", "containerStatuses": [status, {"name": "side", "state": {"terminated": {"exitCode": 9}}}]},
        }));
        Arc::new(pod.unwrap())
    }

    fn ended(code: i64, reason: &str) -> Value {
        json!({"terminated": {"exitCode": code, "reason": reason}})
    }

    fn state(state: Value) -> Value {
        json!({"name": "scan", "state": state})
    }

    fn plugin(nodes: &[&str]) -> SettledPlugin {
        let keys = if nodes.is_empty() { &["global"] } else { nodes };
        SettledPlugin {
            plugin: "a".parse().unwrap(),
            session: "s".into(),
            per_node: !nodes.is_empty(),
            container: "scan".into(),
            received: keys.iter().map(|node| format!("a/{node}").parse().unwrap()).collect(),
            failed: BTreeSet::new(),
        }
    }

    fn of(plugin: &SettledPlugin, pods: &[Arc<PodView>], fault: Option<&str>) -> Vec<Exit> {
        let ready: BTreeSet<String> = ["w1".to_owned()].into();
        Ends { plugin, pods, fault, ready: Some(&ready) }.exits()
    }

    #[test]
    fn ends_of_the_plugins_own_container_are_reported() {
        let pods = [
            pod(
                "p-w4",
                "w4",
                json!({"name": "scan", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended(2, "Error")}),
            ),
            pod("p-w1", "w1", state(ended(0, "Completed"))),
            pod("p-w2", "w2", state(ended(3, "Error"))),
            pod("p-w3", "w3", state(ended(137, "OOMKilled"))),
            pod(
                "p-w5",
                "w5",
                json!({"name": "scan", "state": {"running": {}}, "lastState": ended(1, "Error"), "restartCount": 1}),
            ),
            pod("p-w6", "w6", state(ended(3, "Error"))),
            pod("p-w7", "w7", state(ended(0, "OOMKilled"))),
        ];
        let exits = of(&plugin(&["w1", "w2", "w3", "w4", "w5", "w7", "w8"]), &pods, None);
        let lines: Vec<String> = exits.iter().map(|exit| format!("{}: {}", exit.key, exit.text)).collect();
        let kinds: Vec<ExitKind> = exits.iter().map(|exit| exit.kind).collect();
        use ExitKind::{Crash, Failure, Success};
        assert_eq!(kinds, [Success, Failure, Crash, Failure, Crash]);
        insta::assert_snapshot!(lines.join("\n"), @r"
        a/w1: container `scan` of pod `p-w1` ended with exit code 0
        a/w2: container `scan` of pod `p-w2` ended with exit code 3
        a/w3: container `scan` of pod `p-w3` was killed because it used more memory than its limit of 64Mi, exit code 137 (OOMKilled)
        a/w4: container `scan` of pod `p-w4` ended with exit code 2
        a/w7: container `scan` of pod `p-w7` ended after one of its processes was killed because it used more memory than its limit of 64Mi, exit code 0 (OOMKilled)
        ");
        assert!(!have_ended(&pods, "scan"));
        assert!(have_ended(&pods[..4], "scan"));
        // The watch has not seen the pod, or not yet.
        assert!(!have_ended(&[], "scan") && !have_ended(&pods, "other"));
    }

    #[test]
    fn the_worst_of_several_ends_counts() {
        let pods = [pod("p-1", "w1", state(ended(0, ""))), pod("p-2", "w1", state(ended(137, "OOMKilled")))];
        for pods in [pods.clone(), [pods[1].clone(), pods[0].clone()]] {
            let exits = of(&plugin(&["w1"]), &pods, None);
            assert_eq!(exits.iter().map(|exit| exit.kind).collect::<Vec<_>>(), [ExitKind::Crash]);
        }
    }

    #[test]
    fn a_pod_that_is_being_replaced_on_its_node_does_not_count() {
        let mut old = PodView::clone(&pod("p-1", "w1", state(ended(137, ""))));
        old.deleting = Some(30);
        let old = Arc::new(old);
        let kinds = |plugin: &SettledPlugin, pods: &[Arc<PodView>]| {
            of(plugin, pods, None).iter().map(|exit| exit.kind).collect::<Vec<_>>()
        };
        let new = pod("p-2", "w1", state(ended(0, "")));
        assert_eq!(kinds(&plugin(&["w1"]), &[old.clone(), new.clone()]), [ExitKind::Success]);
        // It was not replaced, or a Job started it.
        let elsewhere = pod("p-2", "w2", state(ended(0, "")));
        let kind = kind(old.container("scan").and_then(end_of).unwrap());
        assert_eq!(kinds(&plugin(&["w1", "w2"]), &[old.clone(), elsewhere]), [kind, ExitKind::Success]);
        assert_eq!(kinds(&plugin(&[]), &[old, new]), [kind]);
    }

    #[test]
    fn a_plugin_has_ended_while_native_sidecars_run() {
        let watched = super::super::samples::watched(&[]);
        let ended_well = |scan: Value, helper: Value| {
            let running = |name: &str| json!({"name": name, "state": {"running": {}}});
            let sidecar = |name: &str| json!({"name": name, "restartPolicy": "Always"});
            let pod = json!({
                "metadata": {"name": "p", "labels": {"sonobuoy-run": "s1"}},
                "spec": {
                    "initContainers": [{"name": "setup"}, sidecar("proxy"), sidecar("sonobuoy-worker")],
                    "containers": [{"name": "scan"}, {"name": "helper"}],
                },
                "status": {
                    "phase": "Running",
                    "initContainerStatuses": [
                        {"name": "setup", "state": ended(0, "Completed")}, running("proxy"), running("sonobuoy-worker"),
                    ],
                    "containerStatuses": [{"name": "scan", "state": scan}, {"name": "helper", "state": helper}],
                },
            });
            ended_well(&PodView::read(&pod).unwrap(), &watched).is_some()
        };
        assert!(ended_well(ended(0, "Completed"), ended(0, "Completed")));
        for (scan, helper) in [
            (ended(1, "Error"), ended(0, "Completed")),
            (ended(0, "Completed"), ended(1, "Error")),
            (ended(0, "Completed"), json!({"running": {}})),
        ] {
            assert!(!ended_well(scan, helper));
        }
    }

    #[test]
    fn an_end_that_cannot_be_learned_is_unknown() {
        let running = || state(json!({"running": {}}));
        let over = |reason: &str, status: Value| {
            let mut pod = PodView::clone(&pod("p", "w1", status));
            (pod.phase, pod.reason) = ("Failed".to_owned(), Some(reason.to_owned()));
            Arc::new(pod)
        };
        let waits = state(json!({"waiting": {"reason": "ImagePullBackOff"}}));
        let again =
            json!({"name": "scan", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended(0, "")});
        let once = plugin(&[]);
        let texts = |pods: &[Arc<PodView>], fault| {
            let exits = of(&once, pods, fault);
            assert!(exits.iter().all(|exit| exit.kind == ExitKind::Unknown), "{exits:?}");
            exits.into_iter().map(|exit| exit.text).collect::<String>()
        };
        let lines = [
            texts(&[], None),
            texts(&[over("Evicted", json!({"name": "other"}))], None),
            texts(&[over("DeadlineExceeded", running())], None),
            texts(&[pod("p", "w2", running())], None),
            texts(&[pod("p", "w1", waits)], None),
            texts(&[pod("p", "w1", running())], Some("failed to list the pods: no answer")),
            texts(&[], Some("failed to list the pods: no answer")),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        how container `scan` ended is unknown: its pod is gone
        how container `scan` of pod `p` ended is unknown: the pod ended (Evicted), and its status does not show it
        how container `scan` of pod `p` ended is unknown: the pod ended (DeadlineExceeded), and its status does not show it
        how container `scan` of pod `p` ended is unknown: node `w2` is not ready
        how container `scan` of pod `p` ended is unknown: its result arrived, and its status does not show that it ran
        how container `scan` of pod `p` ended is unknown: failed to list the pods: no answer
        how container `scan` ended is unknown: failed to list the pods: no answer
        ");
        // It continues, or is restarted after each success.
        for status in [running(), again] {
            assert!(of(&once, &[pod("p", "w1", status)], None).is_empty());
        }
        // A failed result has an error, and other pods of a DaemonSet come and go.
        let failed = SettledPlugin { failed: once.received.clone(), received: BTreeSet::new(), ..once.clone() };
        assert!(of(&failed, &[pod("p", "w2", running())], None).is_empty());
        assert!(of(&plugin(&["w1", "w2"]), &[pod("p", "w2", running())], None).is_empty());
    }
}
