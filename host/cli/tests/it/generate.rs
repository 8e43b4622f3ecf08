//! `plumbline gen`: manifests, configurations and definitions.

use serde_json::Value;

use crate::bed::Bed;

const PROBE: &str = "\
sonobuoy-config:
  driver: Job
  plugin-name: probe
spec:
  name: plugin
  image: example.org/probe:$SONOBUOY_K8S_VERSION
  command: [./run.sh]
";

/// Replaces the version of this program, which changes with every release.
fn stable(text: &str) -> String {
    text.replace(concat!("v", env!("CARGO_PKG_VERSION")), "v0.0.0")
}

fn bed() -> Bed {
    let bed = Bed::new();
    bed.write("probe.yaml", PROBE);
    bed
}

pub(crate) fn documents(yaml: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap();
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

pub(crate) fn of_kind<'a>(documents: &'a [Value], kind: &str) -> Vec<&'a Value> {
    documents.iter().filter(|document| document["kind"] == kind).collect()
}

/// Runs `gen -p probe.yaml` for a given version, so that no cluster is asked. Returns the objects.
fn manifest(bed: &Bed, more: &[&str]) -> Vec<Value> {
    let args = [&["gen", "-p", "probe.yaml", "--kubernetes-version", "v1.30.2"], more].concat();
    documents(&bed.plumbline(&args).expect(0).out)
}

#[test]
fn the_manifest_is_printed_and_its_permissions_are_listed() {
    let bed = bed();
    let done = bed.plumbline(&["gen", "-p", "probe.yaml", "--kubernetes-version", "v1.30.2"]).expect(0);
    insta::assert_snapshot!("gen_manifest", stable(&done.out));
    insta::assert_snapshot!("gen_manifest_talk", done.err);
    assert!(done.out.ends_with("---\n\n"));
}

#[test]
fn the_default_configuration() {
    let bed = Bed::new();
    let printed = bed.plumbline(&["gen", "config"]).expect(0).out;
    insta::assert_snapshot!("gen_config", stable(&printed));
    // The printed configuration can be read, and means the same.
    bed.write("config.json", &printed);
    assert_eq!(bed.plumbline(&["gen", "config", "--config", "config.json"]).expect(0).out, printed);
}

#[test]
fn options_win_over_the_configuration_and_it_over_the_defaults() {
    let bed = bed();
    bed.write("config.json", r#"{"namespace": "checks", "WorkerImage": "i:1", "Server": {"TimeoutSeconds": 60}, "Plumbline": {"FailFast": true}}"#);
    let more = [
        "--config",
        "config.json",
        "--image",
        "i:2",
        "--aggregator-permissions",
        "clusterRead",
        "--storage",
        "pvc:5Gi",
        "--service-account-name",
        "robot",
        "--existing-service-account",
        "--aggregator-node-selector",
        "pool:system",
        "--plugin-env",
        "probe.A=1",
        "--plugin-env",
        "sonobuoy.B=2",
        "--plugin-image",
        "probe:mirror/probe:v9",
        "--security-context-mode",
        "platform",
        "--native-sidecar",
        "never",
        "--upload",
        "https://h/p",
    ];
    let documents = manifest(&bed, &more);
    assert!(of_kind(&documents, "Namespace").is_empty() && of_kind(&documents, "ServiceAccount").is_empty());
    let pod = of_kind(&documents, "Pod")[0];
    assert_eq!(pod["metadata"]["namespace"], "checks");
    assert_eq!(pod["spec"]["containers"][0]["image"], "i:2");
    assert_eq!(pod["spec"]["serviceAccountName"], "robot");
    assert_eq!(pod["spec"]["nodeSelector"]["pool"], "system");
    assert!(pod["spec"]["containers"][0]["env"].to_string().contains(r#"{"name":"B","value":"2"}"#));
    let maps = of_kind(&documents, "ConfigMap");
    let config: Value = serde_json::from_str(maps[0]["data"]["config.json"].as_str().unwrap()).unwrap();
    assert_eq!(config["Server"]["timeoutseconds"], 60);
    assert_eq!(config["Plumbline"]["FailFast"], true);
    assert_eq!(config["Plumbline"]["Storage"], "pvc:5Gi");
    assert_eq!(config["Plumbline"]["NativeSidecar"], "never");
    assert_eq!(config["Plumbline"]["UploadURL"], "https://h/p");
    assert_eq!(config["Plumbline"]["KubernetesVersion"], "v1.30.2");
    let plugin = maps[1]["data"]["plugin-0.yaml"].as_str().unwrap();
    assert!(plugin.contains("image: mirror/probe:v9\n") && plugin.contains("- name: A\n"), "{plugin}");

    let shorter =
        bed.plumbline(&["gen", "config", "--config", "config.json", "--timeout", "1m", "-n", "other"]).expect(0);
    let config: Value = serde_json::from_str(&shorter.out).unwrap();
    assert_eq!((&config["Namespace"], &config["WorkerImage"]), (&"other".into(), &"i:1".into()));
}

#[test]
fn modules_of_a_bundle_go_along() {
    let bed = Bed::new();
    bed.write("bundle/plugin.yaml", "sonobuoy-config: {driver: DaemonSet, plugin-name: disks}\nspec: {image: i}\n");
    bed.write("bundle/disks.wasm", "module");
    bed.write("bundle/notes.txt", "no module");
    let documents = documents(&bed.plumbline(&["gen", "-p", "bundle", "--kubernetes-version", "ignore"]).expect(0).out);
    let map = of_kind(&documents, "ConfigMap").into_iter().find(|map| map["metadata"]["name"] == "plumbline-modules-0");
    let keys: Vec<_> = map.unwrap()["binaryData"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["disks_disks.wasm.gz.000"]);
}

#[test]
fn manifests_that_cannot_be_made() {
    let bed = bed();
    bed.write("config.json", r#"{"Server": {"bindport": "many"}}"#);
    bed.write(
        "machine.yaml",
        "sonobuoy-config: {driver: Process, plugin-name: machine}\nspec: {command: [./run.sh]}\n",
    );
    bed.write("idle.yaml", "sonobuoy-config: {driver: Job, plugin-name: idle}\nspec: {name: plugin}\n");
    let version = ["--kubernetes-version", "v1.30.2"];
    let mut report = String::new();
    let cases: [&[&str]; 11] = [
        &[],
        &["-p", "probe.yaml", "--rbac", "enable"],
        &["-p", "machine.yaml", version[0], version[1]],
        &["-p", "idle.yaml", version[0], version[1]],
        &["-p", "probe.yaml", "-p", "probe.yaml", version[0], version[1]],
        &["-p", "probe.yaml", "--config", "config.json"],
        &["-p", "probe.yaml", "--config", "nowhere.json"],
        &["-p", "probe.yaml", "--kubernetes-version", "1.30"],
        &["-p", "probe.yaml", "--plugin-env", "e2e.A=1", version[0], version[1]],
        &["-p", "probe.yaml", "--plugin-image", "probe", version[0], version[1]],
        &["-p", "probe.yaml", "-n", "Prod", version[0], version[1]],
    ];
    for args in cases {
        let all = [&["gen"], args].concat();
        let mut command = bed.command(&all);
        // No cluster is asked.
        let output = command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.is_empty(), "{args:?}");
        report += &format!("$ plumbline {}\n{}\n", all.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    insta::assert_snapshot!("gen_refused", report);
}

#[test]
fn a_cluster_that_is_named_must_answer() {
    let bed = bed();
    let done = bed.plumbline(&["gen", "-p", "probe.yaml", "--kubeconfig", "nowhere"]).expect(4);
    assert!(done.err.contains("`nowhere`") && done.out.is_empty(), "{}", done.err);
}

#[test]
fn a_new_definition() {
    let bed = Bed::new();
    bed.write("settings.yaml", "deep: [1, 2]\n");
    let full = [
        "gen",
        "plugin",
        "-n",
        "disks",
        "-i",
        "example.org/disks:v1",
        "-t",
        "daemonset",
        "-f",
        "junit",
        "-c",
        "/bin/sh",
        "-c",
        "-c",
        "-a",
        "echo hi",
        "-e",
        "A=1",
        "-e",
        "B=x=y",
        "--node-selector",
        "pool=gpu",
        "--configmap",
        "settings.yaml",
        "-D",
        "Looks at disks",
        "-u",
        "https://example.org/disks.yaml",
    ];
    let full = bed.plumbline(&full).expect(0).out;
    let small = bed.plumbline(&["gen", "plugin", "--name", "probe", "--image", "i:v1"]).expect(0).out;
    let pod = bed.plumbline(&["gen", "plugin", "-n", "probe", "-i", "i:v1", "--show-default-podspec"]).expect(0).out;
    insta::assert_snapshot!("gen_plugin", [small, full.clone(), pod].join("---\n"));
    // The definition can be used as it is.
    bed.write("disks.yaml", &full);
    let documents =
        documents(&bed.plumbline(&["gen", "-p", "disks.yaml", "--kubernetes-version", "ignore"]).expect(0).out);
    assert_eq!(of_kind(&documents, "ConfigMap").len(), 3, "configuration, definitions, files");
}

#[test]
fn a_built_in_definition_is_printed_with_its_image() {
    let bed = Bed::new();
    let printed = bed.plumbline(&["gen", "plugin", "host-facts"]).expect(0).out;
    assert!(printed.starts_with("# Facts of every node"), "{printed}");
    let own = format!("  image: {}\n", plumbline_core::Config::default().worker_image);
    assert!(printed.contains("driver: DaemonSet\n") && printed.contains(&own), "{printed}");
    let other = bed.plumbline(&["gen", "plugin", "host-facts", "--image", "mirror/p:v1"]).expect(0).out;
    assert!(other.contains("  image: mirror/p:v1\n"), "{other}");
    // The definition can be used as it is, and gives the same result as the name of the plugin.
    bed.write("facts.yaml", &other);
    let of = |plugin: &str| {
        let args = ["gen", "-p", plugin, "--image", "mirror/p:v1", "--kubernetes-version", "ignore"];
        let documents = documents(&bed.plumbline(&args).expect(0).out);
        let maps = of_kind(&documents, "ConfigMap");
        maps[1]["data"]["plugin-0.yaml"].as_str().unwrap().to_owned()
    };
    assert_eq!(of("facts.yaml"), of("host-facts"));
    assert!(of("host-facts").contains("  image: mirror/p:v1\n"));
    assert!(bed.plumbline(&["gen", "plugin", "nobody"]).expect(2).err.contains("`host-facts`"));
    bed.plumbline(&["gen", "plugin", "-n", "Bad Name", "-i", "i"]).expect(2);
    bed.plumbline(&["gen", "plugin"]).expect(2);
}

#[test]
fn the_schemas_are_printed_as_they_are_documented() {
    let bed = Bed::new();
    let documented = [
        (&["gen", "schema"][..], include_str!("../../../../docs/definition.schema.json")),
        (&["gen", "schema", "definition"], include_str!("../../../../docs/definition.schema.json")),
        (&["gen", "schema", "module"], include_str!("../../../../docs/module.schema.json")),
    ];
    for (args, text) in documented {
        assert_eq!(bed.plumbline(args).expect(0).out, text, "{args:?}");
    }
    let refused = bed.plumbline(&["gen", "schema", "archive"]).expect(2);
    assert!(refused.err.contains("definition"), "{}", refused.err);
}
