//! Builds, checks and tests every example with the real toolchain of its language, if it is
//! installed. Tests of the program build the templates, following the authors' guide.

use std::fs;
use std::path::{Path, PathBuf};

use plumbline_author::Project;
use plumbline_author::build::missing_tool;
use plumbline_author::check::Level;

use crate::cases;
use crate::support::{built, check, lines};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Builds and checks a project. Returns what is wrong. If the tools are missing, it prints a note
/// and returns `None`.
fn wrong(directory: &Path, shown: &str) -> Option<String> {
    let project = match Project::open(directory) {
        Ok(project) => project,
        Err(error) => return Some(format!("{shown}: {error}")),
    };
    if let Some(missing) = missing_tool(project.manifest.language, &project.directory) {
        eprintln!("SKIPPED: {shown}: {missing}");
        return None;
    }
    let made = match built(directory) {
        Ok(made) => made,
        Err(error) => return Some(format!("{shown}: {error}; hint: {:?}", error.hint)),
    };
    eprintln!("{shown}: {} bytes in {:.1} s, imports {:?}", made.size, made.seconds, made.imports);
    let checked = check(directory).unwrap();
    let found = lines(&checked);
    if checked.count(Level::Error) > 0 || checked.modules.len() != 1 {
        return Some(format!("{shown}: {found:#?}, {} modules", checked.modules.len()));
    }
    cases::wrong(directory).map(|cases| format!("{shown}: {cases}"))
}

/// The examples with a module of their own. Each is a separate test, so that slow tools run in
/// parallel.
const EXAMPLES: [&str; 14] = [
    "cis-node",
    "cluster-audit",
    "cyclonedx",
    "deprecated-apis",
    "gpu-drift",
    "gpu-nodes",
    "kube-bench",
    "node-certificates",
    "node-reachability",
    "node-ready",
    "sarif",
    "tap",
    "trivy",
    "zone-spread",
];

fn example(name: &str) {
    let failure = wrong(&root().join("examples").join(name), &format!("example {name}"));
    assert!(failure.is_none(), "{}", failure.unwrap_or_default());
}

#[test]
fn no_example_is_forgotten() {
    let examples = fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut there: Vec<String> = examples
        .filter(|path| path.join("module.yaml").is_file())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    there.sort();
    assert_eq!(there, EXAMPLES);
}

#[test]
fn ai_conformance() {
    // The only profile with a module of its own.
    example("profiles/ai-conformance");
}

#[test]
fn verdict() {
    // This example has no module of its own: it uses built-in judges.
    let failure = cases::wrong(&root().join("examples/verdict"));
    assert!(failure.is_none(), "{}", failure.unwrap_or_default());
}

#[test]
fn cis_node() {
    example("cis-node");
}

#[test]
fn cluster_audit() {
    example("cluster-audit");
}

#[test]
fn cyclonedx() {
    example("cyclonedx");
}

#[test]
fn deprecated_apis() {
    example("deprecated-apis");
}

#[test]
fn gateway_api() {
    // The judge of a profile.
    example("profiles/gateway-api");
}

#[test]
fn gpu_drift() {
    example("gpu-drift");
}

#[test]
fn gpu_nodes() {
    example("gpu-nodes");
}

#[test]
fn kube_bench() {
    example("kube-bench");
}

#[test]
fn node_certificates() {
    example("node-certificates");
}

#[test]
fn node_reachability() {
    example("node-reachability");
}

#[test]
fn node_ready() {
    example("node-ready");
}

#[test]
fn sarif() {
    example("sarif");
}

#[test]
fn tap() {
    example("tap");
}

#[test]
fn trivy() {
    example("trivy");
}

#[test]
fn zone_spread() {
    example("zone-spread");
}
