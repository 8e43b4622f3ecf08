//! `retrieve`, `delete` and `get`, over an API server whose pod executes commands with this binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plumbline_core::text::steers_terminal;
use plumbline_dev::{ApiDouble, ExecReply};
use serde_json::{Value, json};

use crate::bed::{Bed, Done, wait_for};
use crate::compat::sonobuoy;
use crate::signing::keygen;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");
const ARCHIVE: &str = "202611201300_plumbline_x.tar.gz";

/// A cluster with a complete or unfinished run.
pub(crate) struct Cluster {
    pub(crate) bed: Bed,
    pub(crate) double: ApiDouble,
}

impl Cluster {
    pub(crate) async fn new(status: &Value) -> Self {
        let (bed, double) = (Bed::new(), ApiDouble::start().await.unwrap());
        bed.write("kubeconfig", &double.kubeconfig());
        fs::create_dir(bed.path("pod")).unwrap();
        double.put(
            "namespaces",
            json!({"metadata": {"name": "sonobuoy", "labels": {"plumbline.dev/run-namespace": "true"}}}),
        );
        let labels =
            |role: &str| json!({"component": "sonobuoy", "sonobuoy-component": role, "sonobuoy-plugin": "e2e"});
        for (name, role, status) in
            [("sonobuoy", "aggregator", status.to_string()), ("sonobuoy-e2e-job-1", "plugin", String::new())]
        {
            double.put(
                "pods",
                json!({
                    "metadata": {"name": name, "namespace": "sonobuoy", "labels": labels(role),
                        "annotations": {"sonobuoy.hept.io/status": status}},
                    "spec": {"containers": [{"name": "kube-sonobuoy", "image": "x"}]},
                    "status": {"phase": "Running"},
                }),
            );
        }
        let pod = bed.path("pod");
        double.on_exec(move |request| in_pod(&pod, &request.command));
        Self { bed, double }
    }

    /// Runs the binary. The call blocks this thread, and the double answers on others.
    fn plumbline(&self, args: &[&str]) -> Done {
        let kubeconfig = self.bed.path("kubeconfig");
        let args: Vec<&str> = args.iter().copied().chain(["--kubeconfig", kubeconfig.to_str().unwrap()]).collect();
        tokio::task::block_in_place(|| self.bed.plumbline(&args))
    }

    /// Puts an archive into the aggregator's pod.
    pub(crate) fn archive(&self) -> PathBuf {
        let path = self.bed.path("pod").join(ARCHIVE);
        fs::copy(SAMPLE, &path).unwrap();
        path
    }
}

/// Executes a command as in the pod, whose directory is `dir`.
fn in_pod(dir: &Path, command: &[String]) -> ExecReply {
    let args = command.iter().skip(1).map(|word| if word == "/tmp/sonobuoy" { dir.to_str().unwrap() } else { word });
    let output = Command::new(env!("CARGO_BIN_EXE_plumbline")).args(args).output().unwrap();
    let exit_code = output.status.code().unwrap();
    ExecReply { stdout: output.stdout, stderr: output.stderr, exit_code, cut_after: None }
}

/// Returns the status of a run that is complete.
pub(crate) fn complete(sha256: &str) -> Value {
    json!({"status": "complete", "tar-info": {"name": ARCHIVE, "size": 0, "sha256": sha256}})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_comes_home_and_is_what_it_was() {
    let cluster = Cluster::new(&complete("")).await;
    cluster.archive();
    let done = cluster.plumbline(&["retrieve", "home"]).expect(0);
    assert_eq!(done.out, format!("home/{ARCHIVE}\n"));
    assert!(done.err.contains("next: plumbline results home/"), "{}", done.err);
    assert!(fs::read(cluster.bed.path("home").join(ARCHIVE)).unwrap() == fs::read(SAMPLE).unwrap());

    let done = cluster.plumbline(&["retrieve", "unpacked", "-x", "-f", "mine.tar.gz"]).expect(0);
    assert_eq!(done.out, "");
    assert!(cluster.bed.path("unpacked/meta").is_dir() && !cluster.bed.path("unpacked/mine.tar.gz").exists());
    cluster.plumbline(&["retrieve", "-f", "../mine.tar.gz"]).expect(2);
}

/// The pod of the run in `namespace` is complete as soon as it was created.
pub(crate) fn completes(cluster: &Cluster, namespace: &str, interrupted: bool) {
    let status = json!({"status": "complete", "interrupted": interrupted, "tar-info": {"name": ARCHIVE, "size": 0, "sha256": ""},
        "plugins": [{"plugin": "unit", "node": "global", "status": "complete", "result-status": "passed", "result-counts": null}]});
    wait_for("the aggregator's pod", || cluster.double.get("pods", namespace, "sonobuoy").is_some());
    cluster.double.update("pods", namespace, "sonobuoy", |pod| {
        pod["status"]["phase"] = json!("Running");
        pod["metadata"]["annotations"]["sonobuoy.hept.io/status"] = status.to_string().into();
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_a_cluster_is_attested_on_this_machine() {
    let cluster = Cluster::new(&complete("")).await;
    let bed = &cluster.bed;
    keygen(bed, "release");
    // The archive of a run that passed.
    bed.write("report.xml", "<testsuite name='s'><testcase name='a'/></testsuite>");
    bed.plugin("unit", "result-format: junit", "cp report.xml $SONOBUOY_RESULTS_DIR/");
    bed.run(&["unit"], &[]).expect(0);
    fs::rename(bed.archive(), bed.path("pod").join(ARCHIVE)).unwrap();
    bed.write("smoke.yaml", "sonobuoy-config: {driver: Job, plugin-name: smoke}\nspec: {name: plugin, image: r/i:1}\n");
    // What the run itself knows counts too.
    for (namespace, interrupted, result, code) in [("one", false, "PASSED", 0), ("two", true, "FAILED", 1)] {
        let options =
            ["--wait", "--retrieve", "--dir", namespace, "--sign", "release.key", "--kubeconfig", "kubeconfig"];
        let running = bed.start("run", &[&["run", "-p", "smoke.yaml", "-n", namespace], &options[..]].concat());
        completes(&cluster, namespace, interrupted);
        let done = running.wait();
        assert_eq!(done.code == 0, code == 0, "{}{}", done.out, done.err);
        assert!(done.err.contains(&format!("({result})")), "{}", done.err);
        let archive = format!("{namespace}/{ARCHIVE}");
        let verified =
            bed.plumbline(&["results", "verify", &archive, "--key", "release.pub", "-o", "json"]).expect(code);
        let verified: Value = serde_json::from_str(&verified.out).unwrap();
        assert_eq!((&verified["verified"], &verified["result"]), (&json!(true), &json!(result)), "{verified}");
    }
    // If that fails, the outcome is printed all the same.
    fs::create_dir_all(bed.path("three").join(format!("{ARCHIVE}.sigstore.json"))).unwrap();
    let options = ["--wait", "--retrieve", "--dir", "three", "--sign", "release.key", "--kubeconfig", "kubeconfig"];
    let running = bed.start("run", &[&["run", "-p", "smoke.yaml", "-n", "three", "-o", "json"], &options[..]].concat());
    completes(&cluster, "three", false);
    let done = running.wait();
    assert_ne!(done.code, 0, "{}", done.err);
    let document: Value = serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}", done.err));
    assert_eq!(document["verdict"], "passed", "{document}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_the_download_of_a_run_that_was_followed() {
    let cluster = Cluster::new(&complete("")).await;
    let bed = &cluster.bed;
    cluster.archive();
    bed.write("smoke.yaml", "sonobuoy-config: {driver: Job, plugin-name: smoke}\nspec: {name: plugin, image: r/i:1}\n");
    let (asked, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (pod, was_asked, is_over) = (bed.path("pod"), Arc::clone(&asked), Arc::clone(&over));
    cluster.double.on_exec(move |request| {
        if request.command.iter().any(|word| word == "--offset") {
            was_asked.store(true, Ordering::Relaxed);
            wait_for("the end of the command", || is_over.load(Ordering::Relaxed));
        }
        in_pod(&pod, &request.command)
    });
    let options = ["-n", "one", "--wait", "--retrieve", "--dir", "home", "--kubeconfig", "kubeconfig"];
    let running = bed.start("run", &[&["run", "-p", "smoke.yaml"], &options[..]].concat());
    completes(&cluster, "one", false);
    wait_for("the download", || asked.load(Ordering::Relaxed));
    running.signal("TERM");
    let done = running.wait().expect(130);
    over.store(true, Ordering::Relaxed);
    assert!(done.err.contains("to resume, run `plumbline retrieve home -n one`"), "{}", done.err);
    assert!(!bed.path("home").join(ARCHIVE).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_tell_how_far_it_came() {
    let cluster = Cluster::new(
        &json!({"status": "running", "plugins": [{"plugin": "e2e", "node": "global", "status": "running"}]}),
    )
    .await;
    let codes = |strict, compat| {
        let done = cluster.plumbline(&["retrieve"]).expect(strict);
        assert_eq!(done.out, "");
        cluster.plumbline(&["retrieve", "--exit-code=compat"]).expect(compat);
        let as_sonobuoy = || sonobuoy(&cluster.bed, &["retrieve", "--kubeconfig", "kubeconfig"]);
        let named = tokio::task::block_in_place(as_sonobuoy);
        assert_eq!(named.status.code(), Some(compat), "{}", String::from_utf8_lossy(&named.stderr));
        done.err
    };
    insta::assert_snapshot!(codes(3, 2), @r"
    error: failed to retrieve the archive of the run in namespace `sonobuoy`
    cause: no archive yet: the run continues, 0 of 1 results are in; missing: `e2e`
    hint:  wait for it with `--wait`, or download the results so far with `--partial`
    ");
    let status = complete(&"00".repeat(32)).to_string();
    cluster.double.update("pods", "sonobuoy", "sonobuoy", |pod| {
        pod["metadata"]["annotations"]["sonobuoy.hept.io/status"] = status.into();
    });
    codes(3, 2);
    cluster.archive();
    assert!(codes(4, 2).contains(".tar.gz.damaged`; try again"));
    cluster.double.remove("pods", "sonobuoy", "sonobuoy");
    insta::assert_snapshot!(codes(4, 1), @r"
    error: failed to find the aggregator's pod in namespace `sonobuoy`
    cause: the pod does not exist
    hint:  check whether the run was deleted; start a new one with `plumbline run`
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn partial_results_of_an_active_run_can_be_downloaded() {
    let cluster = Cluster::new(&json!({"status": "running"})).await;
    cluster.plumbline(&["retrieve", "--partial"]).expect(4);
    cluster.bed.write("pod/.plumbline-run-1/tree/meta/info.json", "{}");
    let done = cluster.plumbline(&["retrieve", "--partial", "-f", "part.tar.gz"]).expect(0);
    assert_eq!(done.out, "./part.tar.gz\n");
    cluster.archive();
    cluster.double.update("pods", "sonobuoy", "sonobuoy", |pod| {
        pod["metadata"]["annotations"]["sonobuoy.hept.io/status"] = complete("").to_string().into();
    });
    assert_eq!(cluster.plumbline(&["retrieve", "--partial"]).expect(0).out, format!("./{ARCHIVE}\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_deleted_once_and_for_all() {
    let cluster = Cluster::new(&complete("")).await;
    assert_eq!(cluster.plumbline(&["get", "pod"]).expect(0).out, "sonobuoy-e2e-job-1\n");
    assert_eq!(cluster.plumbline(&["get", "pod", "-p", "other"]).expect(0).out, "");
    let done = cluster.plumbline(&["delete", "--dry-run"]).expect(0);
    insta::assert_snapshot!(done.out, @r"
    will be deleted from cluster `double`:
      namespace `sonobuoy` with everything in it
        2 pods
    ");
    assert!(cluster.double.get("pods", "sonobuoy", "sonobuoy").is_some());
    let done = cluster.plumbline(&["delete", "--wait"]).expect(0);
    assert!(done.out.is_empty() && done.err.contains("deleted everything"), "{}", done.err);
    assert!(cluster.double.get("namespaces", "", "sonobuoy").is_none());
    let done = cluster.plumbline(&["delete", "--wait=1m"]).expect(0);
    assert!(done.err.contains("nothing to delete in cluster `double`"), "{}", done.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_in_the_cluster_does_not_control_the_terminal_of_a_deletion() {
    let cluster = Cluster::new(&complete("")).await;
    let name = "x\u{1b}[2J\u{202e}\nerror: forged";
    cluster.double.put("configmaps", json!({"metadata": {"name": name, "namespace": "sonobuoy"}}));
    for args in [&["delete", "--dry-run"][..], &["delete"]] {
        let done = cluster.plumbline(args).expect(0);
        let shown = format!("{}{}", done.out, done.err);
        assert!(shown.contains("not part of the run: config map `x"), "{shown}");
        assert!(shown.contains("forged") && !shown.contains("\nerror: forged"), "{shown}");
        assert!(!shown.chars().any(|c| steers_terminal(c) && c != '\n'), "{shown:?}");
    }
}

/// Runs a command with `-o json`, and expects the exit code `code`.
fn data(cluster: &Cluster, code: i32, args: &[&str]) -> Value {
    let done = cluster.plumbline(&[args, &["-o", "json"]].concat()).expect(code);
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_result_is_data_too() {
    let cluster = Cluster::new(&complete("")).await;
    assert_eq!(data(&cluster, 0, &["get", "pod"]), json!({"pods": ["sonobuoy-e2e-job-1"]}));
    let ended = data(&cluster, 5, &["wait"]);
    assert_eq!((&ended["status"], &ended["namespace"]), (&"complete".into(), &"sonobuoy".into()));
    assert_eq!(ended["exit-code"], 5, "nothing to judge: {ended}");
    cluster.archive();
    let retrieved = data(&cluster, 0, &["retrieve", "home"]);
    assert_eq!(retrieved["archives"][0]["path"], format!("home/{ARCHIVE}"));
    assert_eq!((&retrieved["partial"], &retrieved["extracted"]), (&false.into(), &false.into()));
    let planned = data(&cluster, 0, &["delete", "--dry-run"]);
    let object =
        |outcome: &str| json!({"kind": "namespace", "namespace": null, "name": "sonobuoy", "outcome": outcome});
    assert_eq!(planned["objects"], json!([object("planned")]));
    let deleted = data(&cluster, 0, &["delete", "--wait"]);
    assert_eq!((&deleted["objects"], &deleted["remaining"]), (&json!([object("deleted")]), &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn log_lines_are_objects_and_their_end_can_be_selected() {
    let cluster = Cluster::new(&complete("")).await;
    cluster.double.set_log("sonobuoy", "sonobuoy", "kube-sonobuoy", "one\ntwo\n");
    let done = cluster.plumbline(&["logs", "-p", "sonobuoy", "--tail", "1", "-o", "json"]).expect(0);
    let line: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(line, json!({"namespace": "sonobuoy", "pod": "sonobuoy", "container": "kube-sonobuoy", "line": "two"}));
    let wrong = cluster.plumbline(&["logs", "--since", "10"]).expect(2);
    assert!(wrong.err.contains("invalid duration `10`: the unit is missing"), "{}", wrong.err);
}

#[test]
fn commands_of_the_pod_fail_as_clients_expect() {
    let bed = Bed::new();
    bed.plumbline(&["splat", "nowhere"]).expect(1);
    assert!(bed.plumbline(&["archive-piece", "."]).expect(2).err.to_lowercase().contains("usage:"));
    bed.plumbline(&["archive-piece", ".", "--name", "a.tar.gz"]).expect(2);
    assert_eq!(bed.plumbline(&["archive-piece", ".", "--list"]).expect(0).out, "{\"archives\":[]}\n");
    let done =
        bed.plumbline(&["archive-piece", ".", "--name", "../a.tar.gz", "--offset", "0", "--length", "1"]).expect(4);
    assert!(done.err.contains("invalid archive name") && !done.err.contains("sage:"), "{}", done.err);
}
