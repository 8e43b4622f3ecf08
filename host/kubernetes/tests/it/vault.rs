//! The run's CA in a Secret, over several lives of the aggregator.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plumbline_aggregator::Vault as _;
use plumbline_dev::{ApiDouble, Fault, FaultKind};
use plumbline_kubernetes::{CaSecretStore, names};

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
