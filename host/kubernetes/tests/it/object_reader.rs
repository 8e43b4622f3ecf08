//! Reads objects for checks from an API server: pages, what it rejects, and what is left out.

use plumbline_dev::{Fault, FaultKind};
use plumbline_kubernetes::query::{ObjectReader, Objects};
use serde_json::{Value, json};

use crate::query_bed::Bed;

fn objects<'a>(api_version: &'a str, resource: &'a str) -> Objects<'a> {
    Objects { api_version, resource, namespace: None, label_selector: "", field_selector: "" }
}

fn config_map(name: &str, data: &str) -> Value {
    json!({
        "metadata": {
            "name": name,
            "namespace": if name.ends_with('7') { "kube-system" } else { "default" },
            "labels": {"odd": name.ends_with(['1', '3', '5', '7', '9']).to_string()},
            "managedFields": [{"manager": "kubectl"}],
        },
        "data": {"text": data},
    })
}

fn names(found: &[Value]) -> Vec<String> {
    found.iter().map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

/// Reads all pages. Returns the names on each.
async fn pages(reader: &ObjectReader, objects: &Objects<'_>) -> Vec<Vec<String>> {
    let (mut pages, mut token) = (Vec::new(), None);
    loop {
        let (found, next) = reader.page(objects, token.as_deref()).await.unwrap();
        pages.push(names(&found));
        token = next;
        if token.is_none() {
            return pages;
        }
    }
}

#[tokio::test]
async fn every_object_is_on_one_page() {
    let bed = Bed::new().await;
    for n in 0..1_100 {
        bed.double.put("configmaps", config_map(&format!("m{n:04}"), ""));
    }
    let reader = ObjectReader::new(&bed.cluster);
    let all = pages(&reader, &objects("v1", "configmaps")).await;
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [500, 500, 100]);
    let mut all = all.concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 1_100);
    let odd = Objects { namespace: Some("kube-system"), label_selector: "odd=true", ..objects("v1", "configmaps") };
    assert_eq!(pages(&reader, &odd).await.concat().len(), 110);
    let one = Objects { field_selector: "metadata.name=m0003", ..objects("v1", "configmaps") };
    assert_eq!(pages(&reader, &one).await, [["m0003"]]);
}

#[tokio::test]
async fn a_page_that_would_be_too_large_has_fewer_objects() {
    let bed = Bed::new().await;
    for n in 0..60 {
        bed.double.put("configmaps", config_map(&format!("m{n:04}"), &"x".repeat(300 << 10)));
    }
    let all = pages(&ObjectReader::new(&bed.cluster), &objects("v1", "configmaps")).await;
    // All together have 18 MiB, and 50 of them less than 16 MiB.
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [50, 10]);
}

#[tokio::test]
async fn a_rejection_by_the_server_is_an_error_with_the_reason() {
    let bed = Bed::new().await;
    for n in 0..501 {
        bed.double.put("configmaps", config_map(&format!("m{n:04}"), ""));
    }
    let reader = ObjectReader::new(&bed.cluster);
    let maps = objects("v1", "configmaps");
    let (_, token) = reader.page(&maps, None).await.unwrap();
    // The server has forgotten the state of the first page.
    let gone = "The provided continue parameter is too old to display a consistent list result";
    let kind = FaultKind::Status { code: 410, message: gone.to_owned(), retry_after: None };
    bed.double.fault(Fault { method: Some("GET"), path_contains: "continue=".to_owned(), kind, times: 1 });
    let error = reader.page(&maps, token.as_deref()).await.unwrap_err();
    assert_eq!(error.code, Some(410));
    assert_eq!(error.to_string(), format!("failed to list configmaps (v1): {gone}"));

    bed.double.deny("list", "configmaps");
    bed.double.deny("get", "configmaps");
    let one = Objects { namespace: Some("default"), ..maps };
    for error in [reader.page(&maps, None).await.unwrap_err(), reader.get(&one, "m0001").await.unwrap_err()] {
        assert_eq!(error.code, Some(403));
        assert!(error.to_string().contains("configmaps") && error.to_string().contains("forbidden"), "{error}");
    }
}

#[tokio::test]
async fn a_missing_object_is_none_and_a_missing_kind_is_an_error() {
    let bed = Bed::new().await;
    bed.double.put("configmaps", config_map("m1", "text"));
    let reader = ObjectReader::new(&bed.cluster);
    let maps = Objects { namespace: Some("default"), ..objects("v1", "configmaps") };
    assert_eq!(reader.get(&maps, "m1").await.unwrap().unwrap()["data"]["text"], "text");
    assert_eq!(reader.get(&maps, "m2").await.unwrap(), None);
    for kind in [objects("v1", "widgets"), objects("example.com/v1", "widgets"), objects("apps/v9", "deployments")] {
        for error in [reader.page(&kind, None).await.unwrap_err(), reader.get(&kind, "x").await.unwrap_err()] {
            assert_eq!(error.code, Some(404), "{error}");
            assert!(error.to_string().contains("could not find the requested resource"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_text_in_place_of_a_status_is_not_a_missing_object() {
    let bed = Bed::new().await;
    let reader = ObjectReader::new(&bed.cluster);
    let maps = Objects { namespace: Some("default"), ..objects("v1", "configmaps") };
    assert_eq!(reader.get(&maps, "m1").await.unwrap(), None);
    // An API server answers so for a group that it does not have, and a proxy for any path.
    for body in ["404 page not found\n", "<html><body>404 Not Found</body></html>", "", "{\"code\":404}"] {
        let kind = FaultKind::Text { code: 404, body };
        bed.double.fault(Fault { method: Some("GET"), path_contains: "/configmaps/m1".to_owned(), kind, times: 1 });
        let error = reader.get(&maps, "m1").await.unwrap_err();
        assert_eq!(error.code, Some(404), "{body}: {error}");
    }
}

#[tokio::test]
async fn values_of_secrets_and_managed_fields_are_left_out() {
    let bed = Bed::new().await;
    let applied =
        json!({"kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{\"key\":\"c2VjcmV0\"}}", "a": "b"});
    let metadata = json!({
        "name": "s", "namespace": "default", "annotations": applied, "managedFields": [{"manager": "kubectl"}],
    });
    bed.double.put("secrets", json!({"metadata": metadata, "data": {"key": "c2VjcmV0"}, "type": "Opaque"}));
    bed.double.put("configmaps", config_map("m1", "c2VjcmV0"));
    let reader = ObjectReader::new(&bed.cluster);
    let secrets = Objects { namespace: Some("default"), ..objects("v1", "secrets") };
    let (mut found, _) = reader.page(&secrets, None).await.unwrap();
    found.extend(reader.get(&secrets, "s").await.unwrap());
    assert_eq!(found.len(), 2);
    for secret in found {
        assert_eq!((&secret["data"]["key"], &secret["type"]), (&json!("REDACTED"), &json!("Opaque")));
        assert_eq!(secret["metadata"]["annotations"], json!({"a": "b"}));
        assert!(!secret.to_string().contains("c2VjcmV0") && secret["metadata"].get("managedFields").is_none());
    }
    // A ConfigMap keeps its values.
    let (found, _) = reader.page(&objects("v1", "configmaps"), None).await.unwrap();
    assert_eq!(found[0]["data"]["text"], "c2VjcmV0");
    assert!(found[0]["metadata"].get("managedFields").is_none());
}
