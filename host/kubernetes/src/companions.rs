//! Whether the containers beside a worker have ended: then a plugin that writes no done file is done all the same.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};
use kube::Api;

use crate::cluster::Cluster;
use crate::error::ClusterError;

/// Between two looks at the pod.
const PAUSE: Duration = Duration::from_secs(5);

/// Returns once every container of the pod but `worker` has ended with exit code 0, and one more look later still so. Never returns
/// if one of them fails. What keeps the API server from answering is told once.
pub async fn companions_ended(cluster: Cluster, namespace: String, pod: String, worker: String) {
    let api: Api<Pod> = Api::namespaced(cluster.client(), &namespace);
    let mut told = false;
    let mut seen = 0_u32;
    // The second look leaves a plugin's last writes time to arrive, and the done file its precedence.
    while seen < 2 {
        tokio::time::sleep(PAUSE).await;
        match api.get(&pod).await {
            Ok(found) if all_ended_well(&found, &worker) => seen += 1,
            Ok(_) => seen = 0,
            Err(error) if !told => {
                told = true;
                let error = ClusterError::api(format!("look at pod `{pod}`"), &error);
                tracing::warn!("{error}: a plugin that ends without a done file is not noticed until that works");
            }
            Err(_) => {}
        }
    }
}

fn all_ended_well(pod: &Pod, worker: &str) -> bool {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    let others: Vec<&ContainerStatus> = statuses.iter().filter(|status| status.name != worker).collect();
    let expected = pod.spec.as_ref().map_or(0, |spec| spec.containers.iter().filter(|c| c.name != worker).count());
    !others.is_empty() && others.len() == expected && others.into_iter().all(ended_well)
}

/// Now, or before it was started again.
fn ended_well(status: &ContainerStatus) -> bool {
    [&status.state, &status.last_state].into_iter().flatten().any(is_success)
}

fn is_success(state: &ContainerState) -> bool {
    state.terminated.as_ref().is_some_and(|ended| ended.exit_code == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(statuses: &serde_json::Value) -> Pod {
        let containers: Vec<_> = statuses.as_array().unwrap().iter().map(|s| json!({"name": s["name"]})).collect();
        serde_json::from_value(json!({
            "metadata": {"name": "p"}, "spec": {"containers": containers}, "status": {"containerStatuses": statuses},
        }))
        .unwrap()
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
            assert_eq!(all_ended_well(&pod(&json!(all)), "w"), well, "{all:?}");
        }
    }

    #[test]
    fn a_container_that_was_started_again_has_ended_before() {
        let mut again = status("a", json!({"running": {}}));
        again["lastState"] = json!({"terminated": {"exitCode": 0}});
        assert!(all_ended_well(&pod(&json!([again])), "w"));
    }

    #[test]
    fn a_status_that_is_not_there_yet_is_no_end() {
        let mut pod = pod(&json!([status("a", json!({"terminated": {"exitCode": 0}}))]));
        pod.spec.as_mut().unwrap().containers.push(serde_json::from_value(json!({"name": "late"})).unwrap());
        assert!(!all_ended_well(&pod, "w"));
    }
}
