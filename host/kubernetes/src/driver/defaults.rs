//! The default pod spec of a plugin.

use plumbline_core::Driver;
use plumbline_core::config::Toleration;
use serde_json::{Value, json};

/// Returns the tolerations of a Job's pod without a `podSpec`.
///
/// `control-plane` replaced `master` in Kubernetes 1.20. Both are tolerated, or the pod might not
/// be schedulable on a cluster of control-plane nodes.
#[must_use]
pub fn default_tolerations() -> Value {
    json!([
        {"key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        {"key": "kubernetes.io/e2e-evict-taint-key", "operator": "Exists"},
    ])
}

/// Returns the pod spec of a definition that has none.
///
/// A DaemonSet's pod uses the node's own namespaces, and runs on every Linux node regardless of
/// taints. [`Driver::Process`] has no pod and gets the spec of a Job.
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

/// Replaces the tolerations of a Job's default pod with those of the run.
pub(crate) fn set_job_tolerations(spec: &mut Value, driver: Driver, tolerations: Option<&[Toleration]>) {
    if let (Driver::Job, Some(tolerations), Some(spec)) = (driver, tolerations, spec.as_object_mut()) {
        spec.insert("tolerations".to_owned(), json!(tolerations));
    }
}
