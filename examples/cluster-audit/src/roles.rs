//! Rules about roles and their bindings.

use serde_json::Value;

/// The ClusterRole of administrators, which Kubernetes creates. It is excused by its name, because
/// anybody can copy its labels.
const ADMIN: &str = "cluster-admin";

/// Returns how a role grants everything, if it does.
pub(crate) fn grants_everything(role: &Value) -> Option<String> {
    if text(role, "/metadata/name") == ADMIN && role.pointer("/metadata/namespace").is_none() {
        return None;
    }
    let rule = list(role, "/rules").iter().find(|rule| has(rule, "/verbs", "*") && has(rule, "/resources", "*"))?;
    let groups: Vec<&str> = list(rule, "/apiGroups").iter().filter_map(Value::as_str).collect();
    Some(format!("all verbs on all resources of the API groups {groups:?}"))
}

/// Returns the subjects with the role `cluster-admin`, other than the group of administrators.
pub(crate) fn other_admins(binding: &Value) -> Option<String> {
    if text(binding, "/roleRef/name") != ADMIN {
        return None;
    }
    let is_allowed = |subject: &&Value| text(subject, "/kind") == "Group" && text(subject, "/name") == "system:masters";
    let name = |subject: &Value| match text(subject, "/namespace") {
        "" => format!("{} {}", text(subject, "/kind"), text(subject, "/name")),
        namespace => format!("{} {namespace}/{}", text(subject, "/kind"), text(subject, "/name")),
    };
    let others: Vec<String> =
        list(binding, "/subjects").iter().filter(|subject| !is_allowed(subject)).map(name).collect();
    (!others.is_empty()).then(|| others.join(", "))
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn has(value: &Value, pointer: &str, wanted: &str) -> bool {
    list(value, pointer).iter().any(|entry| entry == wanted)
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
