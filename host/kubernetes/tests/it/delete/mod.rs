//! Deletes a run, and nothing else.

use std::time::Duration;

use plumbline_dev::{ApiDouble, Fault, FaultKind};
use plumbline_kubernetes::delete::{Blocker, DeleteOptions, Plan, plan, remove, wait};
use plumbline_kubernetes::{Cluster, ClusterError, names, plugin_pods};
use serde_json::{Value, json};

use crate::cluster;

const NAMESPACE: &str = "ns";
const LOOK: Duration = Duration::from_millis(10);

struct Bed {
    double: ApiDouble,
    cluster: Cluster,
}

impl Bed {
    /// Creates a namespace with `labels`, and a run in it.
    async fn new(labels: Value) -> Self {
        let double = ApiDouble::start().await.unwrap();
        let bed = Self { cluster: cluster(&double).await, double };
        bed.double.put("namespaces", json!({"metadata": {"name": NAMESPACE, "labels": labels}}));
        for (name, role) in
            [("sonobuoy", "aggregator"), ("sonobuoy-e2e-job-1", "plugin"), ("sonobuoy-x-job-2", "plugin")]
        {
            let plugin = if name.contains("e2e") { "e2e" } else { "x" };
            bed.put(
                "pods",
                name,
                json!({"component": "sonobuoy", "sonobuoy-component": role, "sonobuoy-plugin": plugin}),
            );
        }
        bed.put("configmaps", "sonobuoy-config-cm", json!({"component": "sonobuoy"}));
        bed.put("configmaps", "kube-root-ca.crt", json!({}));
        bed.put("serviceaccounts", "default", json!({}));
        bed.put("services", "sonobuoy-aggregator", json!({"component": "sonobuoy"}));
        for run in [NAMESPACE, "other"] {
            for resource in ["clusterroles", "clusterrolebindings"] {
                let mut object = json!({"metadata": {
                    "name": format!("sonobuoy-serviceaccount-{run}"),
                    "labels": {"component": "sonobuoy", "namespace": run},
                }});
                if resource == "clusterrolebindings" {
                    object["roleRef"] =
                        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"});
                }
                bed.double.put(resource, object);
            }
        }
        bed.double.put("clusterroles", json!({"metadata": {"name": "admin"}}));
        bed
    }

    fn put(&self, resource: &str, name: &str, labels: Value) {
        let mut object = json!({"metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}});
        if resource == "pods" {
            object["spec"] = json!({"containers": [{"name": "c", "image": "x"}]});
        }
        self.double.put(resource, object);
    }

    async fn plan(&self, all: bool) -> Plan {
        let options = DeleteOptions { namespace: NAMESPACE.into(), all, rbac: true };
        plan(&self.cluster, &options).await.unwrap()
    }

    async fn remove(&self, plan: &Plan) -> Vec<ClusterError> {
        remove(&self.cluster, plan, &mut |_| {}).await
    }

    async fn wait(&self, plan: &Plan) -> Vec<String> {
        let limit = Some(Duration::from_secs(20));
        let left = wait(&self.cluster, plan, limit, LOOK, &mut |_| {}).await.unwrap();
        left.iter().map(ToString::to_string).collect()
    }

    fn has(&self, resource: &str, name: &str) -> bool {
        let namespace = if resource.starts_with("cluster") || resource == "namespaces" { "" } else { NAMESPACE };
        self.double.get(resource, namespace, name).is_some()
    }
}

fn owned() -> Value {
    json!({names::OWNED_LABEL: "true", "pod-security.kubernetes.io/enforce": "privileged"})
}

fn objects(plan: &Plan) -> Vec<String> {
    plan.objects.iter().map(ToString::to_string).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_the_run_made_goes_with_everything_in_it() {
    let bed = Bed::new(owned()).await;
    bed.put("deployments", "visitor", json!({}));
    let plan = bed.plan(false).await;
    assert_eq!(
        objects(&plan),
        [
            "namespace `ns`",
            "cluster role binding `sonobuoy-serviceaccount-ns`",
            "cluster role `sonobuoy-serviceaccount-ns`"
        ]
    );
    assert_eq!(plan.contents.join(", "), "3 pods, 1 service, 2 config maps, 1 service account, 1 deployment");
    assert_eq!(plan.foreign, ["deployment `visitor`"]);
    assert!(bed.remove(&plan).await.is_empty());
    assert!(bed.wait(&plan).await.is_empty());
    assert!(!bed.has("namespaces", NAMESPACE) && !bed.has("clusterroles", "sonobuoy-serviceaccount-ns"));
    assert!(bed.has("clusterroles", "sonobuoy-serviceaccount-other") && bed.has("clusterroles", "admin"));

    let again = bed.plan(false).await;
    assert!(again.objects.is_empty() && again.problems.is_empty(), "{again:?}");
    assert!(bed.remove(&again).await.is_empty() && bed.wait(&again).await.is_empty());
    // The objects of the plan are already gone.
    assert!(bed.remove(&plan).await.is_empty() && bed.wait(&plan).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_namespace_of_others_only_the_run_goes() {
    let bed = Bed::new(json!({})).await;
    bed.put("pods", "theirs", json!({"app": "theirs"}));
    bed.put("secrets", "password", json!({}));
    let plan = bed.plan(false).await;
    assert!(plan.notes[0].contains("namespace `ns` is kept"), "{:?}", plan.notes);
    assert!(bed.remove(&plan).await.is_empty() && bed.wait(&plan).await.is_empty());
    assert!(bed.has("namespaces", NAMESPACE) && bed.has("pods", "theirs") && bed.has("secrets", "password"));
    assert!(bed.has("configmaps", "kube-root-ca.crt") && bed.has("serviceaccounts", "default"));
    assert!(!bed.has("pods", "sonobuoy") && !bed.has("services", "sonobuoy-aggregator"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_namespace_of_sonobuoy_goes_unless_somebody_else_is_in_it() {
    let bed = Bed::new(json!({"pod-security.kubernetes.io/enforce": "privileged"})).await;
    assert_eq!(objects(&bed.plan(false).await)[0], "namespace `ns`");
    bed.put("jobs", "theirs", json!({}));
    let plan = bed.plan(false).await;
    assert!(plan.notes[0].contains("job `theirs`"), "{:?}", plan.notes);
    assert!(!objects(&plan).contains(&"namespace `ns`".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn blockers_are_reported_until_they_are_gone() {
    let bed = Bed::new(owned()).await;
    bed.double.put("configmaps", json!({"metadata": {
        "name": "held", "namespace": NAMESPACE, "finalizers": ["example.com/hold"], "labels": {"component": "sonobuoy"},
    }}));
    let plan = bed.plan(false).await;
    assert!(bed.remove(&plan).await.is_empty());
    let limit = Some(Duration::from_millis(30));
    let left = wait(&bed.cluster, &plan, limit, LOOK, &mut |_| {}).await.unwrap();
    let left: Vec<_> = left.iter().map(ToString::to_string).collect();
    let blocker = "config map `held` in namespace `ns`: waits for finalizer `example.com/hold`, to be removed by the controllers that set them";
    assert!(left.iter().any(|line| line == blocker), "{left:?}");

    let again = bed.plan(false).await;
    assert!(again.objects[0].terminating);
    assert!(bed.remove(&again).await.is_empty(), "a repeated delete is not an error");
    let double = bed.double.clone();
    let mut calls = 0;
    let mut tell = |_: &[Blocker]| {
        calls += 1;
        double.update("configmaps", NAMESPACE, "held", |object| object["metadata"]["finalizers"] = json!([]));
    };
    let left = wait(&bed.cluster, &again, Some(Duration::from_secs(20)), LOOK, &mut tell).await;
    assert!(left.unwrap().is_empty());
    assert!(calls > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_may_not_be_deleted_does_not_keep_the_rest() {
    let bed = Bed::new(owned()).await;
    let plan = bed.plan(false).await;
    let kind = FaultKind::Status { code: 403, message: "namespaces \"ns\" is forbidden".into(), retry_after: None };
    bed.double.fault(Fault { method: Some("DELETE"), path_contains: "/namespaces/ns".into(), kind, times: 1 });
    let failed = bed.remove(&plan).await;
    assert_eq!(failed.len(), 1);
    assert!(failed[0].is_forbidden() && failed[0].to_string().contains("delete namespace `ns`"), "{}", failed[0]);
    assert!(bed.has("namespaces", NAMESPACE) && !bed.has("clusterroles", "sonobuoy-serviceaccount-ns"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_may_not_be_listed_is_a_problem() {
    let bed = Bed::new(owned()).await;
    let kind = FaultKind::Status { code: 403, message: "cannot list clusterroles".into(), retry_after: None };
    bed.double.fault(Fault { method: Some("GET"), path_contains: "/clusterroles".into(), kind, times: 1 });
    let plan = bed.plan(false).await;
    assert_eq!(plan.problems.len(), 1, "{:?}", plan.problems);
    assert!(plan.notes.iter().any(|note| note.contains("--rbac disable")));
}

#[tokio::test(flavor = "multi_thread")]
async fn more_objects_than_are_listed_are_a_problem() {
    let bed = Bed::new(json!({})).await;
    for n in 0..20_000 {
        bed.put("configmaps", &format!("x-{n:05}"), json!({"component": "sonobuoy"}));
    }
    let plan = bed.plan(false).await;
    // The ConfigMaps of the bed come first, and the last ones are left out.
    let maps = objects(&plan).into_iter().filter(|object| object.starts_with("config map `x-")).count();
    assert_eq!(maps, 20_000 - 2);
    let problems: Vec<_> = plan.problems.iter().map(ToString::to_string).collect();
    let want = "failed to list every config map in namespace `ns`: there are more than 20000, so objects may remain";
    assert_eq!(problems, [want]);

    for n in 0..2 {
        bed.double.remove("configmaps", NAMESPACE, &format!("x-{n:05}"));
    }
    assert!(bed.plan(false).await.problems.is_empty(), "exactly as many as are listed");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_takes_other_runs_roles_and_leftovers_of_tests() {
    let bed = Bed::new(owned()).await;
    bed.double
        .put("namespaces", json!({"metadata": {"name": "e2e-1", "labels": {"e2e-framework": "x", "e2e-run": "y"}}}));
    bed.double.put("namespaces", json!({"metadata": {"name": "e2e-2", "labels": {"e2e-framework": "x"}}}));
    let plan = bed.plan(true).await;
    let objects = objects(&plan);
    assert!(objects.contains(&"cluster role `sonobuoy-serviceaccount-other`".to_owned()), "{objects:?}");
    assert!(objects.contains(&"namespace `e2e-1`".to_owned()) && !objects.contains(&"namespace `e2e-2`".to_owned()));
    assert!(!objects.contains(&"cluster role `admin`".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_of_plugins_are_named() {
    let bed = Bed::new(json!({})).await;
    assert_eq!(plugin_pods(&bed.cluster, NAMESPACE, None).await.unwrap(), ["sonobuoy-e2e-job-1", "sonobuoy-x-job-2"]);
    assert_eq!(plugin_pods(&bed.cluster, NAMESPACE, Some("e2e")).await.unwrap(), ["sonobuoy-e2e-job-1"]);
    assert!(plugin_pods(&bed.cluster, "elsewhere", None).await.unwrap().is_empty());
}
