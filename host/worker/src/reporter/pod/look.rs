//! Parses one observation of a pod.

use std::time::Duration;

use serde_json::Value;

use super::fate::{Disruption, fate};
use super::naming::Naming;
use super::state::{AdapterState, state};
use super::{list, text, told};

/// What a pod says about the adapter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodLook {
    /// The adapter's container, or `None` if the pod has no such container.
    pub adapter: Option<String>,
    /// The state of that container.
    pub state: AdapterState,
    /// What happens to the pod as a whole.
    pub fate: Option<Disruption>,
    /// Whether the phase is `Succeeded` or `Failed`, so that nothing in the pod is running.
    pub over: bool,
    /// The grace period of the pod's containers.
    pub grace: Option<Duration>,
    /// The UID of the Job that owns the pod.
    pub job_uid: Option<String>,
    /// The UID of the pod.
    pub uid: Option<String>,
    /// Why the pod is not scheduled.
    pub unscheduled: Option<String>,
}

/// An observation of the pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodNews {
    /// The current state of the pod.
    Look(Box<PodLook>),
    /// The pod existed earlier, but is gone.
    Gone,
    /// The pod cannot be read, for this reason.
    Unknown(String),
}

impl PodLook {
    /// Returns true if nothing in this pod will produce a result any more.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.over
            || matches!(self.state, AdapterState::Ended(_))
            || matches!(self.fate, Some(Disruption::InitFailed { .. }))
    }
}

/// Parses a pod. Missing fields and fields of the wrong type are ignored.
#[must_use]
pub fn look(pod: &Value, naming: &Naming, job: &str) -> PodLook {
    let container = naming.adapter(pod);
    let seconds = |path: &str| pod.pointer(path).and_then(Value::as_u64).map(Duration::from_secs);
    PodLook {
        adapter: container.map(|container| text(container, "/name").to_owned()),
        state: container.map(|container| state(pod, container)).unwrap_or_default(),
        fate: fate(pod),
        over: matches!(text(pod, "/status/phase"), "Succeeded" | "Failed"),
        grace: seconds("/metadata/deletionGracePeriodSeconds").or(seconds("/spec/terminationGracePeriodSeconds")),
        job_uid: owner(pod, job),
        uid: told(pod, "/metadata/uid"),
        unscheduled: unscheduled(pod),
    }
}

fn owner(pod: &Value, job: &str) -> Option<String> {
    let owners = list(pod, "/metadata/ownerReferences").iter();
    let mut ours = owners.filter(|owner| text(owner, "/kind") == "Job" && text(owner, "/name") == job);
    ours.find_map(|owner| told(owner, "/uid"))
}

fn unscheduled(pod: &Value) -> Option<String> {
    let condition = list(pod, "/status/conditions")
        .iter()
        .find(|condition| text(condition, "/type") == "PodScheduled" && text(condition, "/status") == "False")?;
    told(condition, "/message").or_else(|| told(condition, "/reason"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_is_seen_whole() {
        let pod = json!({
            "metadata": {"uid": "u", "deletionGracePeriodSeconds": 7, "deletionTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [{"kind": "ReplicaSet", "name": "j", "uid": "r"}, {"kind": "Job", "name": "j", "uid": "ju"}]},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 30,
                "containers": [{"name": "a"}, {"name": "status-reporter"}]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "a", "state": {"running": {}}}]},
        });
        let seen = look(&pod, &Naming::default(), "j");
        assert_eq!((seen.adapter.as_deref(), &seen.state), (Some("a"), &AdapterState::Running));
        assert_eq!((seen.fate.clone(), seen.grace), (Some(Disruption::Deleted), Some(Duration::from_secs(7))));
        assert_eq!((seen.job_uid.as_deref(), seen.uid.as_deref()), (Some("ju"), Some("u")));
        assert!(!seen.is_final());
        assert_eq!(look(&pod, &Naming::default(), "other").job_uid, None);
    }

    #[test]
    fn rubbish_says_nothing() {
        for pod in [json!(null), json!([]), json!({"status": 1, "spec": {"containers": {"name": "x"}}})] {
            assert_eq!(look(&pod, &Naming::default(), "j"), PodLook::default());
        }
    }

    #[test]
    fn a_pod_that_is_over_is_final_whatever_its_containers_say() {
        let seen = look(&json!({"status": {"phase": "Failed", "reason": "Evicted"}}), &Naming::default(), "j");
        assert!(seen.is_final() && matches!(seen.fate, Some(Disruption::Evicted { why: None })));
    }

    #[test]
    fn a_pod_without_a_place_says_why() {
        let condition =
            json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"});
        let seen = look(&json!({"status": {"conditions": [condition]}}), &Naming::default(), "j");
        assert_eq!(seen.unscheduled.as_deref(), Some("0/3 nodes"));
    }
}
