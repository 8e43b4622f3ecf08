//! The role `aggregator` at the end of a run, over an in-memory API server: what happens in a
//! container that stays, or that is restarted.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

use plumbline_dev::{ApiDouble, Fault, FaultKind};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::bed::{Bed, Done, Running, wait_for};

pub(crate) const ARGS: [&str; 6] = ["aggregator", "--no-exit", "--dir", "out", "--kubeconfig", "kubeconfig"];
const FINISHED: &str = "out/.plumbline-finished.json";

/// A cluster with the aggregator's pod, and the files in its container.
pub(crate) struct Pod {
    pub(crate) bed: Bed,
    pub(crate) double: ApiDouble,
    _runtime: Runtime,
}

impl Pod {
    /// Creates a pod that advertises port 1 to its workers. Nothing listens there.
    pub(crate) fn new(own: &Value) -> Self {
        Self::advertising("127.0.0.1:1", own)
    }

    pub(crate) fn advertising(advertised: &str, own: &Value) -> Self {
        let (runtime, bed) = (Runtime::new().unwrap(), Bed::new());
        let double = runtime.block_on(ApiDouble::start()).unwrap();
        bed.write("kubeconfig", &double.kubeconfig());
        double.put("namespaces", json!({"metadata": {"name": "checks"}}));
        double.put("nodes", json!({"metadata": {"name": "n1"}}));
        let container = json!({"name": "kube-sonobuoy", "image": "r/plumbline:1"});
        double.put(
            "pods",
            json!({
                "metadata": {"name": "sonobuoy", "namespace": "checks"},
                "spec": {"containers": [container]},
                "status": {"phase": "Running"},
            }),
        );
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = json!({
            "Namespace": "checks",
            "WorkerImage": "r/plumbline:1",
            "PluginSearchPath": ["plugins.d"],
            "Server": {"bindaddress": "127.0.0.1", "bindport": port, "advertiseaddress": advertised},
            "Plumbline": own,
        });
        bed.write("config.json", &config.to_string());
        bed.write(
            "plugins.d/smoke.yaml",
            "sonobuoy-config: {driver: Job, plugin-name: smoke, result-format: raw}\nspec: {name: plugin, image: r/i:1}\n",
        );
        fs::create_dir(bed.path("out")).unwrap();
        Self { bed, double, _runtime: runtime }
    }

    /// Starts the aggregator, and waits until it only stays for its archive to be downloaded.
    fn stays(&self) -> Running {
        let running = self.bed.start("aggregator", &ARGS);
        wait_for("the end of the run", || {
            running.err().contains("this pod keeps running so that its archive can be downloaded")
        });
        running
    }

    /// Sets a key of the configuration.
    fn configure(&self, key: &str, value: Value) {
        let mut config: Value = serde_json::from_slice(&fs::read(self.bed.path("config.json")).unwrap()).unwrap();
        config[key] = value;
        self.bed.write("config.json", &config.to_string());
    }

    /// Returns the status that the aggregator published last.
    fn status(&self) -> Value {
        let pods = self.double.list("pods");
        let own = pods.iter().find(|pod| pod["metadata"]["name"] == "sonobuoy").unwrap();
        let text = own["metadata"]["annotations"]["sonobuoy.hept.io/status"].as_str();
        text.map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
    }

    fn looked_at(&self, command: &[&str]) -> Done {
        self.double.update("pods", "checks", "sonobuoy", |pod| {
            pod["metadata"]["labels"] = json!({"sonobuoy-component": "aggregator", "component": "sonobuoy"});
        });
        self.bed.plumbline(&[command, &["--kubeconfig", "kubeconfig", "-n", "checks"]].concat())
    }
}

#[test]
fn status_and_wait_show_why_a_run_failed() {
    let pod = Pod::new(&json!({}));
    fs::copy(pod.bed.path("plugins.d/smoke.yaml"), pod.bed.path("plugins.d/twin.yaml")).unwrap();
    let running = pod.stays();
    let status = pod.status();
    assert_eq!((&status["status"], &status["plugins"]), (&json!("failed"), &Value::Null));
    assert_eq!(status["failure"]["reason"], "two definitions have the name `smoke`");
    for command in ["status", "wait"] {
        let done = pod.looked_at(&[command]).expect(4);
        assert!(
            done.out.contains("\ncause: two definitions have the name `smoke`\nhint:  rename the second, `"),
            "{}",
            done.out
        );
    }
    let data: Value = serde_json::from_str(&pod.looked_at(&["status", "-o", "json"]).expect(4).out).unwrap();
    assert_eq!(data["failure"], status["failure"]);
    let done = pod.looked_at(&["retrieve"]);
    assert!(done.code != 0 && done.err.contains("the run failed: two definitions"), "{}", done.err);
    running.signal("TERM");
    running.wait().expect(4);
}

#[test]
fn a_run_that_breaks_off_says_why_and_how_far_it_was() {
    let pod = Pod::new(&json!({"FailFast": true}));
    // A directory is in the place of a file that is written at the end of the run.
    pod.bed.write("out/.plumbline-run-aggregator/tree/meta/info.json/file", "in the way");
    let running = pod.stays();
    let status = pod.status();
    assert_eq!((&status["status"], &status["plugins"][0]["plugin"]), (&json!("failed"), &json!("smoke")), "{status}");
    let reason = status["failure"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("the run was interrupted: ") && reason.contains("info.json"), "{reason}");
    running.signal("TERM");
    running.wait().expect(4);
}

#[test]
fn a_run_that_cannot_begin_in_its_container_says_why() {
    let (broken, occupied) = (Pod::new(&json!({})), Pod::new(&json!({})));
    broken.bed.write("config.json", "{");
    // A file is in the place of the directory for the log of the run.
    occupied.bed.write("out/.plumbline-run-aggregator/tree/meta", "in the way");
    for (pod, code, why) in [(broken, 2, "invalid configuration `config.json`"), (occupied, 4, "meta")] {
        let mut command = pod.bed.command(&ARGS);
        command.env("SONOBUOY_NAMESPACE", "checks").env("SONOBUOY_POD", "sonobuoy");
        pod.bed.start_command("aggregator", command).wait().expect(code);
        let status = pod.status();
        assert_eq!(status["status"], "failed");
        assert!(status["failure"]["reason"].as_str().unwrap().contains(why), "{status}");
    }
}

/// Checks that the process runs until it gets SIGTERM, and then exits with code 0.
fn ends_on_sigterm(running: Running) {
    assert!(fs::exists(format!("/proc/{}/exe", running.id())).unwrap());
    running.signal("TERM");
    running.wait().expect(0);
}

#[test]
fn a_run_that_fails_fast_leaves_an_archive_that_can_be_fetched() {
    let pod = Pod::new(&json!({"FailFast": true}));
    // Nothing listens at the address that workers would connect to.
    let running = pod.stays();
    assert!(running.err().contains("failed to reach the aggregator at `https://127.0.0.1:1`"), "{}", running.err());
    let status: Value = serde_json::from_slice(&fs::read(pod.bed.path(FINISHED)).unwrap()).unwrap();
    assert_eq!((&status["status"], &status["interrupted"]), (&json!("complete"), &json!(true)));
    // No plugin has a result with the reason, so the status has it.
    let reason = status["failure"]["reason"].as_str().unwrap();
    assert!(reason.contains("failed to reach the aggregator at `https://127.0.0.1:1`"), "{reason}");
    assert!(status["failure"]["hint"].as_str().unwrap().contains("--fail-fast"), "{status}");
    pod.bed.plumbline(&["results", &pod.bed.archive()]);
    // The archive identifies the cluster.
    let info: Value = serde_json::from_str(&pod.bed.member("meta/info.json")).unwrap();
    let cluster = pod.double.list("namespaces").into_iter().find(|it| it["metadata"]["name"] == "kube-system").unwrap();
    assert_eq!(info["cluster"]["uid"], cluster["metadata"]["uid"], "{info}");
    assert!(info["cluster"]["uid"].is_string() && info["cluster"]["server-version"].is_string(), "{info}");
    // Nobody takes the missing logs for those of a cluster without any.
    let queries: Value = serde_json::from_str(&pod.bed.member("meta/query-time.json")).unwrap();
    assert_eq!(queries[0]["error"]["message"], "the survey did not finish", "{queries}");
    ends_on_sigterm(running);
}

#[test]
fn a_worker_is_a_native_sidecar_where_the_server_has_them() {
    for (version, is_native) in [("v1.20.2", false), ("v1.28.15", false), ("v1.29.0", true), ("v1.34.1+k3s1", true)] {
        let pod = Pod::advertising("", &json!({}));
        pod.double.set_version(version);
        let running = pod.bed.start("aggregator", &ARGS);
        let made = || {
            let pods = pod.double.list("pods");
            pods.into_iter().find(|pod| pod["metadata"]["name"].as_str().unwrap().starts_with("sonobuoy-smoke-job-"))
        };
        wait_for("the plugin's pod", || made().is_some());
        let spec = &made().unwrap()["spec"];
        let named = |set: &str| {
            let containers = spec[set].as_array().into_iter().flatten();
            containers.map(|container| container["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        if is_native {
            assert_eq!(
                (named("initContainers"), named("containers")),
                (vec!["sonobuoy-worker".to_owned()], vec!["plugin".to_owned()]),
                "{version}"
            );
            assert_eq!(spec["initContainers"][0]["restartPolicy"], "Always");
        } else {
            assert_eq!(
                (named("initContainers").len(), named("containers")),
                (0, vec!["plugin".to_owned(), "sonobuoy-worker".to_owned()]),
                "{version}"
            );
        }
        drop(running);
    }
}

#[test]
fn a_run_whose_volume_outlives_the_pod_is_left_to_the_next_one() {
    let pod = Pod::advertising("", &json!({"Storage": "pvc:1Gi"}));
    // Repeated, because a race would not fail every time.
    for life in 0..8 {
        let running = pod.bed.start("aggregator", &ARGS);
        wait_for("the run", || running.err().contains("launched"));
        running.signal("TERM");
        let done = running.wait().expect(143);
        assert_eq!(done.err.contains("begun=Continued"), life > 0, "{}", done.err);
        assert!(!done.err.contains("interrupted"), "{}", done.err);
    }
    assert!(!pod.bed.path(FINISHED).exists());
}

#[test]
fn a_start_that_the_cluster_delays_is_left_to_the_next_pod() {
    let pod = Pod::advertising("", &json!({"Storage": "pvc:1Gi"}));
    let kind = FaultKind::Status { code: 503, message: "the API server is starting".into(), retry_after: None };
    let path_contains = "/pods/sonobuoy".to_owned();
    pod.double.fault(Fault { method: Some("GET"), path_contains, kind, times: 1000 });
    let running = pod.bed.start("aggregator", &ARGS);
    wait_for("the first attempt", || running.err().contains("the API server is starting"));
    running.signal("TERM");
    running.wait().expect(143);
    assert_eq!(pod.status(), Value::Null, "the run has not failed");
    pod.double.clear_faults();
    let running = pod.bed.start("aggregator", &ARGS);
    wait_for("the run", || running.err().contains("launched"));
}

#[test]
fn an_archive_that_was_not_sent_away_is_sent_by_the_next_container() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/nightly/", listener.local_addr().unwrap());
    let taking = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(&stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            reader.read_line(&mut head).unwrap();
        }
        let mut body = [0; 7];
        reader.read_exact(&mut body).unwrap();
        (&stream).write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        (head, body)
    });
    let pod = Pod::new(&json!({"UploadURL": url}));
    // The previous container was killed after the run finished, before it uploaded the archive.
    let tar = json!({"name": "x.tar.gz", "created": "2026-11-20T13:00:00Z", "sha256": "ab".repeat(32), "size": 7});
    pod.bed.write(FINISHED, &json!({"status": "complete", "plugins": [], "tar-info": tar}).to_string());
    pod.bed.write("out/x.tar.gz", "archive");
    let running = pod.stays();
    let (head, body) = taking.join().unwrap();
    assert!(head.starts_with("PUT /nightly/x.tar.gz HTTP/1.1\r\n"), "{head}");
    assert_eq!(&body, b"archive");
    let status: Value = serde_json::from_slice(&fs::read(pod.bed.path(FINISHED)).unwrap()).unwrap();
    assert_eq!(status["delivery"], format!("{url}x.tar.gz"));
    ends_on_sigterm(running);
    // The archive is not uploaded again: nothing listens there any more.
    ends_on_sigterm(pod.stays());
}

#[test]
fn a_finished_run_keeps_its_id_in_the_next_container() {
    let pod = Pod::advertising("", &json!({}));
    fs::remove_file(pod.bed.path("plugins.d/smoke.yaml")).unwrap();
    ends_on_sigterm(pod.stays());
    let first = pod.status();
    let run = first["run"].as_str().unwrap();
    assert!(first["tar-info"]["name"].as_str().unwrap().contains(run), "{first}");
    ends_on_sigterm(pod.stays());
    let second = pod.status();
    assert_eq!((&second["run"], &second["tar-info"]), (&first["run"], &first["tar-info"]));
}

#[test]
fn another_manifest_on_the_volume_of_a_finished_run_starts_another_run() {
    let pod = Pod::advertising("", &json!({"Storage": "pvc:1Gi"}));
    fs::remove_file(pod.bed.path("plugins.d/smoke.yaml")).unwrap();
    ends_on_sigterm(pod.stays());
    let (first, archive) = (pod.status(), pod.bed.archive());
    // The same manifest, as another version writes it.
    pod.configure("Version", json!("v0.0.1"));
    let again = pod.stays();
    assert!(again.err().contains("the run had finished before"), "{}", again.err());
    ends_on_sigterm(again);
    assert_eq!(pod.status()["run"], first["run"]);

    pod.configure("Resources", json!(["nodes"]));
    let other = pod.stays();
    assert!(!other.err().contains("the run had finished before"), "{}", other.err());
    ends_on_sigterm(other);
    let second = pod.status();
    assert_ne!(second["run"], first["run"], "the first run says nothing about this manifest");
    let archives = pod.bed.archives();
    assert!(archives.len() == 2 && archives.contains(&archive.into()), "{archives:?}");
    ends_on_sigterm(pod.stays());
    assert_eq!(pod.status()["tar-info"], second["tar-info"], "from here on, the second run has finished");
}

#[test]
fn another_manifest_on_the_volume_of_an_unfinished_run_is_rejected() {
    let pod = Pod::advertising("", &json!({"Storage": "pvc:1Gi"}));
    let left = |begun: &str| {
        let running = pod.bed.start("aggregator", &ARGS);
        wait_for("the run", || running.err().contains("launched"));
        running.signal("TERM");
        let done = running.wait().expect(143);
        assert!(done.err.contains(begun), "{}", done.err);
    };
    left("begun=New");
    let definition = fs::read_to_string(pod.bed.path("plugins.d/smoke.yaml")).unwrap();
    pod.bed.write("plugins.d/smoke.yaml", &definition.replace("r/i:1", "r/i:2"));
    let mut command = pod.bed.command(&ARGS);
    command.env("SONOBUOY_NAMESPACE", "checks").env("SONOBUOY_POD", "sonobuoy");
    pod.bed.start_command("aggregator", command).wait().expect(2);
    let status = pod.status();
    assert_eq!(status["status"], "failed", "{status}");
    let reason = status["failure"]["reason"].as_str().unwrap();
    assert!(reason.contains("unfinished run of another manifest"), "{reason}");
    assert!(status["failure"]["hint"].as_str().unwrap().contains("apply its manifest again"), "{status}");
    pod.bed.write("plugins.d/smoke.yaml", &definition);
    left("begun=Continued");
}

/// The configuration skips all plugins, or there are none. Either way, the run only surveys the
/// cluster.
#[test]
fn a_run_without_plugins_collects_the_state_of_the_cluster() {
    for skips in [true, false] {
        let pod = Pod::advertising("", &json!({}));
        if skips {
            pod.configure("SkipPlugins", true.into());
        } else {
            fs::remove_file(pod.bed.path("plugins.d/smoke.yaml")).unwrap();
        }
        let running = pod.stays();
        let status = pod.status();
        assert_eq!((&status["status"], &status["plugins"]), (&json!("complete"), &Value::Null), "{status}");
        assert!(
            pod.double.list("pods").iter().all(|pod| pod["metadata"]["name"] == "sonobuoy"),
            "no plugin was launched"
        );
        let archive = pod.bed.archive();
        let listed =
            std::process::Command::new("tar").args(["-tzf", pod.bed.path(&archive).to_str().unwrap()]).output();
        let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
        assert!(listed.contains("resources/cluster/core_v1_nodes.json"), "{listed}");
        let done = pod.bed.plumbline(&["results", &archive]).expect(2);
        assert!(done.err.contains("has no plugins"), "{}", done.err);
        // Without results there is no verdict, and commands that look at the run report that.
        let done = pod.looked_at(&["status"]).expect(5);
        assert!(done.out.contains("The run is complete: there is nothing to judge."), "{}", done.out);
        pod.looked_at(&["wait"]).expect(5);
        ends_on_sigterm(running);
    }
}
