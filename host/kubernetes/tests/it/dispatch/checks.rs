//! The pod of a check, and how its component gets there.

use std::fs;

use plumbline_core::ModuleLimits;
use plumbline_core::config::PodSecurity;
use plumbline_dev::schema::breaches;
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
    let check = CheckPod::new(stage, &definition, SESSION, b"component", 2, ModuleLimits::default()).unwrap();
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
    let check: plumbline_core::CheckRun = serde_json::from_str(text).unwrap();
    assert_eq!(check.options["note"], "costs $(HOME)");
    assert_eq!((check.root.as_str(), check.stay, check.expected_results), ("/host", false, 2));
}

#[test]
fn large_components_get_memory_for_their_compiler() {
    let limit = |size: usize| {
        let definition = definition(&yaml("Job", "{}"));
        let limits = ModuleLimits { memory: 64 << 20, ..ModuleLimits::default() };
        let check = CheckPod::new(&stage(), &definition, SESSION, &vec![0; size], 1, limits).unwrap();
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

#[tokio::test]
async fn the_component_is_in_config_maps_that_the_pod_mounts() {
    let bundle = tempfile::tempdir().unwrap();
    // Bytes that do not compress, for more than one chunk.
    let mut state = 7u64;
    let noise = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    });
    fs::write(bundle.path().join("look.wasm"), noise.take(1_000_000).collect::<Vec<u8>>()).unwrap();
    let bed = Bed::new().await;
    bed.launch_check(&yaml("Job", "{}"), bundle.path()).await.unwrap();
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
    bed.launch_check(&yaml("Job", "{}"), bundle.path()).await.unwrap();
    assert_eq!(bed.names("configmaps"), maps);

    let error = bed.launch_check(&yaml("DaemonSet", "{}"), &bundle.path().join("none")).await.unwrap_err();
    assert!(error.message.contains("failed to read check `look.wasm`"), "{error}");
}
