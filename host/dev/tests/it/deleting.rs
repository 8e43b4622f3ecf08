//! Tests of deletion.

use k8s_openapi::api::{
    apps::v1::DaemonSet,
    batch::v1::Job,
    core::v1::{Namespace, Pod},
};
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions},
};
use serde_json::json;

use crate::harness::{pod, refusal, start};

#[tokio::test]
async fn one_or_many_are_deleted() {
    let (double, client) = start().await;
    for name in ["a", "b", "c"] {
        double.put("pods", pod(name));
    }
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let last = pods.delete("a", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert_eq!(last.metadata.name.as_deref(), Some("a"));
    assert_eq!(refusal(pods.delete("a", &DeleteParams::default()).await), (404, "NotFound".into()));

    let other = Preconditions { uid: Some("other".into()), resource_version: None };
    let refused = pods.delete("b", &DeleteParams::default().preconditions(other)).await;
    assert_eq!(refusal(refused), (409, "Conflict".into()));

    let chosen = ListParams::default().labels("app=b");
    let gone = pods.delete_collection(&DeleteParams::default(), &chosen).await.unwrap().left().unwrap();
    assert_eq!(gone.items.len(), 1);
    assert_eq!(double.list("pods").len(), 1);
}

#[tokio::test]
async fn a_finalizer_holds_an_object_until_it_is_taken_away() {
    let (double, client) = start().await;
    let mut held = pod("p");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    double.put("pods", held);
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let marked = pods.delete("p", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert!(marked.metadata.deletion_timestamp.is_some());
    assert!(pods.get_opt("p").await.unwrap().is_some());
    let free = Patch::Merge(json!({"metadata": {"finalizers": []}}));
    pods.patch("p", &PatchParams::default(), &free).await.unwrap();
    assert!(pods.get_opt("p").await.unwrap().is_none());
}

#[tokio::test]
async fn a_namespace_goes_with_what_is_inside_and_takes_nothing_new() {
    let (double, client) = start().await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": "ns"}})).unwrap();
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    double.put("pods", pod("a"));
    let mut held = pod("held");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    double.put("pods", held);

    namespaces.delete("ns", &DeleteParams::default()).await.unwrap();
    let leaving = namespaces.get("ns").await.unwrap();
    assert_eq!(leaving.status.unwrap().phase.as_deref(), Some("Terminating"));
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let refused = pods.create(&PostParams::default(), &serde_json::from_value(pod("new")).unwrap()).await;
    assert_eq!(refusal(refused), (403, "Forbidden".into()));
    assert_eq!(double.list("pods").len(), 1);

    double.update("pods", "ns", "held", |pod| pod["metadata"]["finalizers"] = json!([]));
    assert!(namespaces.get_opt("ns").await.unwrap().is_none());
}

#[tokio::test]
async fn pods_go_with_their_owner_unless_they_are_orphaned() {
    let (double, client) = start().await;
    let owned = |name: &str, uid: &str| {
        let mut owned = pod(name);
        owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "v", "kind": "k", "name": "o", "uid": uid}]);
        owned
    };
    let place = |uid: &str| json!({"metadata": {"name": "o", "namespace": "ns", "uid": uid}});
    double.put("daemonsets", place("u1"));
    double.put("pods", owned("of-set", "u1"));
    double.put("jobs", place("u2"));
    double.put("pods", owned("of-job", "u2"));

    let sets: Api<DaemonSet> = Api::namespaced(client.clone(), "ns");
    sets.delete("o", &DeleteParams::default()).await.unwrap();
    assert!(double.get("pods", "ns", "of-set").is_none());

    // By default, the pods of a Job are kept.
    let jobs: Api<Job> = Api::namespaced(client, "ns");
    jobs.delete("o", &DeleteParams::default()).await.unwrap();
    assert_eq!(double.get("pods", "ns", "of-job").unwrap()["metadata"]["ownerReferences"], json!([]));
    double.put("jobs", place("u3"));
    double.put("pods", owned("of-job", "u3"));
    jobs.delete("o", &DeleteParams::background()).await.unwrap();
    assert!(double.get("pods", "ns", "of-job").is_none());
}
