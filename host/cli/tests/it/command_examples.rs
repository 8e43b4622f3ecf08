//! The examples in the help of commands, executed as printed, except those that need more than this
//! machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::bed::{Bed, Done};
use crate::guide::path_with_this_program;

/// Examples that are not executed, by a part of the line, with the reason.
const SKIPPED: &[(&str, &str)] = &[
    ("oci://", "needs a registry"),
    ("plumbline images ", "needs registries"),
    ("plumbline plugin load", "needs a layout from a registry"),
    ("plumbline plugin build", "needs a toolchain"),
    ("plumbline plugin dev", "does not end by itself"),
    ("plumbline plugin run", "needs a built check; its own test executes it"),
    ("plumbline run -p ", "needs a cluster"),
    ("plumbline status --local", "executed after a run, below"),
    ("plumbline status", "needs a cluster"),
    ("plumbline wait", "needs a cluster"),
    ("plumbline logs", "needs a cluster"),
    ("plumbline retrieve", "needs a cluster"),
    ("plumbline delete", "needs a cluster"),
    ("plumbline get ", "needs a cluster"),
    ("plumbline query", "needs a cluster"),
    ("plumbline report", "needs a Job"),
    ("plumbline conformance run", "needs a cluster"),
    ("--version auto", "needs a cluster"),
    ("plumbline conformance submission", "needs a run of the suite that passed"),
    ("pytest", "needs pytest"),
];

/// Examples with a verdict, by their start: those of failures, or of the state of this machine.
const VERDICTS: &[&str] = &[
    "plumbline results run.tar.gz",
    "plumbline results verify",
    "plumbline results runs/",
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
    for name in
        ["run.tar.gz", "runs/run.tar.gz", "archives/run.tar.gz", "monday.tar.gz", "tuesday.tar.gz", "wednesday.tar.gz"]
    {
        fs::copy(archive, bed.path(name)).unwrap();
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

/// Runs an example with the shell.
fn run(bed: &Bed, example: &str) -> Done {
    let mut command = Command::new("sh");
    let bed_command = bed.command(&[]);
    for (name, value) in bed_command.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(["-euc", example]).current_dir(bed.root()).env("PATH", path_with_this_program(bed.root()));
    command.env("KUBECONFIG", "").env_remove("KUBERNETES_SERVICE_HOST");
    Done::of(command)
}

#[test]
fn examples_work_as_printed() {
    let (mut executed, mut wrong) = (0, Vec::new());
    for example in examples() {
        if SKIPPED.iter().any(|(part, _)| example.contains(part)) {
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
            wrong.push(format!("$ {example}\nexit code {}\n{}{}", done.code, done.out, done.err));
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
