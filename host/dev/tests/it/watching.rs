//! Tests of watches, with kube's watcher and as a plain stream.

use std::pin::pin;

use futures_util::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt,
    api::{WatchEvent, WatchParams},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use serde_json::json;

use crate::harness::{pod, start};

/// Returns the next events up to `last`, as words.
async fn until<S>(stream: &mut S, last: &str) -> Vec<String>
where
    S: Stream<Item = Result<Event<Pod>, watcher::Error>> + Unpin,
{
    let mut seen = Vec::new();
    let read = async {
        while let Some(event) = stream.next().await {
            // The watcher itself retries after an error.
            let Ok(event) = event else { continue };
            let words = match event {
                Event::Init => "init".to_owned(),
                Event::InitDone => "done".to_owned(),
                Event::InitApply(pod) => format!("is {}", pod.name_any()),
                Event::Apply(pod) => format!("apply {}", pod.name_any()),
                Event::Delete(pod) => format!("delete {}", pod.name_any()),
            };
            seen.push(words);
            if seen.last().is_some_and(|words| words == last) {
                return;
            }
        }
    };
    let bound = tokio::time::timeout(std::time::Duration::from_secs(30), read).await;
    assert!(bound.is_ok(), "{last:?} did not come: {seen:?}");
    seen
}

#[tokio::test]
async fn a_watcher_survives_expiry_and_broken_connections() {
    let (double, client) = start().await;
    double.put("pods", pod("a"));
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let mut stream = pin!(watcher(pods, watcher::Config::default()).default_backoff());
    assert_eq!(until(&mut stream, "done").await, ["init", "is a", "done"]);

    let watches = |n: usize| {
        let double = double.clone();
        async move {
            let open = |r: &[plumbline_dev::Recorded]| {
                r.iter().filter(|r| r.query.contains("watch=true") && r.status == 200).count() >= n
            };
            double.requested(open).await;
        }
    };
    // The watcher only sends requests while it is polled, so read on while waiting for its watch.
    double.put("pods", pod("b"));
    assert_eq!(until(&mut stream, "apply b").await, ["apply b"]);
    watches(1).await;

    // After an interruption it resumes where it was, without duplicate events.
    double.drop_watches();
    double.put("pods", pod("c"));
    assert_eq!(until(&mut stream, "apply c").await, ["apply c"]);

    // After an expiry it lists again, and so notices what it missed.
    double.expire_watches();
    double.remove("pods", "ns", "a");
    assert_eq!(until(&mut stream, "done").await, ["init", "is b", "is c", "done"]);
    double.remove("pods", "ns", "b");
    assert_eq!(until(&mut stream, "delete b").await, ["delete b"]);
}

#[tokio::test]
async fn a_streaming_list_ends_with_its_bookmark() {
    let (double, client) = start().await;
    double.put("pods", pod("a"));
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let mut stream = pin!(watcher(pods, watcher::Config::default().streaming_lists()));
    assert_eq!(until(&mut stream, "done").await, ["init", "is a", "done"]);
    double.put("pods", pod("b"));
    assert_eq!(until(&mut stream, "apply b").await, ["apply b"]);
}

/// Returns words for the events of a plain watch.
fn words(event: WatchEvent<Pod>) -> String {
    match event {
        WatchEvent::Added(pod) => format!("added {}", pod.name_any()),
        WatchEvent::Modified(pod) => format!("modified {}", pod.name_any()),
        WatchEvent::Deleted(pod) => format!("deleted {}", pod.name_any()),
        WatchEvent::Bookmark(bookmark) => format!("bookmark {}", bookmark.metadata.resource_version),
        WatchEvent::Error(status) => format!("error {} {}", status.code, status.reason),
    }
}

#[tokio::test]
async fn a_watch_reports_objects_that_start_and_stop_matching() {
    let (double, client) = start().await;
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let from = pods.list(&Default::default()).await.unwrap().metadata.resource_version.unwrap();
    let mut stream = pin!(pods.watch(&WatchParams::default().labels("app=a"), &from).await.unwrap());
    let label = |value: &'static str| {
        double.update("pods", "ns", "a", |pod| pod["metadata"]["labels"]["app"] = json!(value));
    };
    double.put("pods", pod("a"));
    double.put("pods", pod("b"));
    label("other");
    label("a");
    double.update("pods", "ns", "a", |pod| pod["status"]["phase"] = json!("Failed"));
    double.remove("pods", "ns", "a");
    let mut seen = Vec::new();
    while seen.len() < 5 {
        seen.push(words(stream.try_next().await.unwrap().unwrap()));
    }
    assert_eq!(seen, ["added a", "deleted a", "added a", "modified a", "deleted a"]);

    double.expire_watches();
    assert_eq!(words(stream.try_next().await.unwrap().unwrap()), "error 410 Expired");
    assert!(stream.try_next().await.unwrap().is_none());
    let mut late = pin!(pods.watch(&WatchParams::default(), &from).await.unwrap());
    assert_eq!(words(late.try_next().await.unwrap().unwrap()), "error 410 Expired");
}

#[tokio::test]
async fn a_watch_sends_a_bookmark_before_it_ends() {
    let (double, client) = start().await;
    let pods: Api<Pod> = Api::namespaced(client, "ns");
    let from = pods.list(&Default::default()).await.unwrap().metadata.resource_version.unwrap();
    double.put("nodes", json!({"metadata": {"name": "n"}}));
    let mut stream = pin!(pods.watch(&WatchParams::default().timeout(3), &from).await.unwrap());
    let version = double.get("nodes", "", "n").unwrap()["metadata"]["resourceVersion"].clone();
    assert_eq!(words(stream.try_next().await.unwrap().unwrap()), format!("bookmark {}", version.as_str().unwrap()));
    assert!(stream.try_next().await.unwrap().is_none());
}
