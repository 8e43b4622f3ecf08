//! The guide for authors of checks, as printed: from an empty directory to a signed check that runs
//! on every node.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::bed::Bed;
use crate::checks::{nodes, tree};
use crate::faults::retrieve;
use crate::registry::Registry;
use crate::settings::loudly;

/// The registry that the guide starts.
pub(crate) const REGISTRY: &str = "localhost:5000";
/// The start of a command that runs the check in the cluster.
pub(crate) const RUN: &str = "plumbline run -p ";

/// Returns the commands of a guide, in order.
pub(crate) fn commands(guide: &str) -> impl Iterator<Item = &str> {
    let blocks = guide.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("$ "))
}

/// Returns the guide.
pub(crate) fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check-guide.md")).unwrap()
}

/// Makes the program under test available as `plumbline`. Returns the start of a script that uses it.
pub(crate) fn prelude(bed: &Bed) -> String {
    fs::create_dir(bed.path("bin")).unwrap();
    symlink(&bed.settings().binary, bed.path("bin/plumbline")).unwrap();
    // The nodes' network has no way to crates.io. The workspace needs the same crates.
    "set -eux\nexport PATH=$PWD/bin:$PATH CARGO_TARGET_DIR=$PWD/target CARGO_NET_OFFLINE=true\n".to_owned()
}

#[test]
fn a_new_check_runs_signed_on_every_node_within_ten_minutes() {
    let Some(bed) = Bed::new("guide") else { return };
    if let Err(error) = Command::new("cargo").arg("--version").output() {
        return loudly(&format!("SKIPPED guide: `cargo`, which builds the check: {error}"));
    }
    let Some(registry) = Registry::start(&bed) else { return };
    let mut script = prelude(&bed);
    let run =
        format!("plumbline run -n {} --image {} --image-pull-policy IfNotPresent -p ", bed.namespace(), bed.image());
    for command in commands(&page()) {
        script += &command.replace(REGISTRY, &registry.host).replace(RUN, &run);
        script.push('\n');
    }
    assert_eq!(script.matches(&run).count(), 2, "once to see what happens, and once for real: {script}");
    let start = Instant::now();
    // It is killed after ten minutes.
    bed.program(Path::new("bash"), &["-c", &script]).expect(0);
    loudly(&format!("the guide took {} s", start.elapsed().as_secs()));
    let tree = tree(&bed, &retrieve(&bed), "my-check");
    assert_eq!(nodes(&tree), bed.nodes(), "{tree}");

    // The signature counts only with a key that the policy trusts.
    bed.plumbline(&["plugin", "keygen", "--file", "other"]).expect(0);
    let policy = "version: 1\nkeys: {other: {file: other.pub}}\nrules: [{names: [my-check], keys: [other]}]\n";
    fs::write(bed.path("policy.yaml"), policy).unwrap();
    let reference = format!("oci://{}/checks/my-check:0.2.0", registry.host);
    let signed = ["--insecure-registry", &registry.host, "--require-signed", "--policy", "policy.yaml"];
    let refused = bed.run(&[], &[&["-p", &reference][..], &signed].concat()).expect(2);
    assert!(refused.err.contains("1 of 1 plugins may not run"), "{}", refused.err);
}
