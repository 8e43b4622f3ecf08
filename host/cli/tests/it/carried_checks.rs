//! The process of a check in a pod: it starts with the code that the aggregator compiled.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use plumbline_core::{CHECK_VARIABLE, CheckRun};
use serde_json::{Value, json};

use crate::aggregator_role::{ARGS, Pod};
use crate::bed::{Bed, Done, wait_for};

const DEFINITION: &str = "sonobuoy-config: {driver: Job, plugin-name: look}\nplumbline:\n  component: misbehave.wasm\n  options: {behaviour: progress-flood}\n";

/// What a pod of a check gets: its variable, and the directory with the chunks.
struct CheckPod {
    bed: Bed,
    run: CheckRun,
    /// What the aggregator logged.
    log: String,
}

impl CheckPod {
    /// Runs the role `aggregator` until it has created the pod of a check, and mounts its ConfigMaps.
    fn launched() -> Self {
        let pod = Pod::advertising("", &json!({}));
        let bundle = pod.bed.write("bundles/look/plugin.yaml", DEFINITION);
        let modules = std::env::var_os("PLUMBLINE_MODULES")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), PathBuf::from);
        fs::copy(modules.join("guests/misbehave.wasm"), bundle.with_file_name("misbehave.wasm")).unwrap();
        let packed: Value =
            serde_json::from_str(&pod.bed.plumbline(&["plugin", "pack", "bundles/look", "--json"]).expect(0).out)
                .unwrap();
        fs::rename(pod.bed.path("plugins.d/smoke.yaml"), pod.bed.path("smoke.yaml")).unwrap();
        pod.bed.write("plugins.d/look.yaml", DEFINITION);
        let mut config: Value = serde_json::from_slice(&fs::read(pod.bed.path("config.json")).unwrap()).unwrap();
        config["Plumbline"] = json!({"Bundles": [{"Plugin": "look", "Reference": "", "Digest": packed["digest"]}]});
        pod.bed.write("config.json", &config.to_string());

        let aggregator = pod.bed.start("aggregator", &[&ARGS[..], &["--baked", "bundles"]].concat());
        let created = || {
            let pods = pod.double.list("pods");
            pods.into_iter().find(|pod| pod["metadata"]["name"].as_str().unwrap().starts_with("sonobuoy-look-job-"))
        };
        wait_for("the pod of the check", || created().is_some());
        let spec = created().unwrap()["spec"].take();
        let directory = pod.bed.path("check");
        fs::create_dir(&directory).unwrap();
        for map in pod.double.list("configmaps") {
            if map["metadata"]["name"].as_str().unwrap().starts_with("plumbline-check-") {
                for (key, value) in map["binaryData"].as_object().unwrap() {
                    fs::write(directory.join(key), decoded(value.as_str().unwrap())).unwrap();
                }
            }
        }
        let container = spec["containers"].as_array().unwrap().iter().find(|one| one["name"] == "plugin").unwrap();
        let env = container["env"].as_array().unwrap();
        let variable = env.iter().find(|variable| variable["name"] == CHECK_VARIABLE).unwrap();
        let mut run: CheckRun = serde_json::from_str(variable["value"].as_str().unwrap()).unwrap();
        run.component = directory;
        let log = anstream::adapter::strip_str(&aggregator.err()).to_string();
        Self { bed: pod.bed, run, log }
    }

    /// Runs the container of the check. Returns its only item, and what it logged.
    fn run(&self) -> (Value, String) {
        let results = self.bed.path("results");
        let _ = fs::remove_dir_all(&results);
        fs::create_dir(&results).unwrap();
        let mut command = self.bed.command(&["run-check"]);
        command.env(CHECK_VARIABLE, self.run.to_variable().unwrap()).env("RESULTS_DIR", &results);
        let done = Done::of(command).expect(0);
        let items = fs::read_to_string(results.join("items.jsonl")).unwrap();
        (serde_json::from_str(&items).unwrap(), anstream::adapter::strip_str(&done.err).to_string())
    }

    fn code_chunk(&self) -> PathBuf {
        self.run.component.join("look_misbehave.code.gz.000")
    }
}

/// Decodes base64 with the program of the system.
pub(crate) fn decoded(text: &str) -> Vec<u8> {
    let mut child = Command::new("base64").arg("-d").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = text.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    output.stdout
}

fn compressed(bytes: &[u8], to: &Path) {
    let mut file = GzEncoder::new(fs::File::create(to).unwrap(), Compression::fast());
    file.write_all(bytes).unwrap();
    file.finish().unwrap();
}

#[test]
fn a_pod_starts_with_the_code_that_the_aggregator_compiled_or_compiles_itself() {
    let mut pod = CheckPod::launched();
    assert!(pod.log.contains("compiled the check in "), "{}", pod.log);
    let (item, log) = pod.run();
    assert_eq!((&item["name"], &item["status"]), (&json!("done"), &json!("passed")), "{log}");
    assert!(log.contains("compiled by the aggregator"), "{log}");

    let mut other = pod.run.code.clone().unwrap();
    other.target = "another-platform".to_owned();
    let code = pod.run.code.replace(other);
    let (item, log) = pod.run();
    assert_eq!(item["status"], "passed", "{log}");
    assert!(log.contains("is for another platform: another-platform") && log.contains("compiled here"), "{log}");

    pod.run.code = code;
    compressed(b"other code", &pod.code_chunk());
    let refused = "the compiled code of the check is not the one that the aggregator sent: its ConfigMaps were changed";
    let (item, log) = pod.run();
    assert_eq!((&item["status"], &item["meta"]["error"]), (&json!("unknown"), &json!(refused)), "{log}");
    fs::remove_file(pod.code_chunk()).unwrap();
    assert_eq!(pod.run().0["meta"]["error"], refused);
}
