//! The guide for authors of checks, in every language. The signed check comes from a registry and
//! runs on every node: with the directory that it reads, and without any in a restricted namespace.

use std::fs;
use std::path::Path;
use std::time::Instant;

use k8s_openapi::api::core::v1::Namespace;
use serde_json::Value;

use super::{C, GO, GRANT, JAVASCRIPT, Language, PYTHON, RUST, TYPESCRIPT, caches};
use crate::bed::{Bed, Done};
use crate::checks::{descendant, nodes, status, tree};
use crate::faults::retrieve;
use crate::guide::{self, REGISTRY, RUN, commands};
use crate::registry::Registry;
use crate::settings::loudly;

/// The option of the check: a setting that passes on every node, and one that fails.
const OPTIONS: &str = "  options: {settings: {kernel/ostype: Linux, kernel/osrelease: none}}\n";

/// The project of the guide, in one language.
struct Project<'a> {
    bed: &'a Bed,
    registry: &'a Registry,
    language: &'a Language,
    prelude: String,
}

impl Project<'_> {
    /// Executes a script in the environment of the guide.
    fn execute(&self, script: &str) -> Done {
        // It is killed after ten minutes.
        self.bed.program(Path::new("bash"), &["-c", &format!("{}{script}", self.prelude)])
    }

    /// Executes the commands of the guide as printed, except for the runs in the cluster.
    fn follow_the_guide(&self) {
        let language = format!("--lang {}", self.language.name);
        let mut script = String::new();
        for command in commands(&guide::page()).filter(|command| !command.starts_with(RUN)) {
            script += &command.replace("--lang rust", &language).replace(REGISTRY, &self.registry.host);
            script.push('\n');
        }
        assert!(script.contains(&language), "the guide creates a project in a language: {script}");
        self.execute(&script).expect(0);
    }

    /// Replaces a part of a file of the project.
    fn replace(&self, file: &str, from: &str, to: &str) {
        let path = self.bed.path("my-check").join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no `{from}`: {text}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    fn reference(&self, version: &str) -> String {
        format!("oci://{}/checks/my-check:{version}", self.registry.host)
    }

    /// Builds, pushes and signs a version of the check with the commands of the guide.
    fn publish(&self, version: &str) {
        let reference = self.reference(version);
        let commands = [
            format!("export PLUMBLINE_INSECURE_REGISTRIES={}", self.registry.host),
            "cd my-check".to_owned(),
            "plumbline plugin build".to_owned(),
            "plumbline plugin pack .".to_owned(),
            format!("plumbline plugin push my-check.bundle.tar {reference}"),
            format!("plumbline plugin sign {reference} --key author.key"),
        ];
        self.execute(&commands.join("\n")).expect(0);
    }

    /// Runs a version on every node and deletes the run. The exit code must be `code`. Returns the
    /// tree.
    fn run(&self, version: &str, level: &str, code: i32) -> Value {
        let (bed, reference) = (self.bed, self.reference(version));
        let signed = ["--require-signed", "--policy", "my-check/policy.yaml"];
        let registry = ["--insecure-registry", &self.registry.host, "--namespace-psa-enforce-level", level];
        bed.run(&[], &[&["-p", &reference, "--wait"][..], &signed, &registry].concat()).expect(code);
        let labels = bed.ask(bed.cluster_api::<Namespace>().get(bed.namespace())).metadata.labels.unwrap_or_default();
        let enforced = labels.get("pod-security.kubernetes.io/enforce").map(String::as_str);
        assert_eq!(enforced, Some(level), "{labels:?}");
        let tree = tree(bed, &retrieve(bed), "my-check");
        assert_eq!(nodes(&tree), bed.nodes(), "{tree}");
        bed.command("delete", &["--wait", "--yes"]).expect(0);
        tree
    }
}

fn runs_on_every_node(language: &Language) {
    let test = format!("guide-{}", language.name);
    // Alone, because builds and compilations need both processors.
    let Some(bed) = Bed::alone(&test) else { return };
    if let Some(missing) = language.missing() {
        return loudly(&format!("SKIPPED {test}: {missing}"));
    }
    let Some(registry) = Registry::start(&bed) else { return };
    let prelude = format!("{}{}", guide::prelude(&bed), caches());
    let project = Project { bed: &bed, registry: &registry, language, prelude };
    let start = Instant::now();
    project.follow_the_guide();
    loudly(&format!("{test}: the guide took {} s", start.elapsed().as_secs()));

    project.replace("plugin.yaml", GRANT, &format!("{OPTIONS}{GRANT}"));
    project.publish("0.3.0");
    let tree = project.run("0.3.0", "privileged", 1);
    for node in bed.nodes() {
        assert_eq!(status(&tree, &[&node, "kernel/ostype"]), "passed", "{tree}");
        assert_eq!(status(&tree, &[&node, "kernel/osrelease"]), "failed", "{tree}");
    }

    // Without the declared right, the check starts with any grants.
    let (file, right) = language.rights();
    project.replace(file, right, "");
    project.replace("plugin.yaml", GRANT, "");
    project.publish("0.4.0");
    // Nothing was judged: there is neither a pass nor a failure.
    let tree = project.run("0.4.0", "restricted", 5);
    for node in bed.nodes() {
        for setting in ["kernel/ostype", "kernel/osrelease"] {
            let item = descendant(&tree, &[&node, setting]).unwrap_or(&Value::Null);
            let expected = format!("failed to read `/proc/sys/{setting}`: no granted directory contains it");
            assert_eq!((&item["status"], &item["meta"]["error"]), (&"unknown".into(), &expected.into()), "{tree}");
        }
    }
}

#[test]
fn rust() {
    runs_on_every_node(&RUST);
}

#[test]
fn go() {
    runs_on_every_node(&GO);
}

#[test]
fn javascript() {
    runs_on_every_node(&JAVASCRIPT);
}

#[test]
fn typescript() {
    runs_on_every_node(&TYPESCRIPT);
}

#[test]
fn python() {
    runs_on_every_node(&PYTHON);
}

#[test]
fn c() {
    runs_on_every_node(&C);
}
