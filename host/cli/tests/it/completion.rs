//! Completion, suggestions and help. None of them offers what is hidden or rejected.

use std::fs;
use std::process::Command;

use plumbline_dev::ApiDouble;
use serde_json::{Value, json};

use crate::bed::{Bed, Done};

/// The completion candidates for the last of `words`.
pub(crate) fn candidates(bed: &Bed, words: &[&str]) -> Vec<String> {
    let mut args = vec!["--"];
    args.extend(words);
    let mut command = bed.command(&args);
    command
        .env("PLUMBLINE_COMPLETE", "bash")
        .env("KUBECONFIG", bed.path("kubeconfig"))
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
        .env("_CLAP_IFS", "\n");
    let done = Done::of(command).expect(0);
    done.out.lines().map(str::to_owned).collect()
}

#[test]
fn values_and_names_are_completed_and_nothing_hidden() {
    let bed = Bed::new();
    let of = |words: &[&str]| candidates(&bed, words);
    let has = |words: &[&str], wanted: &[&str]| {
        let found = of(words);
        for want in wanted {
            assert!(found.iter().any(|one| one == want), "{words:?}: {want} is not in {found:?}");
        }
    };
    has(&["plumbline", ""], &["run", "results", "plugin"]);
    has(&["plumbline", "results", "-m", ""], &["report", "detailed", "dump"]);
    has(&["plumbline", "results", "-o", ""], &["json", "junit", "html"]);
    has(&["plumbline", "results", "--result-format", ""], &["junit", "gojson", "raw"]);
    has(&["plumbline", "plugin", "postprocess", "--driver", ""], &["Job", "DaemonSet", "Process"]);
    has(&["plumbline", "run", "--plugin", ""], &["host-facts", "systemd-logs", "e2e"]);
    has(&["plumbline", "run", "--mode", ""], &["certified-conformance", "quick"]);
    has(&["plumbline", "run", "--aggregator-permissions", ""], &["minimal", "clusterAdmin"]);
    has(&["plumbline", "status", "-o", ""], &["json", "yaml", "wide"]);
    has(&["plumbline", "version", "-o", ""], &["json", "yaml"]);
    has(&["plumbline", "cache", "clean", ""], &["bundles", "downloads", "history", "modules", "programs"]);
    bed.write("kubeconfig", "contexts:\n- {name: kind-prod, context: {cluster: c, user: u}}\n");
    has(&["plumbline", "status", "--context", ""], &["kind-prod"]);
    bed.write("other", "contexts:\n- {name: staging, context: {cluster: c, user: u}}\n");
    for option in [&["--kubeconfig", "other"][..], &["--kubeconfig=other"]] {
        let contexts = of(&[&["plumbline", "status"][..], option, &["--context", ""]].concat());
        assert_eq!(contexts, ["staging"], "{option:?}");
    }
    bed.write("archives/run.tar.gz", "");
    bed.write("archives/notes.md", "");
    has(&["plumbline", "results", "diff", "archives/"], &["archives/run.tar.gz"]);
    for command in [
        &["results", "--baseline"][..],
        &["results", "diff"],
        &["results", "attest"],
        &["results", "verify"],
        &["results", "push", "oci://r/runs"],
        &["history"],
        &["mcp"],
    ] {
        let typed = |word: &str| of(&[&["plumbline"][..], command, &[word]].concat());
        assert_eq!(typed("archives/r"), ["archives/run.tar.gz"], "{command:?}");
        assert_eq!(typed("archives/n"), [""; 0], "{command:?}: only archives");
    }
    // `results` also reads other files, if no archive matches.
    assert_eq!(of(&["plumbline", "results", "archives/"]), ["archives/run.tar.gz"]);
    assert_eq!(of(&["plumbline", "results", "archives/n"]), ["archives/notes.md"]);
    bed.plugin("done", "", "exit 0");
    bed.run(&["done"], &[]);
    let runs = of(&["plumbline", "run", "--local", "--continue", ""]);
    assert!(runs.iter().any(|run| !run.is_empty() && !run.starts_with('-')), "{runs:?}");
    for hidden in [
        &["plumbline", "agg"][..],
        &["plumbline", "arch"],
        &["plumbline", "mod"],
        &["plumbline", "conformance", "run", "--retri"],
        &["plumbline", "test-"],
        &["plumbline", "version", "--logto"],
        &["plumbline", "run", "--kube-conformance-image-v"],
    ] {
        assert_eq!(of(hidden), [""; 0], "{hidden:?}");
    }
}

#[test]
fn namespaces_are_those_of_the_cluster_on_the_command_line() {
    let bed = Bed::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let double = runtime.block_on(ApiDouble::start()).unwrap();
    double.put("namespaces", json!({"metadata": {"name": "checks"}}));
    bed.write("config", &double.kubeconfig());
    let namespaces = |option: &[&str]| candidates(&bed, &[&["plumbline", "status"][..], option, &["-n", ""]].concat());
    let has_namespace = || namespaces(&["--kubeconfig", "config"]).iter().any(|name| name == "checks");
    // A completion waits for a short time only, which a busy machine may exceed.
    assert!((0..5).any(|_| has_namespace()));
    // The default kubeconfig does not exist.
    assert!(!namespaces(&[]).iter().any(|name| name == "checks"));
}

#[test]
fn bash_completes_by_either_name() {
    let bed = Bed::new();
    fs::create_dir_all(bed.path("bin")).unwrap();
    for name in ["plumbline", "sonobuoy"] {
        let link = bed.path("bin").join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_plumbline"), &link).unwrap();
        let script = format!(
            "source <({name} completion bash); COMP_WORDS=({name} results -m d); COMP_CWORD=3; COMP_TYPE=9; \
             $(complete -p {name} | sed 's/.*-F \\([^ ]*\\) .*/\\1/') {name} d -m; echo \"${{COMPREPLY[*]}}\""
        );
        let path = format!("{}:{}", bed.path("bin").display(), std::env::var("PATH").unwrap());
        let output = Command::new("bash").args(["-c", &script]).env("PATH", path).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(
            shown.contains("detailed") && shown.contains("dump"),
            "{name}: {shown}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn there_is_a_script_for_every_shell() {
    let bed = Bed::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = bed.plumbline(&["completion", shell]).expect(0).out;
        assert!(script.contains("PLUMBLINE_COMPLETE") && script.contains("plumbline"), "{shell}: {script}");
    }
    bed.plumbline(&["completion", "abacus"]).expect(2);
}

#[test]
fn called_as_sonobuoy_without_a_command_it_prints_help() {
    let bed = Bed::new();
    let link = bed.path("sonobuoy");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_plumbline"), &link).unwrap();
    let output = Command::new(&link).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Usage: sonobuoy"), "{output:?}");
    assert!(output.stderr.is_empty());
    assert!(bed.plumbline(&[]).expect(2).out.is_empty());
}

#[test]
fn the_version_is_data_too() {
    let bed = Bed::new();
    let json: Value = serde_json::from_str(&bed.plumbline(&["version", "-o", "json"]).expect(0).out).unwrap();
    assert_eq!(json["version"], concat!("v", env!("CARGO_PKG_VERSION")));
    let yaml: Value = serde_saphyr::from_str(&bed.plumbline(&["version", "-o", "yaml"]).expect(0).out).unwrap();
    assert_eq!(yaml, json);
    assert!(json["platform"].as_str().unwrap().contains('/'), "{json}");
}

#[test]
fn without_a_cluster_no_command_suggests_what_it_refuses() {
    let bed = Bed::new();
    let commands: &[&[&str]] = &[
        &["status"],
        &["wait"],
        &["logs"],
        &["delete", "--yes"],
        &["retrieve"],
        &["query"],
        &["run", "-p", "systemd-logs"],
        &["conformance", "run"],
        &["get", "pod"],
    ];
    for command in commands {
        let done = bed.plumbline(&[*command, &["--kubeconfig", "nobody"]].concat());
        let help = bed.plumbline(&[*command, &["--help"]].concat()).expect(0).out;
        let hints: String = done.err.split("hint:").skip(1).collect();
        for option in hints.split('`').skip(1).step_by(2).filter(|code| code.starts_with("--")) {
            let option = option.split([' ', '=']).next().unwrap();
            assert!(help.contains(option), "{command:?} suggests {option}: {}", done.err);
        }
        assert!(done.code != 0, "{command:?}: {}", done.out);
    }
}
