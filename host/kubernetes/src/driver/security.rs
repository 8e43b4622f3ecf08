//! The security context of the worker.
//!
//! The worker must read everything that its plugin wrote, and may have to write an archive next to
//! it. Most plugins run as root and some write with mode 0600. A worker with a user of its own
//! would fail for exactly those. It therefore adapts to its plugin:
//!
//! * If the plugin's user is set (in its container or pod) and not root, the worker has the same
//!   user and group.
//! * If only `runAsNonRoot` is set, the user is that of the plugin's image, which is unknown here.
//!   The worker then has the user of its own image. Files must be readable for others, or the pod
//!   must have an `fsGroup`. The namespace of such a pod would not admit more privileges.
//! * Otherwise the plugin may have any user, and most likely root. The worker is root, with only
//!   the privilege to read and write files of others in its own volume. A namespace that does not
//!   admit that (Pod Security Standard `restricted`) does not admit the plugin either.

use serde_json::{Map, Value, json};

use super::stage::WorkerSecurity;

/// Returns the security context of the worker next to `plugin` (a container) in `pod` (a pod spec),
/// or `None` for no context.
pub(super) fn context(
    security: WorkerSecurity,
    pod: &Map<String, Value>,
    plugin: &Map<String, Value>,
) -> Option<Value> {
    let mut context = json!({
        "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": true,
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    let Value::Object(fields) = &mut context else { return None };
    match security {
        WorkerSecurity::Off => return None,
        WorkerSecurity::Platform => {}
        WorkerSecurity::LikePlugin => {
            // A field of the container takes precedence over that of its pod.
            let told = |field: &str| of(plugin, field).or_else(|| of(pod, field));
            let user = told("runAsUser").and_then(Value::as_i64);
            let non_root = told("runAsNonRoot").and_then(Value::as_bool).unwrap_or_default();
            match user {
                Some(user) if user != 0 => {
                    fields.insert("runAsUser".to_owned(), json!(user));
                    fields.insert("runAsNonRoot".to_owned(), json!(true));
                }
                None if non_root => drop(fields.insert("runAsNonRoot".to_owned(), json!(true))),
                _ => {
                    fields.insert("runAsUser".to_owned(), json!(0));
                    fields.insert("runAsNonRoot".to_owned(), json!(false));
                    fields.insert("capabilities".to_owned(), json!({"drop": ["ALL"], "add": ["DAC_OVERRIDE"]}));
                }
            }
            if let Some(group) = told("runAsGroup").filter(|_| user.is_some()) {
                fields.insert("runAsGroup".to_owned(), group.clone());
            }
        }
    }
    Some(context)
}

fn of<'a>(object: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    object.get("securityContext")?.get(field).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like_plugin(pod: &Value, plugin: &Value) -> Value {
        let around = |context: &Value| json!({"securityContext": context}).as_object().unwrap().clone();
        context(WorkerSecurity::LikePlugin, &around(pod), &around(plugin)).unwrap()
    }

    #[test]
    fn beside_a_plugin_that_says_nothing_the_worker_reads_everybodys_files() {
        let context = like_plugin(&Value::Null, &Value::Null);
        assert_eq!(context["runAsUser"], 0);
        assert_eq!(context["runAsNonRoot"], false);
        assert_eq!(context["capabilities"], json!({"drop": ["ALL"], "add": ["DAC_OVERRIDE"]}));
        assert_eq!(context["allowPrivilegeEscalation"], false);
        assert_eq!(like_plugin(&json!({"runAsUser": 0}), &Value::Null), context);
        // The pod forbids root, and the container permits it again.
        assert_eq!(like_plugin(&json!({"runAsNonRoot": true}), &json!({"runAsNonRoot": false})), context);
    }

    #[test]
    fn beside_a_plugin_with_a_user_the_worker_has_the_same() {
        let context = like_plugin(&json!({"runAsUser": 7, "runAsGroup": 8}), &json!({"runAsUser": 1000}));
        assert_eq!((&context["runAsUser"], &context["runAsGroup"]), (&json!(1000), &json!(8)));
        assert_eq!(context["runAsNonRoot"], true);
        assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}));
    }

    #[test]
    fn a_pod_that_forbids_root_gets_a_worker_that_its_namespace_admits() {
        let context = like_plugin(&json!({"runAsNonRoot": true}), &Value::Null);
        assert!(context.get("runAsUser").is_none(), "{context}");
        assert_eq!(context["runAsNonRoot"], true);
        assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}));
    }

    #[test]
    fn a_platform_that_assigns_users_is_not_told_one() {
        let context = context(WorkerSecurity::Platform, &Map::new(), &Map::new()).unwrap();
        assert!(context.get("runAsUser").is_none() && context.get("runAsNonRoot").is_none(), "{context}");
        assert!(super::context(WorkerSecurity::Off, &Map::new(), &Map::new()).is_none());
    }
}
