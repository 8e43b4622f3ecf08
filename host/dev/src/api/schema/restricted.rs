//! The level `restricted` of the Pod Security Standards, for pods on Linux
//! (kubernetes.io/docs/concepts/security/pod-security-standards).

use serde_json::Value;

use super::pod::CONTAINERS;
use crate::api::json;

/// The volume sources that the level allows.
const VOLUMES: [&str; 8] =
    ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"];

/// The seccomp profiles that the level allows.
const PROFILES: [&str; 2] = ["RuntimeDefault", "Localhost"];

/// The SELinux types that the level allows; empty means none.
const SELINUX_TYPES: [&str; 5] = ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

/// Returns the violations of the level `restricted` in a pod spec. If there are none, a namespace
/// that enforces the level admits the pod.
#[must_use]
pub fn breaches(spec: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for host in ["hostNetwork", "hostPID", "hostIPC"] {
        if is_true(spec, &format!("/{host}")) {
            found.push(format!("`{host}` is set"));
        }
    }
    for volume in json::array(spec, "/volumes") {
        for source in volume.as_object().into_iter().flat_map(|fields| fields.keys()) {
            if source != "name" && !VOLUMES.contains(&source.as_str()) {
                found.push(format!("volume `{}` is of the kind `{source}`", json::text(volume, "/name")));
            }
        }
    }
    if !json::array(spec, "/securityContext/sysctls").is_empty() {
        found.push("kernel parameters are set".to_owned());
    }
    for container in CONTAINERS.iter().flat_map(|list| json::array(spec, &format!("/{list}"))) {
        let name = json::text(container, "/name");
        found.extend(of_container(spec, container).into_iter().map(|what| format!("container `{name}`: {what}")));
    }
    found
}

fn of_container(pod: &Value, container: &Value) -> Vec<String> {
    let mut found = Vec::new();
    // A field that a container does not set is inherited from the pod.
    let said = |field: &str| {
        let path = format!("/securityContext/{field}");
        container.pointer(&path).or_else(|| pod.pointer(&path))
    };
    if is_true(container, "/securityContext/privileged") {
        found.push("`privileged` is set".to_owned());
    }
    if container.pointer("/securityContext/allowPrivilegeEscalation") != Some(&Value::Bool(false)) {
        found.push("`allowPrivilegeEscalation` is not false".to_owned());
    }
    if said("runAsNonRoot") != Some(&Value::Bool(true)) {
        found.push("`runAsNonRoot` is not true".to_owned());
    }
    if said("runAsUser").and_then(Value::as_i64) == Some(0) {
        found.push("`runAsUser` is root".to_owned());
    }
    if !said("seccompProfile").is_some_and(|profile| PROFILES.contains(&json::text(profile, "/type"))) {
        found.push("it has no seccomp profile".to_owned());
    }
    if !json::array(container, "/securityContext/capabilities/drop").contains(&Value::from("ALL")) {
        found.push("not all capabilities are dropped".to_owned());
    }
    let added = json::array(container, "/securityContext/capabilities/add");
    if added.iter().any(|capability| capability != "NET_BIND_SERVICE") {
        found.push("capabilities are added".to_owned());
    }
    if json::array(container, "/ports").iter().any(|port| port.get("hostPort").is_some()) {
        found.push("a port of the host is taken".to_owned());
    }
    if !matches!(json::text(container, "/securityContext/procMount"), "" | "Default") {
        found.push("`procMount` is not the default".to_owned());
    }
    for context in [pod, container].iter().filter_map(|of| of.get("securityContext")) {
        let options = "/seLinuxOptions";
        if ["user", "role"].iter().any(|key| !json::text(context, &format!("{options}/{key}")).is_empty()) {
            found.push("a user or a role of SELinux is named".to_owned());
        }
        if !SELINUX_TYPES.contains(&json::text(context, &format!("{options}/type"))) {
            found.push("the type of SELinux is not one for containers".to_owned());
        }
        if json::text(context, "/appArmorProfile/type") == "Unconfined" {
            found.push("it has no AppArmor profile".to_owned());
        }
        if is_true(context, "/windowsOptions/hostProcess") {
            found.push("`hostProcess` is set".to_owned());
        }
    }
    found
}

fn is_true(value: &Value, path: &str) -> bool {
    value.pointer(path) == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_confined_pod_is_admitted_and_a_plain_one_is_not() {
        let confined = json!({
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [{"name": "a", "emptyDir": {}}],
            "containers": [{
                "name": "c",
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
            }],
        });
        assert!(breaches(&confined).is_empty());

        let plain = json!({
            "hostPID": true,
            "volumes": [{"name": "root", "hostPath": {"path": "/"}}],
            "containers": [{"name": "c"}],
        });
        let found = breaches(&plain);
        assert_eq!(found.len(), 6, "{found:?}");
        assert_eq!(found[1], "volume `root` is of the kind `hostPath`");
    }
    #[test]
    fn isolation_of_a_container_cannot_be_disabled() {
        let with = |context: Value| {
            let mut own = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
                "runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
            own.as_object_mut().unwrap().extend(context.as_object().unwrap().clone());
            breaches(&json!({"containers": [{"name": "c", "securityContext": own}]})).join("\n")
        };
        assert_eq!(with(json!({"seLinuxOptions": {"type": "container_t", "level": "s0"}})), "");
        for (context, expected) in [
            (json!({"seLinuxOptions": {"type": "spc_t"}}), "type of SELinux"),
            (json!({"seLinuxOptions": {"user": "u"}}), "user or a role"),
            (json!({"appArmorProfile": {"type": "Unconfined"}}), "AppArmor"),
            (json!({"windowsOptions": {"hostProcess": true}}), "hostProcess"),
        ] {
            assert!(with(context).contains(expected), "{expected}");
        }
    }
}
