//! The examples in the help of commands, executed as printed: on this machine, with a registry, or with
//! an API server in place of a cluster.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use plumbline_dev::ApiDouble;
use serde_json::json;

use crate::bed::{Bed, Done};
use crate::guide::path_with_this_program;
use crate::image_maker::{Words, world_of};
use crate::images::mirrors;
use crate::in_cluster::{Cluster, complete, completes};
use crate::registries::{Registry, command};

/// Examples that are not executed, by a part of the line, with the reason.
const SKIPPED: &[(&str, &str)] = &[
    ("plumbline plugin build", "needs a toolchain"),
    ("plumbline plugin dev", "does not end by itself"),
    ("plumbline plugin run", "needs a built check; its own test executes it"),
    ("plumbline status --local", "executed after a run, below"),
    ("plumbline report", "needs a Job"),
    ("plumbline conformance run oci-distribution", "needs the program of the suite"),
    ("plumbline conformance run --submission-dir", "needs a run of the suite that passed"),
    ("plumbline conformance submission", "needs a run of the suite that passed"),
    ("pytest", "needs pytest"),
];

/// The version of Kubernetes in examples.
const VERSION: &str = "v1.37.2";

/// The registry in examples.
const REGISTRY: &str = "r.example";

/// Examples that need a registry, in an order in which each has what it needs.
const WITH_REGISTRY: &[&str] = &[
    "plumbline plugin push tap-lite.bundle.tar oci://r.example/checks/tap-lite:1",
    "plumbline plugin inspect oci://r.example/checks/tap-lite:1",
    "plumbline plugin install oci://r.example/checks/tap-lite:1",
    "plumbline plugin save oci://r.example/checks/tap-lite:1 --file tap-lite.tar",
    "plumbline plugin load tap-lite.tar --install",
    "plumbline plugin bake tap-lite.bundle.tar --base r.example/plumbline:1 --push oci://r.example/plumbline-checks:1",
    "plumbline plugin pull oci://r.example/checks/tap-lite:1",
    "plumbline results push oci://r.example/team/results:prod run.tar.gz",
    "plumbline results pull oci://r.example/team/results:prod --file run.tar.gz",
    "plumbline images list -p e2e --kubernetes-version v1.37.2",
    "plumbline images save -p host-facts --file images.tar",
    "plumbline images load images.tar --to r.example/mirror",
    "plumbline images pull -p e2e --kubernetes-version v1.37.2",
    "plumbline images push --to r.example/mirror",
    "plumbline images copy -p e2e --kubernetes-version auto --to r.example/mirror",
    "plumbline images check -p e2e --registry r.example/mirror --offline",
];

/// Files that must not exist before some of them.
const DOWNLOADED: &[(&str, &[&str])] = &[
    ("plumbline plugin pull", &["tap-lite.bundle.tar", "tap-lite.bundle.tar.sigstore.json"]),
    ("plumbline results pull", &["run.tar.gz"]),
];

/// Examples for a cluster with a run that has finished. The last one deletes it.
const OF_A_RUN: &[&str] = &[
    "plumbline status",
    "plumbline status --watch",
    "plumbline wait --timeout 90m",
    "plumbline logs --follow",
    "plumbline logs --since 10m -o json",
    "plumbline logs -p e2e --tail 20",
    "plumbline get pod -p e2e",
    "plumbline retrieve --partial",
    "plumbline retrieve archives/ --wait=90m",
    "plumbline query --dir cluster-state/",
    "plumbline conformance tests --version auto --skip '\\[Serial\\]'",
    "plumbline delete --all --dry-run",
    "plumbline delete --wait",
];

/// Examples that start a run in a cluster.
const STARTS_A_RUN: &[&str] = &[
    "plumbline run -p host-facts --wait=90m --retrieve --dir archives/",
    "plumbline conformance run --mode quick",
    "plumbline conformance run --retry-failed 2 --e2e-focus 'Pods should'",
];

/// The example that shows what a run would create.
const DRY_RUN: &str = "plumbline run -p e2e --mode quick --dry-run";

/// Examples with a verdict, by their start: those of failures, or of the state of this machine.
const VERDICTS: &[&str] = &[
    "plumbline results run.tar.gz",
    "plumbline results verify",
    "plumbline results runs/",
    "plumbline results tuesday.tar.gz",
    "plumbline run --local -p host-facts",
];

fn examples() -> Vec<String> {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let mut all = Vec::new();
    for entry in fs::read_dir(pages).unwrap() {
        let page = fs::read_to_string(entry.unwrap().path()).unwrap();
        for block in page.split("```sh\n").skip(1) {
            all.extend(block.split("```").next().unwrap().lines().map(str::to_owned));
        }
    }
    all.sort();
    all
}

/// Writes the files that examples read.
fn prepare(bed: &Bed, example: &str) {
    let report = "<testsuite name='s'><testcase name='a'/></testsuite>";
    bed.plugin("smoke", "result-format: junit", "cp report.xml $SONOBUOY_RESULTS_DIR/");
    bed.write("report.xml", report);
    for name in ["build/junit-api.xml", "build/junit-ui.xml", "unpacked/plugins/smoke/results/global/junit.xml"] {
        bed.write(name, report);
    }
    bed.write("known.yaml", "- {pattern: a, reason: known}\n");
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");
    for dir in ["runs", "archives"] {
        fs::create_dir_all(bed.path(dir)).unwrap();
    }
    for name in ["run.tar.gz", "runs/run.tar.gz", "archives/run.tar.gz", "monday.tar.gz"] {
        fs::copy(archive, bed.path(name)).unwrap();
    }
    let others = Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/tests/data");
    for (name, run) in [("tuesday", "quick-no-failures"), ("wednesday", "0.10")] {
        fs::copy(others.join(format!("results-{run}.tar.gz")), bed.path(&format!("{name}.tar.gz"))).unwrap();
    }
    for dir in ["home/.local/share/bash-completion/completions", "home/.config/fish/completions"] {
        fs::create_dir_all(bed.path(dir)).unwrap();
    }
    if example.contains("tap-lite") && !example.contains("plugin new") {
        project(bed);
    } else if example.contains("team.") {
        bed.plumbline(&["plugin", "keygen", "--file", "team"]).expect(0);
    }
    if example.contains(" csi") {
        let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/profiles/csi");
        bed.plumbline(&["plugin", "install", profile]).expect(0);
    }
    if example.contains("results verify") {
        bed.plumbline(&["results", "attest", "run.tar.gz", "--key", "team.key"]).expect(0);
    }
}

/// Makes the plugin `tap-lite`, as `plugin new` and `plugin build` leave it, and its bundle.
fn project(bed: &Bed) {
    bed.write(
        "tap-lite/plugin.yaml",
        "sonobuoy-config: {driver: Job, plugin-name: tap-lite, result-format: tap-lite}\nspec: {name: plugin, image: r.example/tap}\n",
    );
    bed.write("tap-lite/tests/empty/results/global/out.tap", "1..1\nok 1 a\n");
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), Into::into);
    fs::copy(modules.join("tap.wasm"), bed.path("tap-lite/tap-lite.wasm")).unwrap();
    for args in [
        &["plugin", "test", "tap-lite", "--bless"][..],
        &["plugin", "pack", "tap-lite"],
        &["plugin", "keygen", "--file", "team"],
        &["plugin", "sign", "--key", "team.key", "tap-lite.bundle.tar"],
        &["plugin", "install", "tap-lite.bundle.tar"],
    ] {
        bed.plumbline(args).expect(0);
    }
}

/// Returns a shell that executes an example. `path` has this program.
fn shell(bed: &Bed, example: &str, path: &OsStr) -> Command {
    let mut shell = Command::new("sh");
    for (name, value) in command(bed, &[]).get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.args(["-euc", example]).current_dir(bed.root()).env("PATH", path);
    shell.env("KUBECONFIG", "").env_remove("KUBERNETES_SERVICE_HOST");
    shell
}

/// Runs an example on this machine.
fn run(bed: &Bed, example: &str) -> Done {
    Done::of(shell(bed, example, &path_with_this_program(bed.root())))
}

/// Describes an example that failed.
fn failed(example: &str, done: &Done) -> String {
    format!("$ {example}\nexit code {}\n{}{}", done.code, done.out, done.err)
}

#[test]
fn examples_work_as_printed() {
    let (mut executed, mut wrong) = (0, Vec::new());
    for example in examples() {
        let elsewhere = [WITH_REGISTRY, OF_A_RUN, STARTS_A_RUN, &[DRY_RUN]].concat().contains(&example.as_str());
        if elsewhere || SKIPPED.iter().any(|(part, _)| example.contains(part)) {
            continue;
        }
        let bed = Bed::new();
        prepare(&bed, &example);
        if example.contains("plugin keygen") {
            // The keys of the fixture would be in the way.
            for key in ["team.key", "team.pub"] {
                let _ = fs::remove_file(bed.path(key));
            }
        }
        let done = run(&bed, &example);
        executed += 1;
        let verdict = VERDICTS.iter().any(|start| example.starts_with(start)) && [1, 3].contains(&done.code);
        if done.code != 0 && !verdict {
            wrong.push(failed(&example, &done));
        }
    }
    assert!(executed >= 40, "only {executed} examples were executed");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_status_of_a_local_run_is_shown_as_printed() {
    let bed = Bed::new();
    prepare(&bed, "");
    bed.plumbline(&["run", "--local", "-p", "smoke.yaml"]).expect(0);
    let done = run(&bed, "plumbline status --local -o json").expect(0);
    assert!(done.out.contains("\"status\": \"complete\""), "{}", done.out);
}

#[test]
fn every_listed_example_is_one_of_a_command() {
    let examples = examples();
    for example in [WITH_REGISTRY, OF_A_RUN, STARTS_A_RUN, &[DRY_RUN]].concat() {
        assert!(examples.iter().any(|known| known == example), "no command has the example `{example}`");
    }
    for (part, _) in SKIPPED {
        assert!(examples.iter().any(|known| known.contains(part)), "no example has `{part}`");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_work_as_printed_with_a_registry() {
    let (bed, double) = (Bed::new(), ApiDouble::start().await.unwrap());
    let Some(registry) = Registry::start(&bed, "storage") else { return };
    double.set_version(VERSION);
    bed.write("kubeconfig", &double.kubeconfig());
    prepare(&bed, "");
    project(&bed);
    let maker = world_of(&bed, VERSION);
    maker.name(&maker.image(Words::Oci, "amd64", &[("sonobuoy", "x")]), &format!("{REGISTRY}/plumbline:1"));
    registry.plumbline(&bed, &["images", "load", "world", "--to", &registry.host]).expect(0);
    let path = path_with_this_program(bed.root());
    let mut wrong = Vec::new();
    for example in WITH_REGISTRY {
        for (start, files) in DOWNLOADED {
            for file in files.iter().filter(|_| example.starts_with(start)) {
                // Not every bundle has signatures.
                let _ = fs::remove_file(bed.path(file));
            }
        }
        let mut shell = shell(&bed, &example.replace(REGISTRY, &registry.host), &path);
        shell.env("KUBECONFIG", bed.path("kubeconfig")).env("NO_PROXY", "127.0.0.1");
        shell.env("PLUMBLINE_INSECURE_REGISTRIES", &registry.host);
        shell.env("PLUMBLINE_REGISTRY_MIRRORS", mirrors(&registry.host));
        let done = tokio::task::block_in_place(|| Done::of(shell));
        if done.code != 0 {
            wrong.push(failed(example, &done));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns a cluster with a run that passed.
async fn cluster() -> Cluster {
    let mut status = complete("");
    status["plugins"] = json!([{"plugin": "e2e", "node": "global", "status": "complete", "result-status": "passed",
        "result-counts": null}]);
    let cluster = Cluster::new(&status).await;
    cluster.archive();
    cluster.double.set_version(VERSION);
    for pod in ["sonobuoy", "sonobuoy-e2e-job-1"] {
        cluster.double.set_log("sonobuoy", pod, "kube-sonobuoy", "a line\n");
    }
    cluster
}

/// Returns a shell for an example with this cluster. No registry answers.
fn shell_for(cluster: &Cluster, example: &str, path: &OsStr) -> Command {
    let mut shell = shell(&cluster.bed, example, path);
    shell.env("KUBECONFIG", cluster.bed.path("kubeconfig")).env("NO_PROXY", "127.0.0.1");
    shell.env("PLUMBLINE_REGISTRY_MIRRORS", mirrors("127.0.0.1:1"));
    shell
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_work_as_printed_with_a_run_in_a_cluster() {
    let cluster = cluster().await;
    let path = path_with_this_program(cluster.bed.root());
    let mut wrong = Vec::new();
    for example in OF_A_RUN {
        let shell = shell_for(&cluster, example, &path);
        let done = tokio::task::block_in_place(|| Done::of(shell));
        if done.code != 0 {
            wrong.push(failed(example, &done));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cluster.double.get("namespaces", "", "sonobuoy").is_none(), "the last example deletes the run");
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_that_start_a_run_in_a_cluster_work_as_printed() {
    for example in STARTS_A_RUN.iter().chain([&DRY_RUN]) {
        let cluster = cluster().await;
        for pod in ["sonobuoy", "sonobuoy-e2e-job-1"] {
            cluster.double.remove("pods", "sonobuoy", pod);
        }
        cluster.double.remove("namespaces", "", "sonobuoy");
        let path = path_with_this_program(cluster.bed.root());
        let running = cluster.bed.start_command("example", shell_for(&cluster, example, &path));
        if *example != DRY_RUN {
            tokio::task::block_in_place(|| completes(&cluster, "sonobuoy", false));
        }
        let done = tokio::task::block_in_place(|| running.wait());
        assert_eq!(done.code, 0, "{}", failed(example, &done));
    }
}
