//! Runs that require signed or locked plugins, and what their archives record.

use std::fs;

use serde_json::Value;

use crate::bed::{Bed, Done, entries};
use crate::signing::{keygen, packed, sign};

/// Creates a key, a policy that lets it sign `tap`, and the signed bundle `tap`.
fn bed() -> (Bed, String) {
    let bed = Bed::new();
    keygen(&bed, "release");
    bed.write(
        "policy.yaml",
        "version: 1\nkeys: {release: {file: release.pub}}\nrules: [{names: [tap], keys: [release]}]\n",
    );
    let tar = packed(&bed, "tap", "hello");
    sign(&bed, &tar, "release").expect(0);
    (bed, tar)
}

fn run(bed: &Bed, args: &[&str]) -> Done {
    bed.plumbline(&[&["run", "--local", "--dir", "out", "--wait-output", "silent"], args].concat())
}

fn signed(bed: &Bed, args: &[&str]) -> Done {
    run(bed, &[&["--require-signed", "--policy", "policy.yaml"], args].concat())
}

/// Checks that no run was started.
fn nothing(bed: &Bed) {
    assert!(entries(&bed.path("out")).is_empty());
}

fn digest_of(bed: &Bed, tar: &str) -> String {
    let done = bed.plumbline(&["plugin", "verify", tar, "--key", "release.pub", "-o", "json"]);
    let document: Value = serde_json::from_str(&done.out).unwrap();
    document["digest"].as_str().unwrap().to_owned()
}

#[test]
fn a_signed_bundle_runs_and_the_archive_tells_which_it_was() {
    let (bed, tar) = bed();
    signed(&bed, &["-p", &tar]).expect(0);
    let modules: Value = serde_json::from_str(&bed.member("meta/modules.json")).unwrap();
    let plugin = &modules["plugins"][0];
    assert_eq!((&plugin["plugin"], &plugin["source"]), (&"tap".into(), &tar.clone().into()));
    assert_eq!(plugin["bundle"], digest_of(&bed, &tar));
    assert!(plugin["definition-file"].as_str().unwrap().starts_with("sha256:"));
    let roles: Vec<&str> =
        plugin["modules"].as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["expectations", "post-processor"]);
}

#[test]
fn an_installed_bundle_is_judged_by_the_signatures_that_came_with_it() {
    let (bed, tar) = bed();
    bed.plumbline(&["plugin", "install", &tar]).expect(0);
    fs::remove_dir_all(bed.path("tap")).unwrap();
    for file in [&tar, &format!("{tar}.sigstore.json")] {
        fs::remove_file(bed.path(file)).unwrap();
    }
    signed(&bed, &["-p", "tap"]).expect(0);
    // The plugin may have another name in the run.
    signed(&bed, &["-p", "tap@again"]).expect(0);
}

#[test]
fn built_in_plugins_need_no_signature() {
    let (bed, tar) = bed();
    signed(&bed, &["-p", "host-facts", "-p", &tar, "--dry-run"]).expect(0);
}

#[test]
fn unsigned_bundles_do_not_start() {
    let (bed, tar) = bed();
    bed.plugin("loose", "", "true");
    let other = packed(&bed, "other", "hello");
    sign(&bed, &other, "release").expect(0);
    let done = signed(&bed, &["-p", &tar, "-p", "loose.yaml", "-p", &other]).expect(2);
    for wanted in
        ["2 of 3 plugins may not run", "`loose`", "a definition alone", "`other`", "no rule of policy", "plugin pack"]
    {
        assert!(done.err.contains(wanted), "{wanted}: {}", done.err);
    }
    assert!(signed(&bed, &["-p", "./tap"]).expect(2).err.contains("it is a directory"));
    nothing(&bed);
    // The error is the same in a cluster, before the cluster is asked anything.
    let done = bed.plumbline(&["run", "--require-signed", "--policy", "policy.yaml", "-p", "./tap"]).expect(2);
    assert!(done.err.contains("it is a directory"), "{}", done.err);
}

#[test]
fn a_bundle_that_was_changed_after_it_was_signed_does_not_run() {
    let (bed, tar) = bed();
    packed(&bed, "tap", "changed");
    let done = signed(&bed, &["-p", &tar]).expect(2);
    assert!(done.err.contains("key `release` signed another bundle: sha256:"), "{}", done.err);
    nothing(&bed);
    // Neither option works without the other.
    let done = run(&bed, &["--require-signed", "-p", &tar]).expect(2);
    assert!(done.err.contains("found no policy for signatures"), "{}", done.err);
    let done = run(&bed, &["--policy", "policy.yaml", "-p", &tar]).expect(2);
    assert!(done.err.contains("--require-signed"), "{}", done.err);
    nothing(&bed);
}

#[test]
fn only_what_is_locked_runs() {
    let (bed, tar) = bed();
    bed.plugin("loose", "", "printf %s $SONOBUOY_RESULTS_DIR > $SONOBUOY_RESULTS_DIR/done");
    bed.plumbline(&["plugin", "lock", "--local", "-p", &tar, "-p", "loose.yaml", "-p", "host-facts"]).expect(0);
    run(&bed, &["--locked", "-p", &tar, "-p", "loose.yaml", "-p", "host-facts", "--dry-run"]).expect(0);
    signed(&bed, &["--locked=plumbline.lock", "-p", &tar, "--dry-run"]).expect(0);

    let before = digest_of(&bed, &tar);
    packed(&bed, "tap", "changed");
    let after = digest_of(&bed, &tar);
    bed.plugin("loose", "", "true");
    let done = run(&bed, &["--locked", "-p", &tar, "-p", "loose.yaml", "-p", "host-facts"]).expect(2);
    for wanted in ["2 of 3", "`tap`", &before, &after, "`loose`"] {
        assert!(done.err.contains(wanted), "{wanted}: {}", done.err);
    }
    let done = run(&bed, &["--locked=gone.lock", "-p", &tar]).expect(2);
    assert!(done.err.contains("failed to read the lock file `gone.lock`"), "{}", done.err);
    nothing(&bed);
}

#[test]
fn a_manifest_tells_the_aggregator_where_packed_bundles_are_from() {
    let bed = Bed::new();
    let yaml = "sonobuoy-config: {driver: Job, plugin-name: far}\nspec: {name: plugin, image: 'r.example/far:1'}\n";
    bed.write("far/plugin.yaml", yaml);
    bed.plumbline(&["plugin", "pack", "far"]).expect(0);
    let manifest =
        |reference: &str| bed.plumbline(&["gen", "-p", reference, "--kubernetes-version", "v1.33.0"]).expect(0).out;
    let packed = manifest("far.bundle.tar");
    assert!(packed.contains(r#""PluginSources":{"far":"far.bundle.tar"}"#), "{packed}");
    assert!(packed.contains(r#""PluginBundles":{"far":"sha256:"#), "{packed}");
    assert!(!manifest("far").contains("PluginSources"));
}
