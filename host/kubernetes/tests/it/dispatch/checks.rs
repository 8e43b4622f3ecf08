//! The pod of a check, and how its component gets there.

use std::fs;

use k8s_openapi::ByteString;
use plumbline_aggregator::CompiledCheck;
use plumbline_core::config::PodSecurity;
use plumbline_core::{CheckRun, Digest, ModuleLimits};
use plumbline_dev::schema::breaches;
use plumbline_kubernetes::chunks::unpack_modules;
use plumbline_kubernetes::driver::{CheckPod, Stage, WorkerSecurity, workload};
use serde_json::{Value, json};

use super::bed::{Bed, session};
use super::samples::{SESSION, access, definition, stage};

fn yaml(driver: &str, grants: &str) -> String {
    format!(
        "sonobuoy-config: {{driver: {driver}, plugin-name: look}}\nspec: {{env: [{{name: LEVEL, value: '1'}}]}}\nplumbline: {{component: look.wasm, options: {{note: 'costs $(HOME)'}}, grants: {grants}}}\n"
    )
}

fn pod(stage: &Stage, yaml: &str) -> Value {
    let definition = definition(yaml);
    let check = CheckPod::new(stage, &definition, SESSION, b"component", None, 2, ModuleLimits::default()).unwrap();
    let object = workload(stage, &definition, SESSION, &access(), Some(&check)).unwrap();
    object.pointer("/spec/template/spec").unwrap_or(&object["spec"]).clone()
}

fn plugin(pod: &Value) -> &Value {
    pod["containers"].as_array().unwrap().iter().find(|container| container["name"] == "plugin").unwrap()
}

#[test]
fn a_check_is_a_container_of_this_program() {
    insta::assert_snapshot!("check_pod", format!("{:#}", pod(&stage(), &yaml("DaemonSet", "{env: [LEVEL]}"))));
}

#[test]
fn a_check_that_reads_files_is_root_without_capabilities() {
    let grants = "{files: [/etc/kubernetes, /proc, /etc/cni]}";
    let pod = pod(&stage(), &yaml("DaemonSet", grants));
    let container = plugin(&pod);
    assert_eq!(container["securityContext"]["runAsUser"], 0);
    assert_eq!(container["securityContext"]["capabilities"], json!({"drop": ["ALL"]}));
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    let mounts = container["volumeMounts"].as_array().unwrap();
    let host: Vec<&Value> =
        mounts.iter().filter(|mount| mount["mountPath"].as_str().unwrap().starts_with("/host")).collect();
    assert_eq!(host.len(), 2, "one for each directory of the root");
    assert!(host.iter().all(|mount| mount["readOnly"] == true));
    let volumes = pod["volumes"].as_array().unwrap();
    let paths: Vec<&str> = volumes.iter().filter_map(|volume| volume.pointer("/hostPath/path")?.as_str()).collect();
    assert_eq!(paths, ["/etc", "/proc"]);
    assert!(pod.get("hostPID").is_none() && pod.get("hostNetwork").is_none());
}

#[test]
fn without_files_it_complies_with_restricted_in_any_namespace() {
    for level in [PodSecurity::Privileged, PodSecurity::Restricted] {
        for security in [WorkerSecurity::LikePlugin, WorkerSecurity::Platform] {
            for driver in ["Job", "DaemonSet"] {
                let stage = Stage { pod_security: level, security, ..stage() };
                let pod = pod(&stage, &yaml(driver, "{env: [LEVEL]}"));
                assert_eq!(breaches(&pod), Vec::<String>::new(), "{pod:#}");
            }
        }
    }
}

#[test]
fn the_description_survives_the_expansion_of_variables() {
    let pod = pod(&stage(), &yaml("Job", "{}"));
    let env = plugin(&pod)["env"].as_array().unwrap();
    let text = env.iter().find(|variable| variable["name"] == "PLUMBLINE_CHECK").unwrap()["value"].as_str().unwrap();
    assert!(!text.contains('$'), "{text}");
    let check: CheckRun = serde_json::from_str(text).unwrap();
    assert_eq!(check.options["note"], "costs $(HOME)");
    assert_eq!((check.root.as_str(), check.stay, check.expected_results), ("/host", false, 2));
}

#[test]
fn large_components_get_memory_for_their_compiler() {
    let limit = |size: usize| {
        let definition = definition(&yaml("Job", "{}"));
        let limits = ModuleLimits { memory: 64 << 20, ..ModuleLimits::default() };
        let check = CheckPod::new(&stage(), &definition, SESSION, &vec![0; size], None, 1, limits).unwrap();
        let pod = workload(&stage(), &definition, SESSION, &access(), Some(&check)).unwrap();
        plugin(&pod["spec"])["resources"]["limits"]["memory"].clone()
    };
    assert_eq!((limit(1 << 10), limit(8 << 20)), (json!("192Mi"), json!("1024Mi")));
}

#[test]
fn a_check_that_did_not_arrive_is_an_error() {
    let error = workload(&stage(), &definition(&yaml("Job", "{}")), SESSION, &access(), None).unwrap_err().to_string();
    assert_eq!(error, "plugin `look`: its check did not reach the aggregator");
}

#[test]
fn a_list_of_the_wrong_type_is_rejected_and_not_left_out() {
    let definition = definition(&yaml("Job", "{}").replace("spec: {", "spec: {volumeMounts: all, "));
    let check = CheckPod::new(&stage(), &definition, SESSION, b"component", None, 1, ModuleLimits::default()).unwrap();
    let error = workload(&stage(), &definition, SESSION, &access(), Some(&check)).unwrap_err();
    assert_eq!(error.to_string(), "plugin `look`: `spec.volumeMounts` is not a list");
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 7u64;
    let byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(byte).take(length).collect()
}

/// A bundle with the component of a check.
fn bundle(component: &[u8]) -> tempfile::TempDir {
    let bundle = tempfile::tempdir().unwrap();
    fs::write(bundle.path().join("look.wasm"), component).unwrap();
    bundle
}

/// What the container of the only pod gets about its check.
fn check_run(bed: &Bed) -> CheckRun {
    let pod = bed.double.list("pods").pop().unwrap();
    let env = plugin(&pod["spec"])["env"].as_array().unwrap().clone();
    let variable = env.into_iter().find(|variable| variable["name"] == "PLUMBLINE_CHECK").unwrap();
    serde_json::from_str(variable["value"].as_str().unwrap()).unwrap()
}

/// Joins what the ConfigMaps of the double carry, as the volume of the pod does.
fn mounted(bed: &Bed) -> Vec<(String, Vec<u8>)> {
    let directory = tempfile::tempdir().unwrap();
    let pod = bed.double.list("pods").pop().unwrap();
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    let volume = volumes.iter().find(|volume| volume["name"] == "plumbline-check").unwrap();
    let sources = volume.pointer("/projected/sources").and_then(Value::as_array);
    // A single ConfigMap is a volume of its own.
    for source in sources.unwrap_or(&vec![volume.clone()]) {
        let name = &source["configMap"]["name"];
        let maps = bed.double.list("configmaps");
        let map = maps.iter().find(|map| map["metadata"]["name"] == *name).unwrap();
        assert_eq!(map["immutable"], true);
        for (key, value) in map["binaryData"].as_object().unwrap() {
            let bytes: ByteString = serde_json::from_value(value.clone()).unwrap();
            fs::write(directory.path().join(key), bytes.0).unwrap();
        }
    }
    unpack_modules(directory.path()).unwrap().remove("look").unwrap()
}

fn no_code() -> Result<CompiledCheck, String> {
    Err("nothing compiles here".to_owned())
}

fn code(length: usize) -> Result<CompiledCheck, String> {
    Ok(CompiledCheck { target: "x86_64-unknown-linux-gnu".to_owned(), bytes: noise(length) })
}

#[tokio::test]
async fn the_compiled_code_goes_along_with_the_component() {
    let bundle = bundle(b"component");
    let bed = Bed::new().await;
    bed.launch_check(&yaml("Job", "{}"), bundle.path(), code(1_000_000)).await.unwrap();
    let maps = bed.names("configmaps");
    assert_eq!(maps.len(), 3, "one chunk of the component, two of the code: {maps:?}");
    let code = code(1_000_000).unwrap();
    let about = check_run(&bed).code.unwrap();
    assert_eq!((about.digest, about.target.as_str()), (Digest::of(&code.bytes), "x86_64-unknown-linux-gnu"));
    let files = [("look.code".to_owned(), code.bytes), ("look.wasm".to_owned(), b"component".to_vec())];
    assert_eq!(mounted(&bed), files);
    assert_eq!(about.file, "look.code");
    // Code of another release has other ConfigMaps, so that no pod gets parts of both.
    let bed = bed.restart().await;
    bed.launch_check(&yaml("Job", "{}"), bundle.path(), self::code(10)).await.unwrap();
    assert_eq!(bed.names("configmaps").len(), 4);
}

#[tokio::test]
async fn each_pod_compiles_a_check_that_the_aggregator_cannot_compile_or_whose_code_is_too_large() {
    let bundle = bundle(b"component");
    for code in [no_code(), code((16 << 20) + 1)] {
        let bed = Bed::new().await;
        bed.launch_check(&yaml("Job", "{}"), bundle.path(), code).await.unwrap();
        assert_eq!(bed.names("configmaps").len(), 1);
        assert_eq!(check_run(&bed).code, None);
        assert_eq!(mounted(&bed), [("look.wasm".to_owned(), b"component".to_vec())]);
    }
}

#[test]
fn many_pods_read_less_code_each() {
    let definition = definition(&yaml("DaemonSet", "{}"));
    let maps = |pods: usize, length: usize| {
        let code = code(length).unwrap();
        let check = CheckPod::new(&stage(), &definition, SESSION, b"c", Some(&code), pods, ModuleLimits::default());
        check.unwrap().config_maps.len()
    };
    let half = 4 << 20;
    assert!(maps(4_096, half) > 1, "16 GiB for all pods");
    assert_eq!(maps(4_097, half), 1, "only the component");
}

#[tokio::test]
async fn the_component_is_in_config_maps_that_the_pod_mounts() {
    let bundle = bundle(&noise(1_000_000));
    let bed = Bed::new().await;
    bed.launch_check(&yaml("Job", "{}"), bundle.path(), no_code()).await.unwrap();
    let maps = bed.names("configmaps");
    assert_eq!(maps.len(), 2, "{maps:?}");
    assert!(maps.iter().all(|name| name.starts_with(&format!("plumbline-check-{}-", session("look")))), "{maps:?}");
    let pod = bed.double.list("pods").pop().unwrap();
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    let sources = volumes.iter().find_map(|volume| volume.pointer("/projected/sources")?.as_array()).unwrap();
    let mounted: Vec<&str> = sources.iter().map(|source| source["configMap"]["name"].as_str().unwrap()).collect();
    assert_eq!(mounted, maps.iter().map(String::as_str).collect::<Vec<_>>());
    // A restarted aggregator adopts them.
    let bed = bed.restart().await;
    bed.launch_check(&yaml("Job", "{}"), bundle.path(), no_code()).await.unwrap();
    assert_eq!(bed.names("configmaps"), maps);

    let error = bed.launch_check(&yaml("DaemonSet", "{}"), &bundle.path().join("none"), no_code()).await.unwrap_err();
    assert!(error.message.contains("failed to read check `look.wasm`"), "{error}");
}
