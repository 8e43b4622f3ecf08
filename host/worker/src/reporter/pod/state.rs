//! The state of a container: waiting, running, restarting, or ended.

use serde_json::Value;

use super::{list, text, told};

/// How a container ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, which is 128 plus the signal number if a signal ended it.
    pub code: i64,
    /// The kubelet's reason: `Completed`, `Error`, `OOMKilled`, and so on.
    pub reason: Option<String>,
}

impl Exit {
    /// Returns true if the kernel killed the container because of its memory use.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        self.reason.as_deref() == Some("OOMKilled")
    }

    /// Returns true if the container ended because of SIGTERM or SIGKILL.
    #[must_use]
    pub fn is_by_signal(&self) -> bool {
        matches!(self.code, 137 | 143)
    }

    /// Returns the reason, or else the kubelet's default reason for the exit code.
    #[must_use]
    pub fn word(&self) -> &str {
        let usual = if self.code == 0 { "Completed" } else { "Error" };
        self.reason.as_deref().unwrap_or(usual)
    }

    pub(super) fn of(terminated: &Value) -> Self {
        Self {
            // Without an exit code, success cannot be assumed.
            code: terminated.get("exitCode").and_then(Value::as_i64).unwrap_or(-1),
            reason: told(terminated, "/reason"),
        }
    }
}

/// The state of the adapter's container.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AdapterState {
    /// Nothing is known yet.
    #[default]
    Unknown,
    /// It has not started yet.
    Waiting {
        /// The kubelet's reason and message, such as `ImagePullBackOff: Back-off pulling image
        /// "x"`.
        why: Option<String>,
    },
    /// It is running.
    Running,
    /// It ended, and was or will be restarted.
    Restarting {
        /// Number of restarts.
        restarts: i64,
        /// How it ended last.
        last: Exit,
    },
    /// It ended and will not be restarted.
    Ended(Exit),
}

/// Returns true if the kubelet restarts a container after this exit.
fn restarts(pod: &Value, container: &Value, exit: &Exit) -> bool {
    let own = text(container, "/restartPolicy");
    let policy = if own.is_empty() { text(pod, "/spec/restartPolicy") } else { own };
    let rules = list(container, "/restartPolicyRules");
    let over = matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
    let leaving = !text(pod, "/metadata/deletionTimestamp").is_empty();
    if over || leaving {
        return false;
    }
    match policy {
        // Rules may restart a container despite the policy, but only the kubelet knows which.
        "Never" => exit.code != 0 && !rules.is_empty(),
        "OnFailure" => exit.code != 0,
        // The API server fills in the policy. Without it nothing is known, and a Job's pod never
        // has `Always`.
        "Always" => true,
        _ => false,
    }
}

/// Returns the state of `container`, which is an element of the `spec`.
pub(super) fn state(pod: &Value, container: &Value) -> AdapterState {
    let name = text(container, "/name");
    let statuses =
        ["/status/containerStatuses", "/status/initContainerStatuses"].into_iter().flat_map(|path| list(pod, path));
    let Some(status) = statuses.into_iter().find(|status| text(status, "/name") == name) else {
        return AdapterState::Unknown;
    };
    let count = status.get("restartCount").and_then(Value::as_i64).unwrap_or(0);
    let before = status.pointer("/lastState/terminated").filter(|ended| ended.is_object()).map(Exit::of);
    let now = |path: &str| status.pointer(path).filter(|state| state.is_object());
    if let Some(ended) = now("/state/terminated") {
        let exit = Exit::of(ended);
        return match restarts(pod, container, &exit) {
            true => AdapterState::Restarting { restarts: count, last: exit },
            false => AdapterState::Ended(exit),
        };
    }
    if let Some(last) = before {
        return AdapterState::Restarting { restarts: count, last };
    }
    if now("/state/running").is_some() {
        return AdapterState::Running;
    }
    match now("/state/waiting") {
        Some(waiting) => {
            let why = match (told(waiting, "/reason"), told(waiting, "/message")) {
                (Some(reason), Some(message)) => Some(format!("{reason}: {message}")),
                (reason, message) => reason.or(message),
            };
            AdapterState::Waiting { why }
        }
        None => AdapterState::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(policy: &str, status: Value) -> AdapterState {
        let mut status = status;
        status["name"] = json!("a");
        let container = json!({"name": "a"});
        let pod = json!({"spec": {"restartPolicy": policy, "containers": [container]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "z"}, status]}});
        state(&pod, &container)
    }

    fn ended(code: i64, reason: &str) -> Value {
        json!({"state": {"terminated": {"exitCode": code, "reason": reason}}})
    }

    #[test]
    fn a_container_waits_for_a_reason() {
        let waiting = json!({"state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off"}}});
        assert_eq!(of("Never", waiting), AdapterState::Waiting { why: Some("ImagePullBackOff: Back-off".into()) });
        assert_eq!(of("Never", json!({"state": {"waiting": {}}})), AdapterState::Waiting { why: None });
        assert_eq!(of("Never", json!({"state": {"running": {}}})), AdapterState::Running);
        assert_eq!(of("Never", json!({"state": {}})), AdapterState::Unknown);
        assert_eq!(of("Never", json!({"state": 7, "restartCount": "x"})), AdapterState::Unknown);
    }

    #[test]
    fn an_end_is_final_unless_it_is_started_again() {
        let bad = Exit { code: 1, reason: Some("Error".into()) };
        assert_eq!(of("Never", ended(1, "Error")), AdapterState::Ended(bad.clone()));
        assert_eq!(of("OnFailure", ended(1, "Error")), AdapterState::Restarting { restarts: 0, last: bad.clone() });
        assert!(matches!(of("OnFailure", ended(0, "Completed")), AdapterState::Ended(exit) if exit.code == 0));
        let again = json!({"restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}});
        assert_eq!(of("OnFailure", again), AdapterState::Restarting { restarts: 3, last: bad });
        assert!(matches!(of("", json!({"state": {"terminated": {}}})), AdapterState::Ended(exit) if exit.code == -1));
    }

    #[test]
    fn a_containers_own_policy_wins() {
        let container = json!({"name": "a", "restartPolicy": "OnFailure"});
        let pod = json!({"spec": {"restartPolicy": "Never", "containers": [container]},
            "status": {"containerStatuses": [{"name": "a", "state": {"terminated": {"exitCode": 2}}}]}});
        assert!(matches!(state(&pod, &container), AdapterState::Restarting { .. }));
        let mut over = pod;
        over["status"]["phase"] = json!("Failed");
        assert!(matches!(state(&over, &container), AdapterState::Ended(exit) if exit.word() == "Error"));
    }
}
