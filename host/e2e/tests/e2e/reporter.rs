//! Tests of the Job status reporter: the files in `deploy/job-reporter`, with an adapter of
//! configurable behavior.

use std::fs;
use std::path::Path;

use k8s_openapi::api::batch::v1::{Job, JobCondition};
use k8s_openapi::api::core::v1::{Event, Node, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope, serde::Serialize, serde::de::DeserializeOwned};
use kube::api::{DeleteParams, EvictParams, ListParams, PostParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use crate::bed::{Bed, phase};
use crate::nodes::is_ready;
use crate::place::NodeAccess;
use crate::settings::loudly;

/// Returns the documents of a file, with its placeholders filled in.
fn documents(bed: &Bed, name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/job-reporter").join(name);
    let text = fs::read_to_string(path).unwrap();
    let text = text.replace("<namespace>", bed.namespace()).replace("<status-reporter-image>", bed.image());
    let read = |document: &str| serde_saphyr::from_str::<Value>(document).unwrap();
    text.split("\n---\n").map(read).filter(|document| !document.is_null()).collect()
}

fn create<K>(bed: &Bed, object: Value)
where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()> + DeserializeOwned + Serialize + Clone,
    K: std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    bed.ask(bed.api::<K>().create(&PostParams::default(), &object));
}

fn create_in_cluster<K>(bed: &Bed, object: Value)
where
    K: kube::Resource<Scope = ClusterResourceScope, DynamicType = ()> + DeserializeOwned + Serialize + Clone,
    K: std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    bed.ask(bed.cluster_api::<K>().create(&PostParams::default(), &object));
}

fn apply(bed: &Bed, file: &str) {
    for mut object in documents(bed, file) {
        // By this label, the test removes what is not in its namespace.
        object["metadata"]["labels"] = json!({"namespace": bed.namespace()});
        match object["kind"].as_str() {
            Some("ServiceAccount") => create::<ServiceAccount>(bed, object),
            Some("Role") => create::<Role>(bed, object),
            Some("RoleBinding") => create::<RoleBinding>(bed, object),
            Some("ClusterRole") => create_in_cluster::<ClusterRole>(bed, object),
            Some("ClusterRoleBinding") => create_in_cluster::<ClusterRoleBinding>(bed, object),
            other => panic!("{other:?}"),
        }
    }
}

/// Starts the Job of `job.yaml` with another name, adapter and some other variables.
fn start(bed: &Bed, name: &str, adapter: &[&str], variables: &[(&str, &str)]) {
    start_as(bed, name, adapter, variables, |_| {});
}

/// The same, with a Job that `change` has changed.
fn start_as(bed: &Bed, name: &str, adapter: &[&str], variables: &[(&str, &str)], change: impl FnOnce(&mut Value)) {
    let mut job = documents(bed, "job.yaml").remove(0);
    job["metadata"]["name"] = json!(name);
    let containers = &mut job["spec"]["template"]["spec"]["containers"];
    containers[0]["image"] = json!(bed.image());
    containers[0]["command"] = json!(["/plumbline-dev", "plugin", "--results-dir=/results"]);
    containers[0]["args"] = json!(adapter);
    if adapter.contains(&"--outcome=oom") {
        containers[0]["resources"] = json!({"limits": {"memory": "64Mi"}});
    }
    let env = containers[1]["env"].as_array_mut().unwrap();
    for (name, value) in [&[("JOB_NAME", name), ("LOG_LEVEL", "debug")], variables].concat() {
        env.retain(|variable| variable["name"] != name);
        env.push(json!({"name": name, "value": value}));
    }
    change(&mut job);
    create::<Job>(bed, job);
}

/// Waits until both containers of the Job's pod are running. Returns the name of the pod.
fn running(bed: &Bed, job: &str) -> String {
    let active = |job: Option<&Job>| job.is_some_and(|job| job.status.as_ref().is_some_and(|s| s.active == Some(1)));
    bed.ask(await_condition(bed.api::<Job>(), job, active));
    let name = pods(bed, job).remove(0).metadata.name.unwrap();
    bed.wait_for_pod(&name, |pod| {
        let status = pod.status.as_ref().and_then(|status| status.container_statuses.clone()).unwrap_or_default();
        status.len() == 2 && status.iter().all(|one| one.state.as_ref().is_some_and(|state| state.running.is_some()))
    });
    name
}

fn available(job: &Job) -> Option<JobCondition> {
    let conditions = job.status.as_ref()?.conditions.clone()?;
    conditions.into_iter().find(|condition| condition.type_ == "Available")
}

/// Waits for the condition. Returns its status, reason and message.
#[track_caller]
fn condition(bed: &Bed, name: &str) -> (String, String, String) {
    let there = |job: Option<&Job>| job.is_some_and(|job| available(job).is_some());
    let job = bed.ask(await_condition(bed.api::<Job>(), name, there)).unwrap();
    let condition = available(&job).unwrap();
    assert!(condition.last_transition_time.is_some() && condition.last_probe_time.is_some(), "{condition:?}");
    (condition.status, condition.reason.unwrap(), condition.message.unwrap())
}

fn pods(bed: &Bed, job: &str) -> Vec<Pod> {
    bed.ask(bed.api::<Pod>().list(&ListParams::default().labels(&format!("job-name={job}")))).items
}

/// An outcome of an adapter.
struct Way {
    name: &'static str,
    adapter: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
    /// The expected status, reason and message.
    expected: [&'static str; 3],
}

#[test]
fn six_ways_to_end_become_six_conditions() {
    let Some(bed) = Bed::new("reporter") else { return };
    bed.create_namespace();
    apply(&bed, "rbac.yaml");
    let way = |name: &'static str, adapter: &'static [&'static str], expected: [&'static str; 3]| Way {
        name,
        adapter,
        variables: &[],
        expected,
    };
    let ways = [
        way(
            "success",
            &["--adapter-result=success", "--after=1s"],
            ["True", "ConfiguredToSucceed", "test-plugin is configured to succeed"],
        ),
        way(
            "failure",
            &["--adapter-result=failure"],
            ["False", "ConfiguredToFail", "test-plugin is configured to fail"],
        ),
        Way {
            variables: &[("MAX_WAIT_TIME_SECONDS", "8")],
            ..way(
                "timeout",
                &["--outcome=hang"],
                ["False", "AdapterTimeout", "Adapter did not produce results within 8s"],
            )
        },
        way(
            "crash",
            &["--outcome=crash", "--exit=3"],
            ["False", "AdapterExitedWithError", "Adapter container exited with code 3: Error"],
        ),
        way(
            "oom",
            &["--outcome=oom"],
            ["False", "AdapterOOMKilled", "Adapter container was killed due to out of memory (OOMKilled)"],
        ),
        way(
            "invalid",
            &["--adapter-result=invalid", "--stay"],
            [
                "False",
                "InvalidResultFormat",
                "Failed to parse adapter result: status: must be either 'success' or 'failure'",
            ],
        ),
    ];
    for way in &ways {
        start(&bed, way.name, way.adapter, way.variables);
    }
    for way in &ways {
        let (status, reason, message) = condition(&bed, way.name);
        assert_eq!([status.as_str(), &reason, &message], way.expected, "{}", way.name);
    }
    // A Job is complete when its adapter has exited with 0 and the result is reported, whatever the
    // result is.
    for name in ["success", "failure"] {
        let pod = pods(&bed, name).remove(0).metadata.name.unwrap();
        let pod = bed.wait_for_pod(&pod, |pod| ["Succeeded", "Failed"].contains(&phase(pod)));
        assert_eq!(phase(&pod), "Succeeded", "{name}");
    }
}

#[test]
fn a_pod_that_is_deleted_is_reported_on_its_way_out() {
    let Some(bed) = Bed::new("reporter-deleted") else { return };
    bed.create_namespace();
    apply(&bed, "rbac.yaml");
    start(&bed, "deleted", &["--outcome=hang"], &[]);
    let name = running(&bed, "deleted");
    bed.ask(bed.api::<Pod>().delete(&name, &DeleteParams::default()));
    let (status, reason, message) = condition(&bed, "deleted");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "PodDeleted"), "{message}");
}

#[test]
fn a_pod_that_is_evicted_is_reported_on_its_way_out() {
    let Some(bed) = Bed::new("reporter-evicted") else { return };
    bed.create_namespace();
    apply(&bed, "rbac.yaml");
    start(&bed, "evicted", &["--outcome=hang"], &[]);
    let name = running(&bed, "evicted");
    bed.ask(bed.api::<Pod>().evict(&name, &EvictParams::default()));
    let (status, reason, message) = condition(&bed, "evicted");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "AdapterEvicted"), "{message}");
}

#[test]
fn a_pod_that_its_kubelet_evicts_is_reported_in_its_last_second() {
    let Some(bed) = Bed::new("reporter-full") else { return };
    bed.create_namespace();
    apply(&bed, "rbac.yaml");
    // The kubelet notices within 10 s that the volume has outgrown its limit.
    start_as(&bed, "full", &["--bytes=8MiB", "--stay"], &[], |job| {
        job["spec"]["template"]["spec"]["volumes"][0]["emptyDir"] = json!({"sizeLimit": "1Mi"});
    });
    let (status, reason, message) = condition(&bed, "full");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ReporterTerminated"), "{message}");
    let pod = pods(&bed, "full").remove(0).metadata.name.unwrap();
    let pod = bed.wait_for_pod(&pod, |pod| phase(pod) == "Failed");
    assert_eq!(pod.status.unwrap().reason.as_deref(), Some("Evicted"));
}

#[test]
fn a_node_that_shuts_down_is_the_reason() {
    let Some(bed) = Bed::alone("reporter-shutdown") else { return };
    let Some(places) = NodeAccess::of(&bed, "reporter-shutdown") else { return };
    if bed.nodes().len() < 2 {
        loudly("SKIPPED reporter-shutdown: it needs two nodes");
        return;
    }
    bed.create_namespace();
    apply(&bed, "rbac.yaml");
    apply(&bed, "rbac-optional.yaml");
    let node = bed.nodes().remove(1);
    start_as(&bed, "shutdown", &["--outcome=hang"], &[], |job| {
        job["spec"]["template"]["spec"]["nodeName"] = json!(node);
    });
    running(&bed, "shutdown");
    let shutdown = places.shut_down(2);
    let (status, reason, message) = condition(&bed, "shutdown");
    drop(shutdown);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "NodeShutdown"), "{message}");
    bed.ask(await_condition(bed.cluster_api::<Node>(), &node, is_ready));
}

#[test]
fn with_more_permissions_there_are_details_and_an_event() {
    let Some(bed) = Bed::new("reporter-more") else { return };
    bed.create_namespace();
    apply(&bed, "rbac.yaml");
    apply(&bed, "rbac-optional.yaml");
    start(&bed, "more", &["--adapter-result=failure"], &[("DETAILS_TO", "annotation")]);
    assert_eq!(condition(&bed, "more").1, "ConfiguredToFail");
    // The annotation is in the same write as the condition, which needs no permission on Jobs
    // themselves.
    let job = bed.ask(bed.api::<Job>().get("more"));
    let annotations = job.metadata.annotations.unwrap_or_default();
    assert_eq!(annotations["plumbline.dev/adapter-details"], r#"{"checks_run": 5}"#);
    let about = "involvedObject.kind=Job,involvedObject.name=more,reason=ConfiguredToFail";
    // The event follows the condition a moment later. It exists when the pod has ended.
    let pod = pods(&bed, "more").remove(0).metadata.name.unwrap();
    bed.wait_for_pod(&pod, |pod| phase(pod) == "Succeeded");
    let events = bed.ask(bed.api::<Event>().list(&ListParams::default().fields(about))).items;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].type_.as_deref(), Some("Warning"));
}
