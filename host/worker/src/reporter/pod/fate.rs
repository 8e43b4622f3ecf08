//! What happens to the pod as a whole.

use serde_json::Value;

use super::state::Exit;
use super::{list, text, told};

/// What the cluster does to a pod, other than to run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It was evicted: its node lacks room, a taint drove it out, or somebody asked for it.
    Evicted {
        /// What the cluster says of it.
        why: Option<String>,
    },
    /// A more important pod took its place.
    Preempted {
        /// What the cluster says of it.
        why: Option<String>,
    },
    /// Its node is shut down.
    NodeShutdown {
        /// What the cluster says of it.
        why: Option<String>,
    },
    /// An init container failed, so that the adapter is not started.
    InitFailed {
        /// The init container.
        container: String,
        /// How it ended.
        exit: Exit,
    },
    /// It is being deleted.
    Deleted,
    /// It failed for another reason: `DeadlineExceeded`, `UnexpectedAdmissionError`, ...
    Failed {
        /// What the cluster says of it.
        why: String,
    },
}

/// What happens to a pod; `None`: nothing but that it runs.
pub(super) fn fate(pod: &Value) -> Option<Fate> {
    by_status(pod)
        .or_else(|| by_condition(pod))
        .or_else(|| init_failed(pod))
        .or_else(|| (!text(pod, "/metadata/deletionTimestamp").is_empty()).then_some(Fate::Deleted))
        .or_else(|| failed(pod))
}

/// What the kubelet writes into the status of a pod that it ends.
fn by_status(pod: &Value) -> Option<Fate> {
    let why = told(pod, "/status/message");
    match text(pod, "/status/reason") {
        "Evicted" => Some(Fate::Evicted { why }),
        "Preempting" | "Preempted" => Some(Fate::Preempted { why }),
        "NodeShutdown" | "Shutdown" | "Terminated" => Some(Fate::NodeShutdown { why }),
        _ => None,
    }
}

/// What whoever disrupts a pod writes into its conditions (`DisruptionTarget`, Kubernetes 1.26).
fn by_condition(pod: &Value) -> Option<Fate> {
    let is_it =
        |condition: &&Value| text(condition, "/type") == "DisruptionTarget" && text(condition, "/status") == "True";
    let condition = list(pod, "/status/conditions").iter().find(is_it)?;
    let why = told(condition, "/message");
    match text(condition, "/reason") {
        "PreemptionByScheduler" => Some(Fate::Preempted { why }),
        "TerminationByKubelet" if why.as_deref().is_some_and(|why| why.contains("shutdown")) => {
            Some(Fate::NodeShutdown { why })
        }
        _ => Some(Fate::Evicted { why }),
    }
}

/// An init container of a pod that is not tried again. Sidecars (`restartPolicy: Always`) do not count.
fn init_failed(pod: &Value) -> Option<Fate> {
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
        (exit.code != 0 && !sidecar(name)).then(|| Fate::InitFailed { container: name.to_owned(), exit })
    })
}

fn failed(pod: &Value) -> Option<Fate> {
    if text(pod, "/status/phase") != "Failed" {
        return None;
    }
    let reason = told(pod, "/status/reason")?;
    let why = match told(pod, "/status/message") {
        Some(message) => format!("{reason}: {message}"),
        None => reason,
    };
    Some(Fate::Failed { why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn by_reason(reason: &str) -> Option<Fate> {
        fate(&json!({"status": {"phase": "Failed", "reason": reason, "message": "m"}}))
    }

    fn disrupted(reason: &str, message: &str) -> Option<Fate> {
        let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message});
        fate(&json!({"status": {"conditions": [{"type": "Ready"}, condition]}}))
    }

    #[test]
    fn what_the_kubelet_ended_is_told_by_its_reason() {
        let why = Some("m".to_owned());
        assert_eq!(by_reason("Evicted"), Some(Fate::Evicted { why: why.clone() }));
        assert_eq!(by_reason("Preempting"), Some(Fate::Preempted { why: why.clone() }));
        assert_eq!(by_reason("NodeShutdown"), Some(Fate::NodeShutdown { why: why.clone() }));
        assert_eq!(by_reason("Terminated"), Some(Fate::NodeShutdown { why }));
        assert_eq!(by_reason("DeadlineExceeded"), Some(Fate::Failed { why: "DeadlineExceeded: m".into() }));
    }

    #[test]
    fn a_disruption_is_told_by_its_condition() {
        assert!(matches!(disrupted("EvictionByEvictionAPI", "m"), Some(Fate::Evicted { .. })));
        assert!(matches!(disrupted("DeletionByTaintManager", ""), Some(Fate::Evicted { why: None })));
        assert!(matches!(disrupted("PreemptionByScheduler", "m"), Some(Fate::Preempted { .. })));
        let told = "Pod was terminated in response to imminent node shutdown.";
        assert!(matches!(disrupted("TerminationByKubelet", told), Some(Fate::NodeShutdown { .. })));
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
        assert_eq!(fate(&pod), Some(Fate::InitFailed { container: "i".into(), exit }));
        pod["spec"]["restartPolicy"] = json!("OnFailure");
        assert_eq!(fate(&pod), None);
    }

    #[test]
    fn a_pod_on_its_way_out_is_deleted_and_any_other_has_no_fate() {
        assert_eq!(fate(&json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})), Some(Fate::Deleted));
        for pod in [json!({}), json!({"status": {"phase": "Running"}}), json!({"status": {"phase": "Failed"}})] {
            assert_eq!(fate(&pod), None);
        }
    }
}
