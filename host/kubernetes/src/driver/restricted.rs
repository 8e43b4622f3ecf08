//! Completes a plugin's pod for a namespace of the Pod Security level `restricted`
//! (kubernetes.io/docs/concepts/security/pod-security-standards).

use serde_json::{Value, json};

/// The user and group of pods whose definition sets none: `nonroot` of Plumbline's image.
const USER: u32 = 65532;

/// Fills in what the level requires and the definition leaves open. What the definition sets stays,
/// so the API server may still refuse the pod, and says why.
///
/// With `set_user`, a pod without a user gets one. The worker then has the same user and can read
/// every file of its plugin. Pods for Windows have none of the fields but one.
pub(super) fn complete<'a>(pod: &mut Value, containers: impl IntoIterator<Item = &'a mut Value>, set_user: bool) {
    fill(pod, "runAsNonRoot", json!(true));
    if pod.pointer("/os/name").and_then(Value::as_str) == Some("windows") {
        return;
    }
    fill(pod, "seccompProfile", json!({"type": "RuntimeDefault"}));
    if set_user && pod.pointer("/securityContext/runAsUser").is_none_or(Value::is_null) {
        fill(pod, "runAsUser", json!(USER));
        fill(pod, "runAsGroup", json!(USER));
        fill(pod, "fsGroup", json!(USER));
    }
    for container in containers {
        fill(container, "allowPrivilegeEscalation", json!(false));
        fill(container, "capabilities", json!({"drop": ["ALL"]}));
    }
}

/// Sets a field of the security context of a pod or a container, unless it is set.
fn fill(of: &mut Value, field: &str, value: Value) {
    let Some(object) = of.as_object_mut() else { return };
    let context = object.entry("securityContext").or_insert(Value::Null);
    if context.is_null() {
        *context = json!({});
    }
    // The API server rejects a context that is not a mapping.
    let Some(context) = context.as_object_mut() else { return };
    if context.get(field).is_none_or(Value::is_null) {
        context.insert(field.to_owned(), value);
    }
}
