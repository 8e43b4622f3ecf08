//! Tests of lists: pagination, selectors, representation of objects.

use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::{
    Api,
    api::{DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::json;

use crate::harness::{pod, refusal, start};

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let (double, client) = start().await;
    for number in 0..7 {
        double.put("nodes", json!({"metadata": {"name": format!("n{number}")}}));
    }
    let nodes: Api<Node> = Api::all(client);
    let mut names = Vec::new();
    let mut params = ListParams::default().limit(3);
    let mut pages = 0;
    loop {
        let page = nodes.list(&params).await.unwrap();
        pages += 1;
        names.extend(page.items.into_iter().filter_map(|node| node.metadata.name));
        if pages == 1 {
            assert_eq!(page.metadata.remaining_item_count, Some(4));
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => break,
        }
    }
    assert_eq!(pages, 3);
    assert_eq!(names, ["n0", "n1", "n2", "n3", "n4", "n5", "n6"]);
}

#[tokio::test]
async fn a_page_that_comes_too_late_is_refused() {
    let (double, client) = start().await;
    for number in 0..3 {
        double.put("nodes", json!({"metadata": {"name": format!("n{number}")}}));
    }
    let nodes: Api<Node> = Api::all(client);
    let first = nodes.list(&ListParams::default().limit(2)).await.unwrap();
    double.expire_watches();
    let token = first.metadata.continue_.unwrap();
    let late = nodes.list(&ListParams::default().limit(2).continue_token(&token)).await;
    assert_eq!(refusal(late), (410, "Expired".into()));
}

#[tokio::test]
async fn selectors_choose_objects() {
    let (double, client) = start().await;
    for (name, node) in [("a", "n1"), ("b", "n1"), ("c", "n2")] {
        let mut object = pod(name);
        object["spec"]["nodeName"] = json!(node);
        double.put("pods", object);
    }
    let mut elsewhere = pod("a");
    elsewhere["metadata"]["namespace"] = json!("other");
    double.put("pods", elsewhere);

    let inside: Api<Pod> = Api::namespaced(client.clone(), "ns");
    let count = async |params: ListParams| inside.list(&params).await.unwrap().items.len();
    assert_eq!(count(ListParams::default()).await, 3);
    assert_eq!(count(ListParams::default().labels("app in (a, c)")).await, 2);
    assert_eq!(count(ListParams::default().labels("app!=a").fields("spec.nodeName=n1")).await, 1);
    assert_eq!(count(ListParams::default().fields("status.phase!=Running")).await, 0);
    assert_eq!(Api::<Pod>::all(client.clone()).list(&ListParams::default()).await.unwrap().items.len(), 4);
    let refused = inside.list(&ListParams::default().fields("spec.colour=red")).await;
    assert_eq!(refusal(refused), (400, "BadRequest".into()));

    double.put(
        "events",
        json!({"metadata": {"name": "e", "namespace": "ns"}, "involvedObject": {"kind": "Pod", "name": "a", "uid": "u"}}),
    );
    let events: Api<Event> = Api::namespaced(client, "ns");
    let about =
        |what: &str| ListParams::default().fields(&format!("involvedObject.kind=Pod,involvedObject.uid={what}"));
    assert_eq!(events.list(&about("u")).await.unwrap().items.len(), 1);
    assert_eq!(events.list(&about("v")).await.unwrap().items.len(), 0);
}

#[tokio::test]
async fn lists_leave_out_kinds_and_can_leave_out_all_but_metadata() {
    let (double, client) = start().await;
    double.put("pods", pod("a"));
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
    let pods: Api<DynamicObject> = Api::namespaced_with(client, "ns", &kind);
    let list = pods.list(&ListParams::default()).await.unwrap();
    assert!(list.items[0].types.is_none(), "as in a real server, the kind stands on the list only");
    assert_eq!(pods.get("a").await.unwrap().types.unwrap().kind, "Pod");

    let metadata = pods.list_metadata(&ListParams::default()).await.unwrap();
    assert_eq!(metadata.items[0].metadata.name.as_deref(), Some("a"));
    assert_eq!(pods.get_metadata("a").await.unwrap().metadata.labels.unwrap()["app"], "a");
}
