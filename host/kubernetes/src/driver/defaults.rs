//! The pod around a plugin whose definition brings none.

use plumbline_core::Driver;
use plumbline_core::config::Toleration;
use serde_json::{Value, json};

/// The tolerations of a Job's pod without a `podSpec`. `control-plane` is what `master` has been called since Kubernetes 1.20: with one
/// of the two only, a cluster of control-plane nodes has no place for the pod.
#[must_use]
pub fn default_tolerations() -> Value {
    json!([
        {"key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        {"key": "kubernetes.io/e2e-evict-taint-key", "operator": "Exists"},
    ])
}

/// The pod spec of a definition that brings none. A DaemonSet's sees its node as the node sees
/// itself, and runs on every Linux node, whatever its taints. For [`Driver::Process`], which has no
/// pod, that of a Job.
#[must_use]
pub fn default_pod_spec(driver: Driver) -> Value {
    match driver {
        Driver::Job | Driver::Process => json!({
            "restartPolicy": "Never",
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": default_tolerations(),
        }),
        Driver::DaemonSet => json!({
            "hostNetwork": true,
            "hostPID": true,
            "hostIPC": true,
            "dnsPolicy": "ClusterFirstWithHostNet",
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": [{"operator": "Exists"}],
            "volumes": [{"name": "root", "hostPath": {"path": "/"}}],
        }),
    }
}

/// Replaces the tolerations of a Job's default pod by those that the run asks for.
pub(crate) fn set_job_tolerations(spec: &mut Value, driver: Driver, tolerations: Option<&[Toleration]>) {
    if let (Driver::Job, Some(tolerations), Some(spec)) = (driver, tolerations, spec.as_object_mut()) {
        spec.insert("tolerations".to_owned(), json!(tolerations));
    }
}
