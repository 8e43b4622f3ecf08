//! How the plugins' own containers ended after they sent their results.

use std::time::Duration;

use futures_util::future::join_all;
use kube::core::Request as Path;
use kube::core::params::GetParams;
use plumbline_aggregator::{Exit, ExitKind};
use plumbline_core::{NodeName, ResultKey};

use super::assess::how_it_ended;
use super::options::{MonitorOptions, Watched};
use crate::names;
use crate::pod_view::{ContainerState, ContainerView, Ended, PodView, Role};
use crate::retry::get;

/// Timeout of a request.
const ANSWER: Duration = Duration::from_secs(10);

/// Reads pods again whose container still ran when the wait for its end was over. A watch may be
/// late or interrupted, and shows an old state. A pod that cannot be read stays as it was.
pub(super) async fn read_again(options: &MonitorOptions, pods: Vec<PodView>) -> Vec<PodView> {
    let path = Path::new(format!("/api/v1/namespaces/{}/pods", options.namespace));
    let read = move |pod: PodView| {
        let what = format!("read pod `{}` in namespace `{}`", pod.name, options.namespace);
        let request = path.get(&pod.name, &GetParams::default());
        async move {
            let answer = tokio::time::timeout(ANSWER, get(&options.cluster, &what, request)).await;
            let found = answer.ok().and_then(Result::ok);
            found.as_ref().and_then(PodView::read).unwrap_or(pod)
        }
    };
    join_all(pods.into_iter().map(read)).await
}

pub(super) fn have_ended(pods: &[PodView], watched: &Watched) -> bool {
    pods.iter().filter_map(|pod| pod.container(&watched.container)).all(|container| !container.is_running())
}

/// Returns how containers of the plugin ended, with the results to which they belong, sorted.
pub(super) fn exits(pods: &[PodView], watched: &Watched) -> Vec<Exit> {
    let mut exits: Vec<Exit> = pods
        .iter()
        .filter_map(|pod| {
            let container = pod.container(&watched.container)?;
            let end = end_of(container)?;
            let node = if watched.per_node { pod.place()?.parse().ok()? } else { NodeName::global() };
            let key = ResultKey::new(watched.plugin.clone(), node);
            let text = format!("container `{}` of pod `{}` {}", container.name, pod.name, how_it_ended(container, end));
            watched.missing.contains(&key).then_some(Exit { key, text, kind: kind(end) })
        })
        .collect();
    exits.sort_by(|a, b| a.key.cmp(&b.key));
    exits.dedup_by(|a, b| a.key == b.key);
    exits
}

fn kind(end: &Ended) -> ExitKind {
    if end.was_out_of_memory() { ExitKind::Crash } else { ExitKind::of_code(end.code) }
}

/// Returns the result of a run-once plugin in whose pod every container except the worker ended
/// with exit code 0.
///
/// Containers of a DaemonSet are restarted whatever their exit code is.
pub(super) fn ended_well(pod: &PodView, watched: &Watched) -> Option<ResultKey> {
    let key = ResultKey::new(watched.plugin.clone(), NodeName::global());
    let is_monitored =
        |container: &&ContainerView| container.name != names::WORKER_CONTAINER && container.role != Role::Init;
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
    use plumbline_aggregator::WorkerContact;
    use serde_json::{Value, json};

    fn pod(node: &str, status: Value) -> PodView {
        PodView::read(&json!({
            "metadata": {"name": format!("p-{node}"), "labels": {"sonobuoy-run": "s"}},
            "spec": {"nodeName": node, "containers": [{"name": "scan", "resources": {"limits": {"memory": "64Mi"}}}, {"name": "side"}]},
            "status": {"containerStatuses": [status, {"name": "side", "state": {"terminated": {"exitCode": 9}}}]},
        }))
        .unwrap()
    }

    #[test]
    fn ends_of_the_plugins_own_container_are_reported() {
        let ended = |code: i64, reason: &str| json!({"terminated": {"exitCode": code, "reason": reason}});
        let pods = [
            pod(
                "w4",
                json!({"name": "scan", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended(2, "Error")}),
            ),
            pod("w1", json!({"name": "scan", "state": ended(0, "Completed")})),
            pod("w2", json!({"name": "scan", "state": ended(3, "Error")})),
            pod("w3", json!({"name": "scan", "state": ended(137, "OOMKilled")})),
            pod(
                "w5",
                json!({"name": "scan", "state": {"running": {}}, "lastState": ended(1, "Error"), "restartCount": 1}),
            ),
            pod("w6", json!({"name": "scan", "state": ended(3, "Error")})),
            pod("w7", json!({"name": "scan", "state": ended(0, "OOMKilled")})),
        ];
        let watched = Watched {
            plugin: "a".parse().unwrap(),
            session: "s".into(),
            per_node: true,
            missing: ["w1", "w2", "w3", "w4", "w5", "w7"].map(|node| format!("a/{node}").parse().unwrap()).into(),
            container: "scan".into(),
            heard: WorkerContact::new(|_| None),
        };
        let lines: Vec<String> =
            exits(&pods, &watched).iter().map(|exit| format!("{}: {}", exit.key, exit.text)).collect();
        let kinds: Vec<ExitKind> = exits(&pods, &watched).iter().map(|exit| exit.kind).collect();
        use ExitKind::{Crash, Failure, Success};
        assert_eq!(kinds, [Success, Failure, Crash, Failure, Crash]);
        insta::assert_snapshot!(lines.join("\n"), @r"
        a/w1: container `scan` of pod `p-w1` ended with exit code 0
        a/w2: container `scan` of pod `p-w2` ended with exit code 3
        a/w3: container `scan` of pod `p-w3` was killed because it used more memory than its limit of 64Mi, exit code 137 (OOMKilled)
        a/w4: container `scan` of pod `p-w4` ended with exit code 2
        a/w7: container `scan` of pod `p-w7` ended after one of its processes was killed because it used more memory than its limit of 64Mi, exit code 0 (OOMKilled)
        ");
        assert!(!have_ended(&pods, &watched));
        assert!(have_ended(&pods[..4], &watched));
    }
}
