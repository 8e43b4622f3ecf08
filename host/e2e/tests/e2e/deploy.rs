//! Tests of the manifests in `deploy/`, applied as `kubectl apply` does.

use std::fs;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use crate::bed::Bed;

/// The roles that an administrator applies first.
const ROLES: &str = include_str!("../../../../deploy/rbac/minimal.yaml");
/// The manifest of a whole run.
const RUN: &str = include_str!("../../../../deploy/manifests/minimal.yaml");
/// The image in the manifests.
const IMAGE: &str = concat!("ghcr.io/plumbline-dev/plumbline:v", env!("CARGO_PKG_VERSION"));

/// Returns the objects of a file, for the namespace and the image of this test.
fn objects(bed: &Bed, text: &str) -> Vec<Value> {
    let (namespace, image) = (bed.namespace(), std::env::var("PLUMBLINE_E2E_IMAGE").unwrap());
    assert!(!image.is_empty());
    let text = text
        .replace(IMAGE, &image)
        .replace("namespace: sonobuoy\n", &format!("namespace: {namespace}\n"))
        .replace("\"Namespace\":\"sonobuoy\"", &format!("\"Namespace\":\"{namespace}\""))
        // The names of cluster roles end with the namespace.
        .replace("sonobuoy-serviceaccount-sonobuoy", &format!("sonobuoy-serviceaccount-{namespace}"));
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    let mut objects: Vec<Value> = documents.into_iter().filter(|document| !document.is_null()).collect();
    for object in objects.iter_mut().filter(|object| object["kind"] == "Namespace") {
        object["metadata"]["name"] = namespace.into();
    }
    objects
}

/// Applies all of them in order with server-side apply.
pub(crate) fn apply(bed: &Bed, objects: &[Value]) {
    let client = bed.api::<Pod>().into_client();
    for object in objects {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("/kind")));
        let api: Api<DynamicObject> = match text("/metadata/namespace") {
            "" => Api::all_with(client.clone(), &resource),
            namespace => Api::namespaced_with(client.clone(), namespace, &resource),
        };
        bed.ask(api.patch(text("/metadata/name"), &PatchParams::apply("plumbline-e2e"), &Patch::Apply(object)));
    }
}

#[test]
fn the_committed_manifest_is_a_run_from_its_begin_to_its_archive() {
    let Some(bed) = Bed::new("manifest") else { return };
    apply(&bed, &objects(&bed, RUN));
    bed.wait_for_pod("sonobuoy", |_| true);
    bed.command("wait", &[]).expect(0);
    fs::create_dir(bed.path("out")).unwrap();
    let archive = bed.command("retrieve", &["out"]).expect(0).out;
    let trees = bed.plumbline(&["results", archive.trim(), "-o", "json"]).expect(0).json();
    let facts = trees.as_array().unwrap().iter().find(|tree| tree["name"] == "host-facts").unwrap();
    let items = facts["items"].as_array().unwrap().iter().filter(|item| item["meta"]["type"] == "node");
    let mut answered: Vec<&str> = items.filter_map(|item| item["name"].as_str()).collect();
    answered.sort_unstable();
    assert_eq!(answered, bed.nodes());
    bed.command("delete", &["--wait", "--yes"]).expect(0);
    assert!(!bed.exists());
}

#[test]
fn a_run_needs_no_right_to_make_roles_where_an_administrator_has_made_them() {
    let Some(bed) = Bed::new("roles") else { return };
    bed.create_namespace();
    apply(&bed, &objects(&bed, ROLES));
    let image = std::env::var("PLUMBLINE_E2E_IMAGE").unwrap();
    let args = ["-p", "host-facts", "--existing-service-account", "--rbac", "disable", "--image", &image, "--wait"];
    bed.command("run", &args).expect(0);
}
