//! What happens to the pod as a whole.

use serde_json::Value;

use super::state::Exit;
use super::{list, text, told};

/// An intervention in a pod, or its failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disruption {
    /// It was evicted because of its node's resources, a taint, or an eviction request.
    Evicted {
        /// The message of the cluster.
        why: Option<String>,
    },
    /// It was preempted by a pod with higher priority.
    Preempted {
        /// The message of the cluster.
        why: Option<String>,
    },
    /// Its node is shut down.
    NodeShutdown {
        /// The message of the cluster.
        why: Option<String>,
    },
    /// An init container failed, so the adapter is not started.
    InitFailed {
        /// The init container.
        container: String,
        /// How it ended.
        exit: Exit,
    },
    /// It is being deleted.
    Deleted,
    /// It failed for another reason, such as `DeadlineExceeded` or `UnexpectedAdmissionError`.
    Failed {
        /// The message of the cluster.
        why: String,
    },
}

/// Returns what happens to a pod, or `None` if it just runs.
pub(super) fn fate(pod: &Value) -> Option<Disruption> {
    by_status(pod)
        .or_else(|| by_condition(pod))
        .or_else(|| init_failed(pod))
        .or_else(|| (!text(pod, "/metadata/deletionTimestamp").is_empty()).then_some(Disruption::Deleted))
        .or_else(|| failed(pod))
}

/// Reads the pod's status, in which the kubelet writes why it terminates the pod.
fn by_status(pod: &Value) -> Option<Disruption> {
    let why = told(pod, "/status/message");
    match text(pod, "/status/reason") {
        "Evicted" => Some(Disruption::Evicted { why }),
        "Preempting" | "Preempted" => Some(Disruption::Preempted { why }),
        "NodeShutdown" | "Shutdown" | "Terminated" => Some(Disruption::NodeShutdown { why }),
        _ => None,
    }
}

/// Reads the pod's condition `DisruptionTarget` (Kubernetes 1.26), in which disrupting components
/// write their reason.
fn by_condition(pod: &Value) -> Option<Disruption> {
    let is_it =
        |condition: &&Value| text(condition, "/type") == "DisruptionTarget" && text(condition, "/status") == "True";
    let condition = list(pod, "/status/conditions").iter().find(is_it)?;
    let why = told(condition, "/message");
    match text(condition, "/reason") {
        "PreemptionByScheduler" => Some(Disruption::Preempted { why }),
        "TerminationByKubelet" if why.as_deref().is_some_and(|why| why.contains("shutdown")) => {
            Some(Disruption::NodeShutdown { why })
        }
        _ => Some(Disruption::Evicted { why }),
    }
}

/// Finds the failed init container of a pod that is not retried. Sidecars (`restartPolicy: Always`)
/// do not count.
fn init_failed(pod: &Value) -> Option<Disruption> {
    let may_try_again = text(pod, "/spec/restartPolicy") != "Never" && text(pod, "/status/phase") != "Failed";
    if may_try_again {
        return None;
    }
    let sidecar = |name: &str| {
        let spec = list(pod, "/spec/initContainers").iter().find(|container| text(container, "/name") == name);
        spec.is_some_and(|container| text(container, "/restartPolicy") == "Always")
    };
    list(pod, "/status/initContainerStatuses").iter().find_map(|status| {
        let name = text(status, "/name");
        let exit = Exit::of(status.pointer("/state/terminated").filter(|ended| ended.is_object())?);
        (exit.code != 0 && !sidecar(name)).then(|| Disruption::InitFailed { container: name.to_owned(), exit })
    })
}

fn failed(pod: &Value) -> Option<Disruption> {
    if text(pod, "/status/phase") != "Failed" {
        return None;
    }
    let reason = told(pod, "/status/reason")?;
    let why = match told(pod, "/status/message") {
        Some(message) => format!("{reason}: {message}"),
        None => reason,
    };
    Some(Disruption::Failed { why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn by_reason(reason: &str) -> Option<Disruption> {
        fate(&json!({"status": {"phase": "Failed", "reason": reason, "message": "m"}}))
    }

    fn disrupted(reason: &str, message: &str) -> Option<Disruption> {
        let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message});
        fate(&json!({"status": {"conditions": [{"type": "Ready"}, condition]}}))
    }

    #[test]
    fn what_the_kubelet_ended_is_told_by_its_reason() {
        let why = Some("m".to_owned());
        assert_eq!(by_reason("Evicted"), Some(Disruption::Evicted { why: why.clone() }));
        assert_eq!(by_reason("Preempting"), Some(Disruption::Preempted { why: why.clone() }));
        assert_eq!(by_reason("NodeShutdown"), Some(Disruption::NodeShutdown { why: why.clone() }));
        assert_eq!(by_reason("Terminated"), Some(Disruption::NodeShutdown { why }));
        assert_eq!(by_reason("DeadlineExceeded"), Some(Disruption::Failed { why: "DeadlineExceeded: m".into() }));
    }

    #[test]
    fn a_disruption_is_told_by_its_condition() {
        assert!(matches!(disrupted("EvictionByEvictionAPI", "m"), Some(Disruption::Evicted { .. })));
        assert!(matches!(disrupted("DeletionByTaintManager", ""), Some(Disruption::Evicted { why: None })));
        assert!(matches!(disrupted("PreemptionByScheduler", "m"), Some(Disruption::Preempted { .. })));
        let told = "Pod was terminated in response to imminent node shutdown.";
        assert!(matches!(disrupted("TerminationByKubelet", told), Some(Disruption::NodeShutdown { .. })));
    }

    #[test]
    fn a_failed_init_container_keeps_the_adapter_from_starting() {
        let mut pod = json!({
            "spec": {"restartPolicy": "Never", "initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]},
            "status": {"initContainerStatuses": [
                {"name": "s", "state": {"terminated": {"exitCode": 1}}},
                {"name": "i", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}},
            ]},
        });
        let exit = Exit { code: 3, reason: Some("Error".into()) };
        assert_eq!(fate(&pod), Some(Disruption::InitFailed { container: "i".into(), exit }));
        pod["spec"]["restartPolicy"] = json!("OnFailure");
        assert_eq!(fate(&pod), None);
    }

    #[test]
    fn a_pod_on_its_way_out_is_deleted_and_any_other_has_no_fate() {
        assert_eq!(
            fate(&json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})),
            Some(Disruption::Deleted)
        );
        for pod in [json!({}), json!({"status": {"phase": "Running"}}), json!({"status": {"phase": "Failed"}})] {
            assert_eq!(fate(&pod), None);
        }
    }
}
