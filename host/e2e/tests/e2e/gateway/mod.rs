//! The profile of the Gateway API (examples/profiles/gateway-api) against Traefik.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::serde::de::DeserializeOwned;
use kube::Api;
use kube::api::DeleteParams;
use kube::runtime::wait::{await_condition, conditions};
use serde_json::Value;

use crate::bed::{Bed, Done};
use crate::checks::example;
use crate::deploy::apply;
use crate::settings::loudly;
use crate::versions::GATEWAY_API;

/// Traefik and what it needs.
const TRAEFIK: &str = include_str!("traefik.yaml");
/// Its image, in the registry of the test cluster.
const IMAGE: &str = "registry.k8s.io/traefik:v3.7.13";
/// The image of the suite.
const SUITE: &str = "registry.k8s.io/gateway-api-conformance:v1.6.1";

/// Returns an exclusive environment in a cluster that can pull these images, and the directory with
/// the custom resource definitions. The suite's namespaces have fixed names.
fn bed(test: &str) -> Option<(Bed, PathBuf)> {
    let suites = std::env::var_os("PLUMBLINE_E2E_SUITES").map(PathBuf::from);
    let (Ok(_), Some(suites)) = (std::env::var("PLUMBLINE_E2E_REGISTRY"), suites) else {
        loudly(&format!(
            "SKIPPED {test}: PLUMBLINE_E2E_REGISTRY, a registry with the images of the suites, or PLUMBLINE_E2E_SUITES, the directory with their other files, is not set"
        ));
        return None;
    };
    Some((Bed::alone(test)?, suites.join("crds")))
}

/// Traefik with the Gateway API, removed when dropped.
struct Traefik<'a> {
    bed: &'a Bed,
    crds: Vec<Value>,
    namespace: String,
}

impl<'a> Traefik<'a> {
    /// Installs the definitions of the Gateway API, and starts Traefik with its GatewayClass.
    fn start(bed: &'a Bed, crds: &Path) -> Self {
        let mut files: Vec<PathBuf> = fs::read_dir(crds).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
        let documents = texts.flat_map(|text| serde_saphyr::from_multiple::<Value>(&text).unwrap());
        let crds: Vec<Value> = documents.filter(|object| object["kind"] == "CustomResourceDefinition").collect();
        assert!(!crds.is_empty(), "{files:?}");
        let namespace = format!("{}-traefik", bed.namespace());
        let traefik = Self { bed, crds, namespace };
        apply(bed, &traefik.crds);
        for name in traefik.crd_names() {
            let api = bed.cluster_api::<CustomResourceDefinition>();
            bed.ask(await_condition(api, name, conditions::is_crd_established()));
        }
        let text = TRAEFIK.replace("NAMESPACE", &traefik.namespace).replace("IMAGE", IMAGE);
        let objects = |text: &str| serde_saphyr::from_multiple::<Value>(text).unwrap();
        let is_deployment = |object: &Value| object["kind"] == "Deployment";
        let (_, first): (Vec<Value>, Vec<Value>) = objects(&text).into_iter().partition(is_deployment);
        apply(bed, &first);
        let client = bed.api::<Pod>().into_client();
        let service = bed.ask(Api::<Service>::namespaced(client.clone(), &traefik.namespace).get("traefik"));
        let address = service.spec.and_then(|spec| spec.cluster_ip).unwrap();
        let last: Vec<Value> = objects(&text.replace("ADDRESS", &address)).into_iter().filter(is_deployment).collect();
        apply(bed, &last);
        let deployments = Api::<Deployment>::namespaced(client, &traefik.namespace);
        bed.ask(await_condition(deployments, "traefik", conditions::is_deployment_completed()));
        traefik
    }

    fn crd_names(&self) -> impl Iterator<Item = &str> {
        self.crds.iter().map(|crd| crd["metadata"]["name"].as_str().unwrap())
    }

    /// Runs the profile with Traefik's GatewayClass.
    fn run(&self, profile: &str, more: &[&str]) -> Done {
        let deployment = format!("deployment={}/traefik", self.namespace);
        let (image, suite) = (self.bed.image(), format!("image={SUITE}"));
        let place = ["conformance", "run", profile, "-n", self.bed.namespace(), "--dir", "out"];
        let images = ["--image", image, "--image-pull-policy", "IfNotPresent", "--set", &suite];
        let about =
            ["organization=traefik", "project=traefik", "url=https://traefik.io/", "contact=@traefik/maintainers"];
        let about = about.iter().flat_map(|value| ["--set", value]).collect::<Vec<_>>();
        let target = ["--set", "gateway-class=traefik", "--set", &deployment];
        self.bed.plumbline(&[&place[..], &images, &about, &target, more].concat())
    }
}

impl Drop for Traefik<'_> {
    fn drop(&mut self) {
        let bed = self.bed;
        for name in self.crd_names() {
            remove(bed, &bed.cluster_api::<CustomResourceDefinition>(), name);
        }
        remove(bed, &bed.cluster_api::<ClusterRoleBinding>(), &self.namespace);
        remove(bed, &bed.cluster_api::<ClusterRole>(), &self.namespace);
        remove(bed, &bed.cluster_api::<Namespace>(), &self.namespace);
    }
}

/// Deletes an object, unless that was done before, and waits until it is gone. The next test may
/// create it again.
fn remove<K>(bed: &Bed, api: &Api<K>, name: &str)
where
    K: Clone + Debug + DeserializeOwned + kube::Resource<DynamicType = ()> + Send + 'static,
{
    bed.ask(async {
        match api.delete(name, &DeleteParams::background()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other.map(drop),
        }
    });
    bed.ask(await_condition(api.clone(), name, |found: Option<&K>| found.is_none()));
}

/// Returns the path of the profile, whose judge was built.
fn profile(bed: &Bed) -> String {
    example(bed, "profiles/gateway-api").to_str().unwrap().to_owned()
}

/// Returns the verdict in the only archive, and removes the archive and its attestation.
fn verdict(bed: &Bed) -> Value {
    let files: Vec<PathBuf> = fs::read_dir(bed.path("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let archives: Vec<&PathBuf> = files.iter().filter(|path| path.to_str().unwrap().ends_with(".tar.gz")).collect();
    let [archive] = archives[..] else { panic!("{files:?}") };
    let trees = bed.plumbline(&["results", archive.to_str().unwrap(), "-p", "gateway-api", "-o", "json"]).json();
    files.iter().for_each(|path| fs::remove_file(path).unwrap());
    trees[0]["verdict"].clone()
}

/// Returns the checks with this outcome, as `ID: reason`.
fn checks(verdict: &Value, outcome: &str) -> Vec<String> {
    let checks = verdict["checks"].as_array().unwrap().iter().filter(|check| check["outcome"] == outcome);
    checks
        .map(|check| format!("{}: {}", check["id"].as_str().unwrap(), check["reason"].as_str().unwrap_or("")))
        .collect()
}

#[test]
fn an_implementation_passes_and_fails_with_what_it_does_not_do() {
    let Some((bed, crds)) = bed("gateway") else { return };
    if !GATEWAY_API.is_on(&bed, "gateway") {
        return;
    }
    let traefik = Traefik::start(&bed, &crds);
    let profile = profile(&bed);

    bed.plumbline(&["plugin", "keygen", "--file", "vendor"]).expect(0);
    let submit = ["--mode", "short", "--submission-dir", "submission", "--sign", "vendor.key"];
    let done = traefik.run(&profile, &submit).expect(0);
    assert!(done.err.contains("Gateway API v1.6.1, mode `short`, 6 required tests"), "{done:?}");
    let passed = verdict(&bed);
    assert_eq!((&passed["status"], &passed["failures"]), (&Value::from("passed"), &Value::from(0)), "{passed}");
    assert!(checks(&passed, "passed").iter().any(|check| check.starts_with("GWAPI-TESTS-GATEWAY-HTTP")), "{passed}");
    let report = fs::read_to_string(bed.path("submission/report.yaml")).unwrap();
    assert!(report.contains("kind: ConformanceReport") && report.contains("version: v3.7.13"), "{report}");
    // The submission is whole, and its attestation is about this run.
    let check = ["conformance", "submission", "check", "submission", "--profile", &profile];
    let checked = bed.plumbline(&[&check[..], &["--key", "vendor.pub", "-o", "json"]].concat()).expect(0).json();
    assert_eq!(
        (&checked["summary"]["failed"], &checked["summary"]["incomplete"]),
        (&Value::from(0), &Value::from(false))
    );
    bed.plumbline(&check).expect(3);
    bed.command("delete", &["--wait", "--yes"]).expect(0);

    // All Gateways of Traefik have the same address, so it cannot tell their routes apart.
    let only = "only=HTTPRouteSimpleSameNamespace,HTTPRouteMultipleGateways";
    let hasty = "timeouts=MaxTimeToConsistency:5";
    let sets = ["--set", only, "--set", "accept=partial", "--set", hasty];
    let done = traefik.run(&profile, &[&sets[..], &["--submission-dir", "failed"]].concat()).expect(1);
    assert!(done.err.contains("nothing was submitted") && !bed.path("failed").exists(), "{done:?}");
    let failed = verdict(&bed);
    let failures = checks(&failed, "failed");
    let reason = "GWAPI-RESULT-GATEWAY-HTTP: core tests that failed: HTTPRouteMultipleGateways; ";
    assert!(failures.len() == 1 && failures[0].starts_with(reason), "{failures:?}");
    assert!(done.out.contains("TestConformance/HTTPRouteMultipleGateways"), "{done:?}");
}
