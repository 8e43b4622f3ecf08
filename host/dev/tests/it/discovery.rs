//! Tests of discovery and access control.

use k8s_openapi::api::{
    authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
    core::v1::Pod,
};
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams, PostParams},
    discovery::{Discovery, Scope, verbs},
};
use serde_json::json;

use crate::harness::{pod, refusal, start};

#[tokio::test]
async fn discovery_finds_what_is_served() {
    let (double, client) = start().await;
    double.set_version("v1.31.4");
    let version = client.apiserver_version().await.unwrap();
    assert_eq!((version.git_version.as_str(), version.minor.as_str()), ("v1.31.4", "31"));

    double.add_resource("example.com", "v1", "widgets", "Widget", true);
    double.add_resource("example.com", "v1beta1", "widgets", "Widget", true);
    double.put("widgets", json!({"metadata": {"name": "w", "namespace": "ns"}}));
    let discovery = Discovery::new(client.clone()).run().await.unwrap();
    let groups: Vec<_> = discovery.groups().map(|group| group.name()).collect();
    assert!(groups.contains(&"apps") && groups.contains(&"rbac.authorization.k8s.io"), "{groups:?}");
    let (widgets, capabilities) = discovery.get("example.com").unwrap().recommended_kind("Widget").unwrap();
    assert_eq!((widgets.version.as_str(), &capabilities.scope), ("v1", &Scope::Namespaced));
    assert!(capabilities.supports_operation(verbs::LIST));
    let list = Api::<DynamicObject>::all_with(client.clone(), &widgets).list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items[0].types.as_ref().unwrap().api_version, "example.com/v1");

    let core = discovery.get("").unwrap();
    let pods = core.recommended_resources().into_iter().find(|(resource, _)| resource.kind == "Pod").unwrap();
    assert!(pods.1.subresources.iter().any(|(resource, _)| resource.plural == "log"));
    let unknown = client.list_api_group_resources("nobody.example.com/v1").await;
    assert_eq!(refusal(unknown), (404, "NotFound".into()));
}

async fn may(client: &Client, verb: &str, resource: &str, subresource: Option<&str>) -> bool {
    let attributes = ResourceAttributes {
        verb: Some(verb.into()),
        resource: Some(resource.into()),
        subresource: subresource.map(Into::into),
        namespace: Some("ns".into()),
        ..Default::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..Default::default() };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    reviews.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed
}

#[tokio::test]
async fn denied_requests_are_denied_in_reviews_and_calls() {
    let (double, client) = start().await;
    double.put("pods", pod("p"));
    double.deny("list", "pods");
    double.deny("create", "pods/exec");
    assert!(!may(&client, "list", "pods", None).await);
    assert!(may(&client, "get", "pods", None).await);
    assert!(!may(&client, "create", "pods", Some("exec")).await);

    let pods: Api<Pod> = Api::namespaced(client.clone(), "ns");
    let error = pods.list(&ListParams::default()).await.unwrap_err();
    assert!(error.to_string().contains("cannot list resource \"pods\""), "{error}");
    assert_eq!(refusal(Err::<(), _>(error)), (403, "Forbidden".into()));
    assert!(pods.get("p").await.is_ok());
    double.allow("list", "pods");
    assert!(may(&client, "list", "pods", None).await);
    assert_eq!(pods.list(&ListParams::default()).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn nodes_answer_through_the_server() {
    let (double, client) = start().await;
    double.put("nodes", json!({"metadata": {"name": "n1"}}));
    double.set_node_proxy("n1", "configz", 200, r#"{"kubeletconfig": {}}"#);
    double.set_node_proxy("n1", "/healthz", 500, "not ok");
    let ask = async |path: &str| {
        let request = http::Request::get(format!("/api/v1/nodes/{path}")).body(Vec::new()).unwrap();
        client.request_text(request).await
    };
    assert_eq!(ask("n1/proxy/configz").await.unwrap(), r#"{"kubeletconfig": {}}"#);
    assert_eq!(refusal(ask("n1/proxy/healthz").await).0, 500);
    assert_eq!(refusal(ask("n1/proxy/stats").await).0, 404);
    assert_eq!(refusal(ask("n2/proxy/configz").await), (404, "NotFound".into()));
}
