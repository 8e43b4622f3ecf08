//! The run's CA in a Secret, over several lives of the aggregator.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plumbline_aggregator::Vault as _;
use plumbline_dev::{ApiDouble, Fault, FaultKind};
use plumbline_kubernetes::{CaSecretStore, names};
use serde_json::json;

use crate::cluster;

const RUN: &str = "7f3a9c00-0000-4000-8000-000000000001";

fn owner(uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: "sonobuoy".to_owned(),
        uid: uid.to_owned(),
        ..OwnerReference::default()
    }
}

async fn vault(double: &ApiDouble, run: &str, uid: &str) -> CaSecretStore {
    CaSecretStore::new(&cluster(double).await, "checks", run.parse().unwrap(), Some(owner(uid)))
}

#[tokio::test]
async fn the_authority_outlives_the_pod_that_made_it() {
    let double = ApiDouble::start().await.unwrap();
    let secret = || double.get("secrets", "checks", names::CA_SECRET).unwrap();
    let first = vault(&double, RUN, "first").await;
    assert_eq!(first.load().await.unwrap(), None);
    first.keep("the authority").await.unwrap();
    assert_eq!(first.load().await.unwrap().as_deref(), Some("the authority"));
    let of_first = secret();

    // The pod is lost. The garbage collector is about to delete what it owned, by UID.
    let next = vault(&double, RUN, "next").await;
    assert_eq!(next.load().await.unwrap().as_deref(), Some("the authority"));
    let of_next = secret();
    assert_ne!(of_first["metadata"]["uid"], of_next["metadata"]["uid"]);
    assert_eq!(of_next["metadata"]["ownerReferences"][0]["uid"], "next");
    assert_eq!(next.load().await.unwrap().as_deref(), Some("the authority"));
    assert_eq!(secret(), of_next, "it is ours now, and stays");
}

#[tokio::test]
async fn the_authority_of_another_run_is_not_used() {
    let double = ApiDouble::start().await.unwrap();
    vault(&double, RUN, "first").await.keep("the authority").await.unwrap();
    let other = vault(&double, "7f3a9c00-0000-4000-8000-000000000002", "first").await;
    assert_eq!(other.load().await.unwrap(), None);
    other.keep("another").await.unwrap();
    assert_eq!(other.load().await.unwrap().as_deref(), Some("another"));
}

#[tokio::test]
async fn causes_that_last_are_not_temporary() {
    let double = ApiDouble::start().await.unwrap();
    let vault = vault(&double, RUN, "first").await;
    let message = "secrets is forbidden: User \"u\" cannot create resource \"secrets\"";
    for method in ["GET", "POST"] {
        let kind = FaultKind::Status { code: 403, message: message.into(), retry_after: None };
        double.fault(Fault { method: Some(method), path_contains: "/secrets".into(), kind, times: 1 });
    }
    assert!(!vault.load().await.unwrap_err().is_temporary);
    assert!(!vault.keep("the authority").await.unwrap_err().is_temporary);
    // Somebody else has a Secret of that name.
    double.put("secrets", json!({"metadata": {"name": names::CA_SECRET, "namespace": "checks"}}));
    let error = vault.keep("the authority").await.unwrap_err();
    assert!(error.message.contains("does not belong to this run") && !error.is_temporary, "{error}");
    // Its content is not text.
    let annotations = json!({names::RUN_ANNOTATION: RUN});
    double.put(
        "secrets",
        json!({"metadata": {"name": names::CA_SECRET, "namespace": "checks", "annotations": annotations},
            "data": {"authority.pem": "/w=="}}),
    );
    let error = vault.load().await.unwrap_err();
    assert!(error.message.contains("is not text") && !error.is_temporary, "{error}");
}

#[tokio::test]
async fn requests_that_fail_for_a_moment_are_repeated() {
    let double = ApiDouble::start().await.unwrap();
    let vault = vault(&double, RUN, "first").await;
    let fault =
        |method, kind| double.fault(Fault { method: Some(method), path_contains: "/secrets".into(), kind, times: 1 });
    let status = |code| FaultKind::Status { code, message: "not now".into(), retry_after: None };
    fault("POST", status(500));
    fault("POST", FaultKind::Reset);
    fault("POST", status(409));
    vault.keep("the authority").await.unwrap();
    fault("GET", status(503));
    fault("GET", FaultKind::Reset);
    assert_eq!(vault.load().await.unwrap().as_deref(), Some("the authority"));
}
