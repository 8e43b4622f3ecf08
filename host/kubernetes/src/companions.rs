//! Detects that the containers next to a worker have ended. A plugin that writes no done file is
//! then done anyway.

use std::time::Duration;

use futures_util::StreamExt as _;
use kube::Api;
use kube::runtime::watcher::{Config, Event};

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::pod_view::{ContainerView, PodObject, PodView, Role, pod_api};
use crate::watch::watch;

/// How long the containers must stay ended. The plugin's last writes have time to arrive, and a
/// done file takes precedence.
const PAUSE: Duration = Duration::from_secs(5);

/// Interval between reads of the pod if the account may get but not watch it.
///
/// This is the heartbeat interval. With 5,000 nodes and two plugins it causes 330 requests per
/// second, so watching is preferred.
const LOOK: Duration = Duration::from_secs(30);

/// Returns once every container of the pod except `worker` has ended with exit code 0, and is still
/// ended 5 s later.
///
/// Never returns if one of them fails. An error of the API server is reported once.
///
/// The pod is watched, so that each of thousands of workers sends a request only every five minutes
/// while it waits for hours.
pub async fn companions_ended(cluster: Cluster, namespace: String, pod: String, worker: String) {
    Companions { api: pod_api(&cluster, &namespace), pod, worker, pause: PAUSE, look: LOOK, reported: false }
        .ended()
        .await;
}

struct Companions {
    api: Api<PodObject>,
    pod: String,
    worker: String,
    pause: Duration,
    look: Duration,
    /// Whether an error was already reported.
    reported: bool,
}

impl Companions {
    async fn ended(mut self) {
        loop {
            if !self.watch().await {
                self.look().await;
            }
            tokio::time::sleep(self.pause).await;
            if self.is_over().await {
                return;
            }
        }
    }

    /// Watches the pod until the containers have ended. Returns false if the account may not watch.
    async fn watch(&mut self) -> bool {
        // Accept whatever state the server has cached. Newer events follow an old state.
        let config = Config::default().fields(&format!("metadata.name={}", self.pod)).any_semantic();
        let mut events = watch(self.api.clone(), config, self.what());
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Apply(pod) | Event::InitApply(pod)) => {
                    if all_ended_well(pod, &self.worker) {
                        return true;
                    }
                }
                Ok(Event::Init | Event::InitDone | Event::Delete(_)) => {}
                Err(error) if error.is_forbidden() => return false,
                Err(error) => self.warn_once(&error),
            }
        }
        false
    }

    /// Reads the pod at intervals until the containers have ended.
    async fn look(&mut self) {
        while !self.is_over().await {
            tokio::time::sleep(self.look).await;
        }
    }

    async fn is_over(&mut self) -> bool {
        match self.api.get(&self.pod).await {
            Ok(pod) => all_ended_well(pod, &self.worker),
            Err(error) => {
                self.warn_once(&ClusterError::api(self.what(), &error));
                false
            }
        }
    }

    fn what(&self) -> String {
        format!("look at pod `{}`", self.pod)
    }

    fn warn_once(&mut self, error: &ClusterError) {
        if !std::mem::replace(&mut self.reported, true) {
            tracing::warn!("{error}; until this succeeds, a plugin that ends without a done file goes unnoticed");
        }
    }
}

fn all_ended_well(pod: PodObject, worker: &str) -> bool {
    let pod = PodView::from(pod);
    let mut others =
        pod.containers.iter().filter(|container| container.role == Role::Main && container.name != worker).peekable();
    others.peek().is_some() && others.all(ended_well)
}

fn ended_well(container: &ContainerView) -> bool {
    [container.ended(), container.last.as_ref()].into_iter().flatten().any(|end| end.code == 0)
}

#[cfg(test)]
mod tests {
    use plumbline_dev::ApiDouble;
    use serde_json::json;
    use tokio::task::JoinHandle;

    use super::*;
    use crate::cluster::tests::cluster;

    fn object(statuses: &serde_json::Value) -> serde_json::Value {
        let containers: Vec<_> = statuses.as_array().unwrap().iter().map(|s| json!({"name": s["name"]})).collect();
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"},
            "spec": {"containers": containers}, "status": {"containerStatuses": statuses},
        })
    }

    fn pod(statuses: &serde_json::Value) -> PodObject {
        serde_json::from_value(object(statuses)).unwrap()
    }

    fn status(name: &str, state: serde_json::Value) -> serde_json::Value {
        json!({"name": name, "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state})
    }

    #[test]
    fn only_when_all_others_have_ended_with_0() {
        let running = json!({"running": {}});
        let ended = |code: i32| json!({"terminated": {"exitCode": code}});
        let worker = status("w", running.clone());
        for (others, well) in [
            (vec![status("a", ended(0))], true),
            (vec![status("a", ended(0)), status("b", ended(0))], true),
            (vec![status("a", ended(0)), status("b", running.clone())], false),
            (vec![status("a", ended(1))], false),
            (vec![], false),
        ] {
            let all: Vec<_> = others.into_iter().chain([worker.clone()]).collect();
            assert_eq!(all_ended_well(pod(&json!(all)), "w"), well, "{all:?}");
        }
    }

    #[test]
    fn a_container_that_was_started_again_has_ended_before() {
        let mut again = status("a", json!({"running": {}}));
        again["lastState"] = json!({"terminated": {"exitCode": 0}});
        assert!(all_ended_well(pod(&json!([again])), "w"));
    }

    #[test]
    fn a_missing_status_is_not_the_end() {
        let mut object = object(&json!([status("a", json!({"terminated": {"exitCode": 0}}))]));
        object["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "late"}));
        assert!(!all_ended_well(serde_json::from_value(object).unwrap(), "w"));
    }

    /// Starts an API double with the pod `p`, whose container `a` runs, and a task that waits for
    /// it.
    async fn waiting() -> (ApiDouble, JoinHandle<()>) {
        let double = ApiDouble::start().await.unwrap();
        double.put("pods", with_container(json!({"running": {}})));
        (double.clone(), wait(&double).await)
    }

    fn with_container(state: serde_json::Value) -> serde_json::Value {
        object(&json!([status("a", state), status("w", json!({"running": {}}))]))
    }

    async fn wait(double: &ApiDouble) -> JoinHandle<()> {
        let short = Duration::from_millis(1);
        let api = pod_api(&cluster(double).await, "ns");
        let companions =
            Companions { api, pod: "p".into(), worker: "w".into(), pause: short, look: short, reported: false };
        tokio::spawn(companions.ended())
    }

    fn watches(requests: &[plumbline_dev::Recorded]) -> usize {
        requests.iter().filter(|request| request.query.contains("watch=true")).count()
    }

    #[tokio::test]
    async fn the_end_is_seen_by_one_watch_however_long_it_takes() {
        let (double, ended) = waiting().await;
        double.requested(|requests| watches(requests) == 1).await;
        for n in 0..50 {
            double.update("pods", "ns", "p", |pod| pod["metadata"]["annotations"] = json!({"n": n.to_string()}));
        }
        assert!(!ended.is_finished());
        double.put("pods", with_container(json!({"terminated": {"exitCode": 0}})));
        ended.await.unwrap();
        let requests = double.requests();
        assert!(requests.iter().all(
            |request| request.path == "/api/v1/namespaces/ns/pods/p" || request.query.contains("metadata.name%3Dp")
        ));
        assert_eq!((requests.len(), watches(&requests)), (3, 1), "a list, a watch, and another look: {requests:?}");
    }

    #[tokio::test]
    async fn an_account_that_may_not_watch_looks_now_and_then() {
        for verb in ["list", "watch"] {
            let (double, ended) = (ApiDouble::start().await.unwrap(), "/api/v1/namespaces/ns/pods/p");
            double.deny(verb, "pods");
            double.put("pods", with_container(json!({"running": {}})));
            let waiting = wait(&double).await;
            double.requested(|requests| requests.iter().filter(|request| request.path == ended).count() > 2).await;
            assert!(!waiting.is_finished());
            double.put("pods", with_container(json!({"terminated": {"exitCode": 0}})));
            waiting.await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_watch_that_breaks_off_is_taken_up_again() {
        let (double, ended) = waiting().await;
        double.requested(|requests| watches(requests) == 1).await;
        double.drop_watches();
        double.requested(|requests| watches(requests) > 1).await;
        double.expire_watches();
        double.put("pods", with_container(json!({"terminated": {"exitCode": 0}})));
        ended.await.unwrap();
    }
}
