//! Finds the containers of adapter and reporter.

use serde_json::Value;

use super::{list, text};

/// The usual name of the reporter's container.
const USUAL_NAME: &str = "status-reporter";
/// Names of this program.
const PROGRAMS: [&str; 2] = ["plumbline", "sonobuoy"];
/// The reporter's command.
const COMMAND: &str = "report";
/// Environment variables that every reporter needs.
const VARIABLES: [&str; 3] = ["JOB_NAME", "JOB_NAMESPACE", "POD_NAME"];

/// The configured container names. Without them, containers are detected by their content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Naming {
    /// The adapter's container.
    pub adapter: Option<String>,
    /// The reporter's container.
    pub reporter: Option<String>,
}

impl Naming {
    /// Returns the adapter's container: the configured one, or else the first that is not the
    /// reporter, in the order of the pod's `spec`.
    ///
    /// Returns `None` if there is no such container.
    #[must_use]
    pub fn adapter<'a>(&self, pod: &'a Value) -> Option<&'a Value> {
        let containers = list(pod, "/spec/containers");
        if let Some(name) = &self.adapter {
            // An explicitly configured container may also be an init container.
            let all = containers.iter().chain(list(pod, "/spec/initContainers"));
            return all.into_iter().find(|container| text(container, "/name") == name);
        }
        let reporter = self.reporter(pod);
        containers.iter().find(|container| reporter.is_none_or(|reporter| text(container, "/name") != reporter))
    }

    /// Returns the name of the reporter's container.
    ///
    /// The configured name takes precedence. Then come the usual name, a container that runs the
    /// reporter's command, and one with all variables that only a reporter needs. Both lists are
    /// searched, because a native sidecar is an init container.
    fn reporter<'a>(&self, pod: &'a Value) -> Option<&'a str> {
        let all = || list(pod, "/spec/containers").iter().chain(list(pod, "/spec/initContainers"));
        let wanted = self.reporter.as_deref().unwrap_or(USUAL_NAME);
        let named = all().find(|container| text(container, "/name") == wanted);
        named
            .or_else(|| all().find(|container| runs_report(container)))
            .or_else(|| all().find(|container| has_variables(container)))
            .map(|container| text(container, "/name"))
    }
}

/// Returns true if the container runs the reporter's command.
///
/// Known forms are `command: [/plumbline, report]`, `command: [/plumbline]` with `args: [report]`,
/// and `args: [report]` alone with the image's own command.
fn runs_report(container: &Value) -> bool {
    let mut words = list(container, "/command").iter().chain(list(container, "/args")).filter_map(Value::as_str);
    let first = words.next().unwrap_or_default();
    let program = first.rsplit('/').next().unwrap_or_default();
    if PROGRAMS.contains(&program) {
        // Global options may precede the command.
        return words.any(|word| word == COMMAND);
    }
    first == COMMAND && list(container, "/command").is_empty() && has_variables(container)
}

fn has_variables(container: &Value) -> bool {
    VARIABLES.iter().all(|name| list(container, "/env").iter().any(|variable| text(variable, "/name") == *name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn adapter(naming: &Naming, containers: Value, init: Value) -> Option<String> {
        let pod = json!({"spec": {"containers": containers, "initContainers": init}});
        naming.adapter(&pod).map(|container| text(container, "/name").to_owned())
    }

    fn env() -> Value {
        json!([{"name": "JOB_NAME"}, {"name": "JOB_NAMESPACE"}, {"name": "POD_NAME"}])
    }

    #[test]
    fn the_first_that_is_not_the_reporter_is_the_adapter() {
        let auto = Naming::default();
        let of = |containers: Value| adapter(&auto, containers, Value::Null);
        assert_eq!(of(json!([{"name": "status-reporter"}, {"name": "b"}, {"name": "a"}])).as_deref(), Some("b"));
        assert_eq!(of(json!([{"name": "b"}, {"name": "status-reporter"}])).as_deref(), Some("b"));
        assert_eq!(of(json!([{"name": "status-reporter"}])), None);
        assert_eq!(of(json!("nonsense")), None);
    }

    #[test]
    fn the_reporter_is_found_under_any_name() {
        let auto = Naming::default();
        for reporter in [
            json!({"name": "x", "command": ["/plumbline", "report"]}),
            json!({"name": "x", "command": ["/sonobuoy"], "args": ["--level=debug", "report"]}),
            json!({"name": "x", "args": ["report"], "env": env()}),
            json!({"name": "x", "env": env()}),
        ] {
            let found = adapter(&auto, json!([reporter, {"name": "a", "args": ["report"]}]), Value::Null);
            assert_eq!(found.as_deref(), Some("a"), "{reporter}");
        }
        let told = Naming { reporter: Some("r".into()), adapter: None };
        let containers = json!([{"name": "r"}, {"name": "a", "command": ["/plumbline", "report"]}]);
        assert_eq!(adapter(&told, containers, Value::Null).as_deref(), Some("a"));
    }

    #[test]
    fn a_native_sidecar_is_not_among_the_containers() {
        let auto = Naming::default();
        let init = json!([{"name": "status-reporter", "restartPolicy": "Always"}]);
        assert_eq!(adapter(&auto, json!([{"name": "a"}, {"name": "b"}]), init).as_deref(), Some("a"));
        let init = json!([{"name": "x", "restartPolicy": "Always", "args": ["report"], "env": env()}]);
        assert_eq!(adapter(&auto, json!([{"name": "a"}]), init).as_deref(), Some("a"));
    }

    #[test]
    fn a_name_that_was_given_is_the_adapters() {
        let named = Naming { adapter: Some("b".into()), reporter: None };
        assert_eq!(adapter(&named, json!([{"name": "a"}, {"name": "b"}]), Value::Null).as_deref(), Some("b"));
        assert_eq!(adapter(&named, json!([{"name": "a"}]), json!([{"name": "b"}])).as_deref(), Some("b"));
        assert_eq!(adapter(&named, json!([{"name": "a"}]), Value::Null), None);
    }
}
