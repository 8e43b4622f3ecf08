//! Bundles: pack, install, run, show, lock and uninstall.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::bed::{Bed, Done};

/// The example that new users try first.
const NODE_CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/node-check");

/// Writes the bundle `sample` to `sample/`. The result of its process is `word`.
fn sample(bed: &Bed, word: &str) {
    bed.write(
        "sample/plugin.yaml",
        "sonobuoy-config: {driver: Process, plugin-name: sample, description: A sample}\nspec: {name: plugin, command: [./check.sh]}\n",
    );
    let script = format!(
        "#!/bin/sh\necho {word} > $SONOBUOY_RESULTS_DIR/out\nprintf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done\n"
    );
    let script = bed.write("sample/check.sh", &script);
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    bed.write("sample/secret.key", "not packed");
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err))
}

fn run(bed: &Bed, reference: &str) -> Done {
    bed.plumbline(&["run", "--local", "--dir", "out", "-p", reference])
}

#[test]
fn an_example_is_packed_installed_run_by_its_name_and_removed() {
    let bed = Bed::new();
    let packed = json(&bed.plumbline(&["plugin", "pack", NODE_CHECK, "--json"]).expect(0));
    assert_eq!(packed["path"], "node-check.bundle.tar");
    let digest = packed["digest"].as_str().unwrap();
    for command in [&["pack", NODE_CHECK][..], &["lock", "--plugin", NODE_CHECK, "--local"]] {
        let done = bed.plumbline(&[&["plugin"], command, &["--file", "-", "-o", "json"]].concat()).expect(2);
        assert!(done.out.is_empty() && done.err.contains("both print on standard output"), "{}", done.err);
    }
    let files: Vec<&str> =
        packed["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert_eq!(files, ["README.md", "check.sh", "plugin.yaml"]);

    let done = bed.plumbline(&["plugin", "install", "node-check.bundle.tar"]).expect(0);
    assert!(done.err.contains(digest), "{}", done.err);
    fs::remove_file(bed.path("node-check.bundle.tar")).unwrap();
    let list = json(&bed.plumbline(&["plugin", "list", "-o", "json"]).expect(0));
    assert_eq!(
        (&list["installed"][0]["name"], &list["installed"][0]["bundle"]["digest"]),
        (&"node-check".into(), &digest.into())
    );
    assert!(bed.plumbline(&["plugin", "list"]).expect(0).out.contains("installed:\n  node-check"));

    let done = run(&bed, "node-check");
    // Whether the checks pass depends on this machine.
    assert!(matches!(done.code, 0 | 1), "{}{}", done.out, done.err);
    let checks = bed.tree("node-check").to_string();
    assert!(checks.contains("swap is off") && checks.contains("clock is synchronised"), "{checks}");

    let would = bed.plumbline(&["plugin", "uninstall", "--dry-run", "node-check"]).expect(0);
    assert!(would.err.contains("would remove `node-check`"), "{}", would.err);
    bed.plumbline(&["plugin", "uninstall", "node-check"]).expect(0);
    assert_eq!(
        json(&bed.plumbline(&["plugin", "list", "-o", "json"]).expect(0))["installed"],
        Value::Array(Vec::new())
    );
    let done = run(&bed, "node-check").expect(2);
    assert!(done.err.contains("not installed"), "{}", done.err);
}

#[test]
fn a_tar_runs_as_its_directory_does() {
    let bed = Bed::new();
    sample(&bed, "one");
    bed.plumbline(&["plugin", "pack", "sample", "-f", "s.tar"]).expect(0);
    run(&bed, "s.tar").expect(0);
    assert_eq!(bed.member("plugins/sample/results/global/out"), "one\n");
    // The tar is unpacked once, into a directory named by its digest. If a file there was changed,
    // the tar is unpacked again.
    let cached: Vec<_> = crate::bed::entries(&bed.path("home/cache/plumbline/bundles"));
    assert_eq!(cached.len(), 1, "{cached:?}");
    assert!(!cached[0].join("secret.key").exists());
    let script = cached[0].join("check.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&script, "#!/bin/sh\necho evil > $SONOBUOY_RESULTS_DIR/out\n").unwrap();
    fs::remove_dir_all(bed.path("out")).unwrap();
    run(&bed, "s.tar@other").expect(0);
    assert_eq!(bed.member("plugins/other/results/global/out"), "one\n");
}

#[test]
fn the_modules_of_a_tar_and_of_an_installed_bundle_go_to_the_cluster() {
    let bed = Bed::new();
    sample(&bed, "x");
    bed.write(
        "sample/plugin.yaml",
        "sonobuoy-config: {driver: Job, plugin-name: sample, result-format: reader}\nspec: {name: plugin, image: r.example/x:1}\n",
    );
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), Into::into);
    fs::copy(modules.join("raw.wasm"), bed.path("sample/reader.wasm")).unwrap();
    bed.plumbline(&["plugin", "pack", "sample"]).expect(0);
    bed.plumbline(&["plugin", "install", "sample"]).expect(0);
    fs::remove_dir_all(bed.path("sample")).unwrap();
    for reference in ["sample.bundle.tar", "sample"] {
        let done = bed.plumbline(&["gen", "-p", reference, "--kubernetes-version", "v1.33.0"]).expect(0);
        assert!(done.out.contains("plumbline-modules-0") && done.out.contains("reader.wasm"), "{}", done.out);
    }
}

#[test]
fn a_name_is_built_in_then_installed_then_sonobuoys() {
    let bed = Bed::new();
    sample(&bed, "installed");
    bed.plumbline(&["plugin", "install", "./sample"]).expect(0);
    fs::rename(bed.path("sample"), bed.path("elsewhere")).unwrap();
    let theirs = "sonobuoy-config: {driver: Process, plugin-name: theirs}\nspec: {name: plugin, command: ['true']}\n";
    for name in ["theirs", "sample", "host-facts"] {
        bed.write(&format!("home/.sonobuoy/{name}.yaml"), theirs);
    }
    let origin = |name: &str| json(&bed.plumbline(&["plugin", "show", name, "-o", "json"]).expect(0))["origin"].clone();
    assert_eq!(origin("host-facts"), "built-in");
    assert_eq!(origin("sample"), "installed as `sample`");
    assert!(origin("theirs").as_str().unwrap().starts_with("installed by Sonobuoy: "));
    let dry = bed.plumbline(&["run", "--local", "--dry-run", "-p", "theirs"]).expect(0);
    assert!(dry.err.contains("would run `theirs`"), "{}", dry.err);
    let list = json(&bed.plumbline(&["plugin", "list", "-o", "json"]).expect(0));
    assert_eq!(list["sonobuoy"].as_array().unwrap().len(), 3);

    // `SONOBUOY_DIR` names another directory of Sonobuoy.
    bed.write("cache/far.yaml", theirs);
    let mut command = bed.command(&["plugin", "show", "far"]);
    command.env("SONOBUOY_DIR", bed.path("cache"));
    assert!(Done::of(command).expect(0).out.contains("plugin:      theirs"));

    // A directory without a definition does not hide the installed bundle of that name. A directory
    // with a definition does.
    fs::create_dir(bed.path("sample")).unwrap();
    assert_eq!(origin("sample"), "installed as `sample`");
    bed.write("sample/plugin.yaml", theirs);
    assert_eq!(origin("sample"), "sample/plugin.yaml");
}

#[test]
fn an_error_for_an_unknown_name_lists_the_installed_bundles() {
    let bed = Bed::new();
    sample(&bed, "x");
    bed.plumbline(&["plugin", "install", "sample"]).expect(0);
    bed.write("home/.sonobuoy/theirs.yaml", "x");
    let done = run(&bed, "sampel").expect(2);
    insta::assert_snapshot!(done.err, @r"
    error: plugin `sampel` not found: it is not built-in, not installed, and not a file or directory
    hint:  did you mean `sample`?
           built-in plugins: `host-facts`, `systemd-logs`; installed: `sample`; installed by Sonobuoy: `theirs`; a path may be a definition, a packed bundle, or a directory with `plugin.yaml`
    ");
}

#[test]
fn a_bundle_that_changed_after_installation_does_not_run() {
    let bed = Bed::new();
    sample(&bed, "good");
    bed.plumbline(&["plugin", "install", "sample"]).expect(0);
    fs::remove_dir_all(bed.path("sample")).unwrap();
    let script = bed.path("home/data/plumbline/bundles/sample/bundle/check.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&script, "#!/bin/sh\necho evil\n").unwrap();
    let done = run(&bed, "sample").expect(4);
    assert!(done.err.contains("was changed") && done.err.contains("plugin uninstall sample"), "{}", done.err);
    let list = bed.plumbline(&["plugin", "list"]).expect(0).out;
    assert!(list.contains("sample         damaged"), "{list}");
    bed.plumbline(&["plugin", "uninstall", "sample"]).expect(0);
}

#[test]
fn a_failed_installation_has_a_reason() {
    let bed = Bed::new();
    bed.write("alone.yaml", "x");
    bed.write("junk.tar", "junk");
    sample(&bed, "x");
    bed.plumbline(&["plugin", "pack", "sample"]).expect(0);
    let gzip = Command::new("gzip").args(["-k"]).arg(bed.path("sample.bundle.tar")).stdout(Stdio::null()).status();
    bed.write(
        "built-in/plugin.yaml",
        "sonobuoy-config: {driver: Process, plugin-name: host-facts}\nspec: {command: ['true']}\n",
    );
    let stderr_of = |reference: &str| bed.plumbline(&["plugin", "install", reference]).expect(2).err;
    assert!(stderr_of("alone.yaml").contains("`alone.yaml` is not a bundle"));
    assert!(stderr_of("junk.tar").contains("it is not a tar"));
    assert!(stderr_of("built-in").contains("is taken by a built-in plugin"));
    assert!(stderr_of("oci://r.example/X:1").contains("invalid reference to a registry"));
    match gzip {
        Ok(status) if status.success() => assert!(stderr_of("sample.bundle.tar.gz").contains("gunzip")),
        other => eprintln!("SKIPPED: a compressed tar cannot be made: {other:?}"),
    }
    let stderr_of = |args: &[&str]| bed.plumbline(args).expect(2).err;
    assert!(stderr_of(&["plugin", "uninstall", "nobody"]).contains("`nobody`"));
    assert!(stderr_of(&["plugin", "uninstall", "host-facts"]).contains("cannot be uninstalled"));
    assert!(stderr_of(&["plugin", "uninstall", "../../home"]).contains("is not installed"));
    std::os::unix::fs::symlink("check.sh", bed.path("sample/README")).unwrap();
    let done = bed.plumbline(&["plugin", "pack", "sample"]).expect(2);
    insta::assert_snapshot!(done.err, @r"
    error: failed to pack `sample`
    cause: failed to pack `README`: a symbolic link
    hint:  replace the link with a copy of its target: the target may be missing on other machines
    ");
}

#[test]
fn the_output_of_pack_and_show_is_readable() {
    let bed = Bed::new();
    sample(&bed, "x");
    let packed = bed.plumbline(&["plugin", "pack", "sample"]).expect(0);
    insta::assert_snapshot!(packed.out);
    insta::assert_snapshot!(bed.plumbline(&["plugin", "show", "sample.bundle.tar"]).expect(0).out);
    // With `-o -`, the tar goes to standard output.
    let output = bed.command(&["plugin", "pack", "sample", "-f", "-"]).output().unwrap();
    assert_eq!(output.stdout, fs::read(bed.path("sample.bundle.tar")).unwrap());
}

#[test]
fn a_lock_names_everything_by_digest() {
    let bed = Bed::new();
    sample(&bed, "x");
    bed.write("alone.yaml", "sonobuoy-config: {driver: Process, plugin-name: alone}\nspec: {command: ['true']}\n");
    let done = bed
        .plumbline(&["plugin", "lock", "--local", "-p", "sample", "-p", "alone.yaml@other", "-p", "host-facts"])
        .expect(0);
    assert!(done.err.contains("written: plumbline.lock"), "{}", done.err);
    let text = fs::read_to_string(bed.path("plumbline.lock")).unwrap();
    let lock = plumbline_bundle::Lock::parse(&text).unwrap();
    let plugins: Vec<_> =
        lock.plugins().map(|plugin| (plugin.name.as_str(), plugin.source.as_str(), plugin.bundle.is_some())).collect();
    assert_eq!(
        plugins,
        [("host-facts", "host-facts", false), ("other", "alone.yaml@other", false), ("sample", "sample", true)]
    );
    let printed = bed.plumbline(&["plugin", "lock", "-p", "sample", "-f", "-"]).expect(0).out;
    assert!(printed.contains("version: 1\nplugins:\n- name: sample\n"), "{printed}");
    let done = bed.plumbline(&["plugin", "lock", "-p", "sample", "-p", "sample"]).expect(2);
    assert!(done.err.contains("is listed twice"), "{}", done.err);
}
