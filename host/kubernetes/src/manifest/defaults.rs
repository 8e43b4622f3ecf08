//! The pod around a plugin whose definition has none.

use plumbline_core::Driver;
use serde_json::{Value, json};

/// The pod around a plugin of this driver whose definition has none, as a definition could have it.
#[must_use]
pub fn default_pod_spec(driver: Driver, service_account: &str) -> Value {
    match driver {
        Driver::Job | Driver::Process => json!({
            "containers": [],
            "serviceAccountName": service_account,
            "restartPolicy": "Never",
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": [
                // Clusters since 1.24 have the first only, older ones the second.
                {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "CriticalAddonsOnly", "operator": "Exists"},
                {"key": "kubernetes.io/e2e-evict-taint-key", "operator": "Exists"},
            ],
        }),
        Driver::DaemonSet => json!({
            "containers": [],
            "serviceAccountName": service_account,
            "hostNetwork": true,
            "hostPID": true,
            "hostIPC": true,
            "dnsPolicy": "ClusterFirstWithHostNet",
            "tolerations": [{"operator": "Exists"}],
            "volumes": [{"name": "root", "hostPath": {"path": "/"}}],
        }),
    }
}
