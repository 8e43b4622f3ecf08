//! What a pod says about the adapter in it. Pure functions of the pod's JSON.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::result::clipped;

/// The usual name of the reporter's container.
const USUAL_NAME: &str = "status-reporter";
/// Names of this program.
const PROGRAMS: [&str; 2] = ["plumbline", "sonobuoy"];
/// The reporter's command.
const COMMAND: &str = "report";
/// Environment variables that every reporter needs.
const VARIABLES: [&str; 3] = ["JOB_NAME", "JOB_NAMESPACE", "POD_NAME"];

/// Maximum length in characters of a text from a pod's status. Several such texts are combined in
/// one message.
const MAX_TEXT: usize = 300;

/// The configured container names. Without them, containers are detected by their content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Naming {
    pub(crate) adapter: Option<String>,
    pub(crate) reporter: Option<String>,
}

impl Naming {
    /// Returns the adapter's container: the configured one, or else the first that is not the
    /// reporter.
    fn adapter<'a>(&self, pod: &'a Value) -> Option<&'a Value> {
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
    /// Whether the pod is being deleted, so that its containers end within the grace period.
    pub deleted: bool,
    /// The grace period of the pod's containers.
    pub grace: Option<Duration>,
    /// The UID of the Job that owns the pod.
    pub job_uid: Option<String>,
    /// The UID of the pod.
    pub uid: Option<String>,
    /// When the pod was created.
    pub created: Option<Timestamp>,
    /// When the kubelet accepted the pod, before it started any container. This is a time of the node.
    pub started: Option<Timestamp>,
    /// Why the pod is not scheduled.
    pub unscheduled: Option<String>,
    /// The node of the pod.
    pub node: Option<String>,
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
    pub fn is_final(&self) -> bool {
        self.over
            || matches!(self.state, AdapterState::Ended(_))
            || matches!(self.fate, Some(Disruption::InitFailed { .. }))
    }
}

/// Parses a pod. Missing fields and fields of the wrong type are ignored.
pub(crate) fn look(pod: &Value, naming: &Naming, job: &str) -> PodLook {
    let container = naming.adapter(pod);
    let seconds = |path: &str| pod.pointer(path).and_then(Value::as_u64).map(Duration::from_secs);
    PodLook {
        adapter: container.map(|container| text(container, "/name").to_owned()),
        state: container.map(|container| state(pod, container)).unwrap_or_default(),
        fate: fate(pod),
        over: matches!(text(pod, "/status/phase"), "Succeeded" | "Failed"),
        deleted: optional_text(pod, "/metadata/deletionTimestamp").is_some(),
        grace: seconds("/metadata/deletionGracePeriodSeconds").or(seconds("/spec/terminationGracePeriodSeconds")),
        job_uid: owner(pod, job),
        uid: optional_text(pod, "/metadata/uid"),
        created: optional_text(pod, "/metadata/creationTimestamp").and_then(|time| time.parse().ok()),
        started: optional_text(pod, "/status/startTime").and_then(|time| time.parse().ok()),
        unscheduled: unscheduled(pod),
        node: optional_text(pod, "/spec/nodeName"),
    }
}

/// Returns true if a kubelet shuts down its node gracefully. It says so in the node's condition
/// `Ready` as soon as it begins, and in its pods only after their containers have ended.
pub(crate) fn is_shutting_down(node: &Value) -> bool {
    let ready = list(node, "/status/conditions").iter().find(|condition| text(condition, "/type") == "Ready");
    ready.is_some_and(|ready| text(ready, "/status") == "False" && text(ready, "/message").contains("shutting down"))
}

fn owner(pod: &Value, job: &str) -> Option<String> {
    let owners = list(pod, "/metadata/ownerReferences").iter();
    let mut ours = owners.filter(|owner| text(owner, "/kind") == "Job" && text(owner, "/name") == job);
    ours.find_map(|owner| optional_text(owner, "/uid"))
}

fn unscheduled(pod: &Value) -> Option<String> {
    let condition = list(pod, "/status/conditions")
        .iter()
        .find(|condition| text(condition, "/type") == "PodScheduled" && text(condition, "/status") == "False")?;
    optional_text(condition, "/message").or_else(|| optional_text(condition, "/reason"))
}

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
    pub fn is_out_of_memory(&self) -> bool {
        self.reason.as_deref() == Some("OOMKilled")
    }

    /// Returns true if the container ended because of SIGTERM or SIGKILL.
    pub fn is_by_signal(&self) -> bool {
        matches!(self.code, 137 | 143)
    }

    /// Returns the reason, or else the kubelet's default reason for the exit code.
    pub fn word(&self) -> &str {
        let usual = if self.code == 0 { "Completed" } else { "Error" };
        self.reason.as_deref().unwrap_or(usual)
    }

    fn of(terminated: &Value) -> Self {
        Self {
            // Without an exit code, success cannot be assumed.
            code: terminated.get("exitCode").and_then(Value::as_i64).unwrap_or(-1),
            reason: optional_text(terminated, "/reason"),
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
        // Only the kubelet knows which rules restart a container despite the policy.
        "Never" => exit.code != 0 && !rules.is_empty(),
        "OnFailure" => exit.code != 0,
        // Without a policy, nothing is known. A Job's pod never has `Always`.
        "Always" => true,
        _ => false,
    }
}

/// Returns the state of `container`, which is an element of the `spec`.
fn state(pod: &Value, container: &Value) -> AdapterState {
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
            let why = match (optional_text(waiting, "/reason"), optional_text(waiting, "/message")) {
                (Some(reason), Some(message)) => Some(format!("{reason}: {message}")),
                (reason, message) => reason.or(message),
            };
            AdapterState::Waiting { why }
        }
        None => AdapterState::Unknown,
    }
}

/// An intervention in a pod, or its failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disruption {
    /// It was evicted because of its node's resources, a taint, or an eviction request.
    Evicted {
        /// The message of the cluster.
        why: Option<String>,
    },
    /// It was preempted by a pod with higher priority.
    Preempted {
        /// The message of the cluster.
        why: Option<String>,
    },
    /// Its node is shut down.
    NodeShutdown {
        /// The message of the cluster.
        why: Option<String>,
    },
    /// An init container failed, so the adapter is not started.
    InitFailed {
        /// The init container.
        container: String,
        /// How it ended.
        exit: Exit,
    },
    /// It is being deleted.
    Deleted,
    /// It failed for another reason, such as `DeadlineExceeded` or `UnexpectedAdmissionError`.
    Failed {
        /// The message of the cluster.
        why: String,
    },
}

/// Returns what happens to a pod, or `None` if it just runs.
fn fate(pod: &Value) -> Option<Disruption> {
    by_status(pod)
        .or_else(|| by_condition(pod))
        .or_else(|| init_failed(pod))
        .or_else(|| (!text(pod, "/metadata/deletionTimestamp").is_empty()).then_some(Disruption::Deleted))
        .or_else(|| failed(pod))
}

/// Reads the pod's status, in which the kubelet writes why it terminates the pod.
fn by_status(pod: &Value) -> Option<Disruption> {
    let why = optional_text(pod, "/status/message");
    match text(pod, "/status/reason") {
        "Evicted" => Some(Disruption::Evicted { why }),
        "Preempting" | "Preempted" => Some(Disruption::Preempted { why }),
        "NodeShutdown" | "Shutdown" | "Terminated" => Some(Disruption::NodeShutdown { why }),
        _ => None,
    }
}

/// Reads the pod's condition `DisruptionTarget` (Kubernetes 1.26).
fn by_condition(pod: &Value) -> Option<Disruption> {
    let is_it =
        |condition: &&Value| text(condition, "/type") == "DisruptionTarget" && text(condition, "/status") == "True";
    let condition = list(pod, "/status/conditions").iter().find(is_it)?;
    let why = optional_text(condition, "/message");
    match text(condition, "/reason") {
        "PreemptionByScheduler" => Some(Disruption::Preempted { why }),
        "TerminationByKubelet" if why.as_deref().is_some_and(|why| why.contains("shutdown")) => {
            Some(Disruption::NodeShutdown { why })
        }
        _ => Some(Disruption::Evicted { why }),
    }
}

/// Finds the failed init container of a pod that is not retried, except sidecars.
fn init_failed(pod: &Value) -> Option<Disruption> {
    let may_try_again = text(pod, "/spec/restartPolicy") != "Never" && text(pod, "/status/phase") != "Failed";
    if may_try_again {
        return None;
    }
    let sidecar = |name: &str| {
        let spec = list(pod, "/spec/initContainers").iter().find(|container| text(container, "/name") == name);
        spec.is_some_and(|container| text(container, "/restartPolicy") == "Always")
    };
    list(pod, "/status/initContainerStatuses").iter().find_map(|status| {
        let name = text(status, "/name");
        let exit = Exit::of(status.pointer("/state/terminated").filter(|ended| ended.is_object())?);
        (exit.code != 0 && !sidecar(name)).then(|| Disruption::InitFailed { container: name.to_owned(), exit })
    })
}

fn failed(pod: &Value) -> Option<Disruption> {
    if text(pod, "/status/phase") != "Failed" {
        return None;
    }
    let reason = optional_text(pod, "/status/reason")?;
    let why = match optional_text(pod, "/status/message") {
        Some(message) => format!("{reason}: {message}"),
        None => reason,
    };
    Some(Disruption::Failed { why })
}

/// Returns a string in an object, or an empty string if it is missing or has another type.
fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a string for a message, or `None` if it is missing or blank.
fn optional_text(value: &Value, path: &str) -> Option<String> {
    Some(clipped(text(value, path), MAX_TEXT)).filter(|text| !text.is_empty())
}

/// Returns the elements of a list, or none if it is missing or has another type.
fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    value.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
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
        let named = Naming { reporter: Some("r".into()), adapter: None };
        let containers = json!([{"name": "r"}, {"name": "a", "command": ["/plumbline", "report"]}]);
        assert_eq!(adapter(&named, containers, Value::Null).as_deref(), Some("a"));
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

    #[test]
    fn a_pod_is_read_completely() {
        let pod = json!({
            "metadata": {"uid": "u", "deletionGracePeriodSeconds": 7, "deletionTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [{"kind": "ReplicaSet", "name": "j", "uid": "r"}, {"kind": "Job", "name": "j", "uid": "ju"}]},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 30,
                "containers": [{"name": "a"}, {"name": "status-reporter"}]},
            "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z",
                "containerStatuses": [{"name": "a", "state": {"running": {}}}]},
        });
        let seen = look(&pod, &Naming::default(), "j");
        assert_eq!(seen.started, "2026-01-01T00:00:00Z".parse().ok());
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
    fn a_finished_pod_is_final_regardless_of_its_containers() {
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

    fn by_reason(reason: &str) -> Option<Disruption> {
        fate(&json!({"status": {"phase": "Failed", "reason": reason, "message": "m"}}))
    }

    fn disrupted(reason: &str, message: &str) -> Option<Disruption> {
        let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message});
        fate(&json!({"status": {"conditions": [{"type": "Ready"}, condition]}}))
    }

    #[test]
    fn pods_that_the_kubelet_ended_are_recognized_by_their_reason() {
        let why = Some("m".to_owned());
        assert_eq!(by_reason("Evicted"), Some(Disruption::Evicted { why: why.clone() }));
        assert_eq!(by_reason("Preempting"), Some(Disruption::Preempted { why: why.clone() }));
        assert_eq!(by_reason("NodeShutdown"), Some(Disruption::NodeShutdown { why: why.clone() }));
        assert_eq!(by_reason("Terminated"), Some(Disruption::NodeShutdown { why }));
        assert_eq!(by_reason("DeadlineExceeded"), Some(Disruption::Failed { why: "DeadlineExceeded: m".into() }));
    }

    #[test]
    fn a_disruption_is_recognized_by_its_condition() {
        assert!(matches!(disrupted("EvictionByEvictionAPI", "m"), Some(Disruption::Evicted { .. })));
        assert!(matches!(disrupted("DeletionByTaintManager", ""), Some(Disruption::Evicted { why: None })));
        assert!(matches!(disrupted("PreemptionByScheduler", "m"), Some(Disruption::Preempted { .. })));
        let message = "Pod was terminated in response to imminent node shutdown.";
        assert!(matches!(disrupted("TerminationByKubelet", message), Some(Disruption::NodeShutdown { .. })));
    }

    #[test]
    fn a_failed_init_container_keeps_the_adapter_from_starting() {
        let mut pod = json!({
            "spec": {"restartPolicy": "Never", "initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]},
            "status": {"initContainerStatuses": [
                {"name": "s", "state": {"terminated": {"exitCode": 1}}},
                {"name": "i", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}},
            ]},
        });
        let exit = Exit { code: 3, reason: Some("Error".into()) };
        assert_eq!(fate(&pod), Some(Disruption::InitFailed { container: "i".into(), exit }));
        pod["spec"]["restartPolicy"] = json!("OnFailure");
        assert_eq!(fate(&pod), None);
    }

    #[test]
    fn a_pod_on_its_way_out_is_deleted_and_any_other_has_no_fate() {
        assert_eq!(
            fate(&json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})),
            Some(Disruption::Deleted)
        );
        for pod in [json!({}), json!({"status": {"phase": "Running"}}), json!({"status": {"phase": "Failed"}})] {
            assert_eq!(fate(&pod), None);
        }
    }
}
