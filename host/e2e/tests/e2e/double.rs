//! Compares the API server in memory, which many tests use, with the real one. Both must answer
//! the requests that Plumbline sends in the same way.

use std::convert::Infallible;
use std::fmt::Debug;

use futures_util::{TryStreamExt, future};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchEvent,
    WatchParams,
};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use plumbline_dev::ApiDouble;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::bed::Bed;

/// Seconds after which a watch ends. A server sends one or two bookmarks in the last three seconds.
const WATCH_SECONDS: u32 = 6;
/// The largest size of annotations, and of the data of a ConfigMap, in bytes.
const ANNOTATIONS: usize = 256 << 10;
const DATA: usize = 1 << 20;
/// The plural of the custom resource.
const THINGS: &str = "things";

/// Returns code and reason of a request that was refused.
fn answer<T>(result: kube::Result<T>) -> String {
    match result {
        Ok(_) => "accepted".to_owned(),
        Err(kube::Error::Api(status)) => format!("{} {}", status.code, status.reason),
        Err(other) => panic!("not an answer of the server: {other}"),
    }
}

/// Returns what an event of a watch says.
fn words<K: ResourceExt>(event: WatchEvent<K>) -> String {
    match event {
        WatchEvent::Added(object) => format!("added {}", object.name_any()),
        WatchEvent::Modified(object) => format!("modified {}", object.name_any()),
        WatchEvent::Deleted(object) => format!("deleted {}", object.name_any()),
        WatchEvent::Bookmark(_) => "bookmark".to_owned(),
        WatchEvent::Error(status) => format!("error {} {}", status.code, status.reason),
    }
}

async fn create<K>(api: &Api<K>, object: Value) -> kube::Result<K>
where
    K: Clone + Debug + Serialize + DeserializeOwned,
{
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
}

/// Lists in pages.
async fn pages(client: &Client, namespace: &str) -> Vec<String> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    for number in 0..5 {
        let metadata = json!({"name": format!("page-{number}"), "labels": {"even": (number % 2 == 0).to_string()}});
        create(&secrets, json!({"metadata": metadata})).await.unwrap();
    }
    let mut seen = Vec::new();
    for mut params in [ListParams::default().limit(2), ListParams::default().limit(2).labels("even=true")] {
        loop {
            let page = secrets.list(&params).await.unwrap();
            let names: Vec<String> = page.items.iter().map(ResourceExt::name_any).collect();
            seen.push(format!("page of {names:?}, remaining: {:?}", page.metadata.remaining_item_count));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => break,
            }
        }
    }
    let metadata = secrets.list_metadata(&ListParams::default().limit(1)).await.unwrap();
    seen.push(format!("metadata of {:?}", metadata.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>()));
    let wrong = ListParams::default().limit(2).continue_token("nonsense");
    seen.push(format!("wrong token: {}", answer(secrets.list(&wrong).await)));
    seen
}

/// Lists with field and label selectors.
async fn selectors(client: &Client, namespace: &str) -> Vec<String> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    for name in ["a", "b"] {
        // No scheduler and no kubelet changes these pods.
        let spec = json!({"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}]});
        let pod = json!({"metadata": {"name": name, "labels": {"app": name}}, "spec": spec});
        create(&pods, pod).await.unwrap();
    }
    let events: Api<Event> = Api::namespaced(client.clone(), namespace);
    let about = json!({"kind": "Pod", "name": "a", "namespace": namespace, "uid": "u"});
    let event = json!({"metadata": {"name": "e"}, "involvedObject": about, "reason": "r", "type": "Normal"});
    create(&events, event).await.unwrap();
    let fields = |fields: &str| ListParams::default().fields(fields);
    let labels = |labels: &str| ListParams::default().labels(labels);
    let mut seen = Vec::new();
    for params in [
        fields("metadata.name=a"),
        fields("status.phase=Pending"),
        fields("status.phase!=Pending"),
        fields("spec.nodeName=n1"),
        fields("spec.schedulerName=nobody,metadata.name!=a"),
        fields("spec.colour=red"),
        labels("app in (a, c)"),
        labels("app!=a,app"),
        labels("app in a)"),
    ] {
        let found = pods.list(&params).await.map(|list| list.items.len());
        let found = found.map_or_else(|error| answer::<()>(Err(error)), |count| count.to_string());
        seen.push(format!("{:?}, {:?}: {found}", params.field_selector, params.label_selector));
    }
    for uid in ["u", "v"] {
        let params = fields(&format!("involvedObject.kind=Pod,involvedObject.uid={uid}"));
        seen.push(format!("events about {uid}: {}", events.list(&params).await.unwrap().items.len()));
    }
    seen
}

/// Watches objects that start and stop to match a selector, until the watch ends.
async fn watches(client: &Client, namespace: &str) -> Vec<String> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let from = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    for (name, app) in [("watched", "a"), ("other", "b")] {
        create(&maps, json!({"metadata": {"name": name, "labels": {"app": app}}})).await.unwrap();
    }
    for change in [
        json!({"metadata": {"labels": {"app": "b"}}}),
        json!({"metadata": {"labels": {"app": "a"}}}),
        json!({"data": {"k": "v"}}),
        // This changes nothing.
        json!({"data": {"k": "v"}}),
    ] {
        maps.patch("watched", &PatchParams::default(), &Patch::Merge(&change)).await.unwrap();
    }
    maps.delete("watched", &DeleteParams::default()).await.unwrap();
    let params = WatchParams::default().labels("app=a").timeout(WATCH_SECONDS);
    let stream = maps.watch(&params, &from).await.unwrap();
    let mut seen: Vec<String> = stream.map_ok(words).try_collect().await.unwrap();
    // The real server looks once a second for watches to send a bookmark to, by whole seconds. A watch that
    // it finds too early gets another one a second later.
    seen.dedup_by(|second, first| first == "bookmark" && second == first);
    seen.push("end".to_owned());
    seen
}

/// Writes what has changed meanwhile, or does not exist.
async fn conflicts(client: &Client, namespace: &str) -> Vec<String> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let (post, params) = (PostParams::default(), PatchParams::default());
    let old = create(&maps, json!({"metadata": {"name": "m"}, "data": {"k": "1"}})).await.unwrap();
    let change = json!({"data": {"k": "2"}});
    maps.patch("m", &params, &Patch::Merge(&change)).await.unwrap();
    let stale = json!({"metadata": {"resourceVersion": old.resource_version()}, "data": {"k": "3"}});
    let mut gone = old.clone();
    gone.metadata.name = Some("gone".to_owned());
    gone.metadata.resource_version = None;
    gone.metadata.uid = None;
    let other = Preconditions { uid: Some("other".to_owned()), resource_version: None };
    let delete = DeleteParams::default().preconditions(other);
    let again = create(&maps, json!({"metadata": {"name": "m"}})).await;
    vec![
        format!("create again: {}", answer(again)),
        format!("replace an old version: {}", answer(maps.replace("m", &post, &old).await)),
        format!("patch an old version: {}", answer(maps.patch("m", &params, &Patch::Merge(&stale)).await)),
        format!("delete another UID: {}", answer(maps.delete("m", &delete).await)),
        format!("get nothing: {}", answer(maps.get("gone").await)),
        format!("replace nothing: {}", answer(maps.replace("gone", &post, &gone).await)),
        format!("patch nothing: {}", answer(maps.patch("gone", &params, &Patch::Merge(&change)).await)),
        format!("delete nothing: {}", answer(maps.delete("gone", &DeleteParams::default()).await)),
        format!("the data: {:?}", maps.get("m").await.unwrap().data),
    ]
}

/// Creates objects that a server refuses.
async fn refusals(client: &Client, namespace: &str) -> Vec<String> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let mut seen = Vec::new();
    for metadata in [
        json!({"name": "Upper"}),
        json!({"name": "r", "labels": {"k": "two words"}}),
        json!({"name": "r", "annotations": {"a.b/c/d": "x"}}),
        json!({"name": "r", "annotations": {"k": "x".repeat(ANNOTATIONS)}}),
        json!({"name": "r", "namespace": "elsewhere"}),
        json!({}),
        json!({"generateName": "r-"}),
    ] {
        let text = metadata.to_string();
        let made = create(&maps, json!({"metadata": metadata})).await;
        seen.push(format!("{}: {}", text.chars().take(60).collect::<String>(), answer(made)));
    }
    let large = json!({"metadata": {"name": "r"}, "data": {"k": "x".repeat(DATA)}});
    seen.push(format!("large: {}", answer(create(&maps, large).await)));
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let empty = json!({"metadata": {"name": "r"}, "spec": {"containers": []}});
    seen.push(format!("no container: {}", answer(create(&pods, empty).await)));
    let sets: Api<DaemonSet> = Api::namespaced(client.clone(), namespace);
    let template = json!({"metadata": {"labels": {"a": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    let set = create(&sets, json!({"metadata": {"name": "r"}, "spec": spec})).await;
    seen.push(format!("wrong selector: {}", answer(set)));
    seen
}

/// Changes the status of a pod, with and without its own path.
async fn statuses(client: &Client, namespace: &str) -> Vec<String> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let spec = json!({"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}]});
    let pod = json!({"metadata": {"name": "s"}, "spec": spec, "status": {"phase": "Running"}});
    let created = create(&pods, pod).await.unwrap();
    let params = PatchParams::default();
    let change = Patch::Merge(json!({"metadata": {"annotations": {"k": "v"}}, "status": {"phase": "Failed"}}));
    let whole = pods.patch("s", &params, &change).await.unwrap();
    let status = pods.patch_status("s", &params, &change).await.unwrap();
    let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
    vec![format!("phases: {:?}", [&created, &whole, &status].map(phase))]
}

/// Watches a custom resource from a version that is too old.
async fn expiry(client: &Client, namespace: &str, group: &str) -> Vec<String> {
    let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", "Thing"), THINGS);
    let things: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
    let stream = things.watch(&WatchParams::default().timeout(WATCH_SECONDS), "1").await.unwrap();
    stream.map_ok(words).try_collect().await.unwrap()
}

/// Sends all requests, and returns the answers.
async fn answers(client: Client, namespace: &str, group: &str) -> Vec<String> {
    [
        pages(&client, namespace).await,
        selectors(&client, namespace).await,
        conflicts(&client, namespace).await,
        refusals(&client, namespace).await,
        statuses(&client, namespace).await,
        watches(&client, namespace).await,
        expiry(&client, namespace, group).await,
    ]
    .concat()
}

/// A custom resource that is removed when dropped.
struct Things<'a>(&'a Bed, String);

impl<'a> Things<'a> {
    fn create(bed: &'a Bed, group: &str) -> Self {
        let name = format!("{THINGS}.{group}");
        let version = json!({
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}},
        });
        let names = json!({"kind": "Thing", "plural": THINGS});
        let spec = json!({"group": group, "scope": "Namespaced", "names": names, "versions": [version]});
        let definitions: Api<CustomResourceDefinition> = bed.cluster_api();
        bed.ask(create(&definitions, json!({"metadata": {"name": &name}, "spec": spec})));
        let things = Self(bed, name);
        bed.ask(await_condition(definitions, &things.1, conditions::is_crd_established()));
        things
    }
}

impl Drop for Things<'_> {
    fn drop(&mut self) {
        self.0.ask(self.0.cluster_api::<CustomResourceDefinition>().delete(&self.1, &DeleteParams::default()));
    }
}

/// Starts the API server in memory with the namespace and the custom resource, and connects to it.
async fn double(namespace: &str, group: &str) -> (ApiDouble, Client) {
    let double = ApiDouble::start().await.unwrap();
    double.put("namespaces", json!({"metadata": {"name": namespace}}));
    double.add_resource(group, "v1", THINGS, "Thing", true);
    // The first versions have expired, as in a cluster that has been up for a while.
    double.expire_watches();
    let kubeconfig = Kubeconfig::from_yaml(&double.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    (double, Client::try_from(config).unwrap())
}

#[test]
fn the_api_server_in_memory_answers_as_the_real_one() {
    let Some(bed) = Bed::new("double") else { return };
    bed.create_namespace();
    let group = format!("{}.example.com", bed.namespace());
    let _things = Things::create(&bed, &group);
    let real = bed.cluster_api::<Namespace>().into_client();
    let both = async {
        let (_double, in_memory) = double(bed.namespace(), &group).await;
        let of = |client| Box::pin(answers(client, bed.namespace(), &group));
        Ok::<_, Infallible>(future::join(of(in_memory), of(real)).await)
    };
    let (in_memory, real) = bed.ask(both);
    let pairs = (0..in_memory.len().max(real.len())).map(|at| (in_memory.get(at), real.get(at)));
    let different: Vec<_> = pairs.filter(|(in_memory, real)| in_memory != real).collect();
    assert!(different.is_empty(), "in memory, and real: {different:#?}");
    let words: Vec<&str> = real.iter().map(String::as_str).collect();
    assert!(words.ends_with(&["deleted watched", "bookmark", "end", "error 410 Expired"]), "{words:#?}");
}
