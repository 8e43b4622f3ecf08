//! Tests of creating and changing objects.

use k8s_openapi::api::{
    apps::v1::DaemonSet,
    core::v1::{ConfigMap, Pod, Secret},
};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::harness::{pod, refusal, start};

fn config_map(value: Value) -> ConfigMap {
    serde_json::from_value(value).unwrap()
}

#[tokio::test]
async fn created_objects_get_defaults_and_are_created_once() {
    let (double, client) = start().await;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "ns");
    let map = config_map(json!({"metadata": {"name": "m"}, "data": {"k": "v"}}));
    let made = maps.create(&PostParams::default(), &map).await.unwrap();
    assert!(made.metadata.uid.is_some() && made.metadata.creation_timestamp.is_some());
    assert_eq!(made.metadata.namespace.as_deref(), Some("ns"));
    assert_eq!(double.get("configmaps", "ns", "m").unwrap()["data"]["k"], "v");
    assert_eq!(refusal(maps.create(&PostParams::default(), &map).await), (409, "AlreadyExists".into()));

    let generated = config_map(json!({"metadata": {"generateName": "m-"}}));
    let one = maps.create(&PostParams::default(), &generated).await.unwrap().metadata.name.unwrap();
    let two = maps.create(&PostParams::default(), &generated).await.unwrap().metadata.name.unwrap();
    assert!(one.starts_with("m-") && one.len() == 7 && one != two, "{one} {two}");

    let secrets: Api<Secret> = Api::namespaced(client.clone(), "ns");
    let secret = serde_json::from_value(json!({"metadata": {"name": "s"}, "stringData": {"k": "plain"}})).unwrap();
    let secret = secrets.create(&PostParams::default(), &secret).await.unwrap();
    assert_eq!(secret.data.unwrap()["k"].0, b"plain");

    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let fresh = pods.create(&PostParams::default(), &serde_json::from_value(pod("p")).unwrap()).await.unwrap();
    assert_eq!(fresh.status.unwrap().phase.as_deref(), Some("Pending"), "a client cannot write the status");
}

#[tokio::test]
async fn invalid_objects_are_rejected_as_a_server_does() {
    let (double, client) = start().await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "ns");
    let bad = config_map(json!({"metadata": {"name": "m", "annotations": {"a.b/c/d": "x"}}}));
    assert_eq!(refusal(maps.create(&PostParams::default(), &bad).await), (422, "Invalid".into()));
    let large = json!({"metadata": {"annotations": {"a": "x".repeat(262_144)}}});
    double.put("configmaps", json!({"metadata": {"name": "m", "namespace": "ns"}}));
    let refused = maps.patch("m", &PatchParams::default(), &Patch::Merge(&large)).await;
    assert_eq!(refusal(refused), (422, "Invalid".into()));
    assert!(double.get("configmaps", "ns", "m").unwrap()["metadata"].get("annotations").is_none());
}

#[tokio::test]
async fn a_replacement_of_what_has_changed_meanwhile_is_refused() {
    let (double, client) = start().await;
    double.put("configmaps", json!({"metadata": {"name": "m", "namespace": "ns"}, "data": {"k": "1"}}));
    let maps: Api<ConfigMap> = Api::namespaced(client, "ns");
    let mut read = maps.get("m").await.unwrap();
    assert!(double.update("configmaps", "ns", "m", |map| map["data"]["k"] = json!("2")));
    read.data.get_or_insert_default().insert("k".into(), "3".into());
    let refused = maps.replace("m", &PostParams::default(), &read).await;
    assert_eq!(refusal(refused), (409, "Conflict".into()));
    read.metadata.resource_version = None;
    maps.replace("m", &PostParams::default(), &read).await.unwrap();
    assert_eq!(double.get("configmaps", "ns", "m").unwrap()["data"]["k"], "3");
    assert_eq!(
        refusal(
            maps.replace("gone", &PostParams::default(), &{
                read.metadata.name = Some("gone".into());
                read
            })
            .await
        ),
        (404, "NotFound".into())
    );
}

#[tokio::test]
async fn merge_patches_change_what_they_name() {
    let (double, client) = start().await;
    let mut object = pod("p");
    object["metadata"]["annotations"] = json!({"keep": "1", "drop": "2"});
    double.put("pods", object);
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let patch = json!({"metadata": {"annotations": {"drop": null, "new": "3"}}, "status": {"phase": "Failed"}});
    let patched = pods.patch("p", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    let annotations = patched.metadata.annotations.unwrap();
    assert_eq!(annotations.into_iter().collect::<Vec<_>>(), [("keep".into(), "1".into()), ("new".into(), "3".into())]);
    assert_eq!(patched.status.unwrap().phase.as_deref(), Some("Running"), "the status has a path of its own");

    let status = Patch::Merge(json!({"status": {"phase": "Failed"}}));
    let patched = pods.patch_status("p", &PatchParams::default(), &status).await.unwrap();
    assert_eq!(patched.status.unwrap().phase.as_deref(), Some("Failed"));

    let stale = Patch::Merge(json!({"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}));
    assert_eq!(refusal(pods.patch("p", &PatchParams::default(), &stale).await), (409, "Conflict".into()));
    let nobody = pods.patch("gone", &PatchParams::default(), &status).await;
    assert_eq!(refusal(nobody), (404, "NotFound".into()));
}

#[tokio::test]
async fn apply_creates_and_then_merges() {
    let (double, client) = start().await;
    let sets: Api<DaemonSet> = Api::namespaced(client, "ns");
    let set = |image: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": image}]}}
            }
        })
    };
    let params = PatchParams::apply("tests");
    let first = sets.patch("d", &params, &Patch::Apply(set("1"))).await.unwrap();
    assert_eq!(first.metadata.generation, Some(1));
    double.update("daemonsets", "ns", "d", |set| {
        set["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "other"}));
    });
    sets.patch("d", &params, &Patch::Apply(set("2"))).await.unwrap();
    let containers = double.get("daemonsets", "ns", "d").unwrap()["spec"]["template"]["spec"]["containers"].clone();
    assert_eq!(containers, json!([{"name": "c", "image": "2"}, {"name": "other"}]));
    let statuses: Vec<_> = double.requests().iter().map(|r| (r.content_type.clone(), r.status)).collect();
    let apply = "application/apply-patch+yaml".to_owned();
    assert_eq!(statuses, [(apply.clone(), 201), (apply, 200)]);
}
