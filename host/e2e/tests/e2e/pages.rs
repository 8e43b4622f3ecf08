//! The pages for a first run in a cluster: their commands as printed, in the order in which a reader
//! meets them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::bed::{Bed, Done};
use crate::checks::{nodes, tree};
use crate::conformance::{VERSION, definition};
use crate::guide::commands;
use crate::settings::loudly;

/// The image on the pages.
const IMAGE: &str = "registry.example.org/plumbline:v0.1.0";

/// Commands that are not executed, by prefix, with the reason.
const SKIPPED: [(&str, &str); 2] = [
    ("cargo xtask image ", "`cargo xtask e2e` has made the image under test"),
    ("skopeo copy ", "`cargo xtask e2e` has pushed it to the registry of the cluster"),
];

/// Commands on a cluster. They get the namespace of the test.
const IN_CLUSTER: [&str; 7] = [
    "plumbline conformance run",
    "plumbline run",
    "plumbline status",
    "plumbline logs",
    "plumbline wait",
    "plumbline retrieve",
    "plumbline delete",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the text of a page.
fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// Returns an environment with the program in `bin`, and the image under test as nodes pull it from
/// the registry.
fn bed(test: &str) -> Option<(Bed, String)> {
    let (bed, registry) = crate::suite::bed(test)?;
    let image = format!("{registry}/{}", bed.image().rsplit('/').next().unwrap());
    fs::create_dir(bed.path("bin")).unwrap();
    symlink(&bed.settings().binary, bed.path("bin/plumbline")).unwrap();
    Some((bed, image))
}

/// Executes a command of a page with the shell. `more` are options of the test for commands on a
/// cluster. Returns `None` for a command that the test cannot execute.
fn execute(bed: &Bed, image: &str, command: &str, more: &str) -> Option<Done> {
    if let Some((_, why)) = SKIPPED.iter().find(|(start, _)| command.starts_with(start)) {
        loudly(&format!("not executed: `{command}`: {why}"));
        return None;
    }
    let mut line = command.replace(IMAGE, image).replace("examples/", &format!("{}/examples/", root().display()));
    if let Some(start) = IN_CLUSTER.iter().find(|start| command.starts_with(**start)) {
        line.insert_str(start.len(), &format!(" -n {} {more}", bed.namespace()));
    }
    Some(bed.program(Path::new("bash"), &["-c", &format!("export PATH=$PWD/bin:$PATH\n{line}")]))
}

/// Returns the name of the archive in the directory whose results include `plugin`.
fn archive(bed: &Bed, plugin: &str) -> String {
    let files = fs::read_dir(bed.path(".")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let archives: Vec<String> = files.filter(|name| name.ends_with(".tar.gz")).collect();
    let found = archives.iter().find(|name| bed.plumbline(&["results", name, "-p", plugin]).out.contains(plugin));
    found.cloned().unwrap_or_else(|| panic!("no archive with `{plugin}`: {archives:?}"))
}

#[test]
fn the_first_cluster_run_works_as_printed() {
    let Some((bed, image)) = bed("page-run") else { return };
    let page = page("first-cluster-run.md");
    assert!(page.contains(IMAGE), "{page}");
    for command in commands(&page) {
        let Some(done) = execute(&bed, &image, command, "") else { continue };
        // What a check of nodes finds depends on the nodes.
        let is_verdict = command.contains("-p examples/") && [1, 3].contains(&done.code);
        assert!(done.code == 0 || is_verdict, "`{command}`: {done:?}");
    }
    for plugin in ["host-facts", "node-ready"] {
        let tree = tree(&bed, &archive(&bed, plugin), plugin);
        assert_eq!(nodes(&tree), bed.nodes(), "{tree}");
    }
    assert!(!bed.exists(), "the last command deletes the run");
}

/// The quick mode runs the real suite. The other modes take hours, so they run a simulated one.
#[test]
fn the_first_conformance_run_works_as_printed() {
    let Some((bed, image)) = bed("page-conformance") else { return };
    let page = page("first-conformance-run.md");
    let product = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    fs::write(bed.path("PRODUCT.yaml"), product).unwrap();
    definition(&bed, &[]);
    let simulated = format!("-p e2e.yaml --kube-conformance-image {} --kubernetes-version {VERSION}", bed.image());
    let mut modes = 0;
    for command in commands(&page) {
        let is_run = command.starts_with("plumbline conformance run");
        modes += usize::from(is_run);
        let more = if is_run && !command.contains("--mode quick") { simulated.as_str() } else { "" };
        if let Some(done) = execute(&bed, &image, command, more) {
            assert_eq!(done.code, 0, "`{command}`: {done:?}");
        }
    }
    assert_eq!(modes, 3, "the quick mode, the default, and the submission");
    let folders = fs::read_dir(bed.path("submission")).unwrap().count();
    assert_eq!(folders, 1, "one version");
}
