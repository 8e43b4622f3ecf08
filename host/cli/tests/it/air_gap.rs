//! The commands of the page about air gaps, executed as printed, with a registry on each side. The
//! first registry is stopped before the second part starts.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use plumbline_registry::Layout;
use serde_json::Value;

use crate::bed::Bed;
use crate::image_maker::{names, world};
use crate::registries::Registry;

/// The registries that the page names.
const LAN: &str = "registry.lan:5000";
const WORLD: [&str; 4] = ["registry.k8s.io", "docker.io", "ghcr.io", "registry.example.com"];
/// The heading at which the commands of the other side start.
const OTHER_SIDE: &str = "## On the other side";

/// Returns the commands of a part of the page, in order.
fn commands(page: &str) -> Vec<&str> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in page.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ => found.extend(line.strip_prefix("$ ").filter(|_| inside)),
        }
    }
    found
}

/// Executes commands in the test directory, and returns their output.
fn follow(bed: &Bed, side: &str, commands: &[String], registry: &str, mirrors: &str) -> String {
    let bin = bed.path("bin");
    if !bin.exists() {
        fs::create_dir_all(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_plumbline"), bin.join("plumbline")).unwrap();
    }
    let mut paths = vec![bin];
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let carried = bed.path("carried");
    fs::create_dir_all(&carried).unwrap();
    let mut command = Command::new("bash");
    command.arg("-c").arg(format!("set -eux\n{}\n", commands.join("\n"))).current_dir(&carried).stdin(Stdio::null());
    command.env("PATH", std::env::join_paths(paths).unwrap());
    // Each side has its own home directories, like a separate machine.
    for (name, dir) in
        [("HOME", ""), ("XDG_DATA_HOME", "data"), ("XDG_CACHE_HOME", "cache"), ("XDG_CONFIG_HOME", "config")]
    {
        command.env(name, bed.path(side).join(dir));
    }
    for name in
        ["REGISTRY_AUTH_FILE", "DOCKER_CONFIG", "XDG_RUNTIME_DIR", "PLUMBLINE_REGISTRY_CA", "KUBECONFIG", "TMPDIR"]
    {
        command.env_remove(name);
    }
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(name).env_remove(name.to_ascii_lowercase());
    }
    command.env("PLUMBLINE_INSECURE_REGISTRIES", registry).env("PLUMBLINE_REGISTRY_MIRRORS", mirrors);
    let output = command.output().unwrap();
    let transcript = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "the page ended with {} on the {side} side:\n{transcript}", output.status);
    transcript
}

/// Pushes a bundle to the registry that stands in for the public ones.
fn bundle(bed: &Bed, registry: &Registry) {
    let script = bed.write("sample/check.sh", "#!/bin/sh\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    bed.write(
        "sample/plugin.yaml",
        "sonobuoy-config: {driver: Process, plugin-name: node-check}\nspec: {name: plugin, command: [./check.sh]}\n",
    );
    let name = format!("oci://{}/team/node-check:1.2", registry.host);
    registry.plumbline(bed, &["plugin", "push", "sample", &name]).expect(0);
}

#[test]
fn the_page_does_what_it_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/air-gap.md");
    let page = fs::read_to_string(page).unwrap();
    let (here, there) = page.split_once(OTHER_SIDE).unwrap();
    let bed = Bed::new();
    let Some(outside) = Registry::start(&bed, "outside") else { return };
    let inside = Registry::start(&bed, "inside").unwrap();
    let maker = world(&bed);
    let dir = maker.layout.dir().to_str().unwrap();
    outside.plumbline(&bed, &["images", "load", dir, "--to", &outside.host]).expect(0);
    bundle(&bed, &outside);

    let mirrors = WORLD.map(|name| format!("{name}={}", outside.host)).join(",");
    let steps: Vec<String> = commands(here).into_iter().map(str::to_owned).collect();
    assert_eq!(steps.len(), 4, "{steps:?}");
    let transcript = follow(&bed, "connected", &steps, &outside.host, &mirrors);
    assert!(names().iter().all(|name| transcript.contains(name.as_str())), "{transcript}");
    assert!(transcript.contains("5 images: 5 copied"), "{transcript}");
    drop(outside);

    // The public registries are unreachable from here on, so a command that uses one fails.
    let mirrors = WORLD.map(|name| format!("{name}=127.0.0.1:1")).join(",");
    let steps: Vec<String> = commands(there).into_iter().map(|step| step.replace(LAN, &inside.host)).collect();
    assert_eq!(steps.len(), 7, "{steps:?}");
    let transcript = follow(&bed, "other", &steps, &inside.host, &mirrors);
    assert!(transcript.contains("5 images: 5 the same"), "{transcript}");

    // One platform of each image, with the same digest as outside.
    let checked = inside.plumbline(
        &bed,
        &[
            "images",
            "check",
            "--registry",
            &format!("{}/mirror", inside.host),
            "--from",
            "carried/images.tar",
            "-o",
            "json",
        ],
    );
    let checked: Value = serde_json::from_str(&checked.expect(0).out).unwrap();
    let amd64 = amd64_of(&maker.layout);
    for one in checked["images"].as_array().unwrap() {
        assert_eq!(amd64.get(one["image"].as_str().unwrap()).map(String::as_str), one["digest"].as_str(), "{one}");
    }
    // Every image of the run is in the inner registry.
    let manifest = fs::read_to_string(bed.path("carried/run.yaml")).unwrap();
    let images: Vec<&str> =
        manifest.lines().filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("image: ")).collect();
    assert!(images.len() > 1, "{manifest}");
    for image in images {
        let image = image.trim_matches(['\'', '"']);
        let name = image.strip_prefix(&format!("{}/mirror/", inside.host)).unwrap_or_else(|| panic!("{image}"));
        assert!(names().iter().any(|known| known.ends_with(&format!("/{name}"))), "{image}");
    }
    assert!(manifest.contains(&format!("promoterE2eRegistry: {}/mirror/e2e-test-images", inside.host)), "{manifest}");
}

/// The digests of the manifests for `linux/amd64`, by image name.
fn amd64_of(layout: &Layout) -> std::collections::BTreeMap<String, String> {
    let entries = layout.entries().unwrap().into_iter();
    let digest = |entry: &plumbline_registry::Entry| match layout.manifest(&entry.descriptor).unwrap().manifest {
        // `amd64` is the first of the two platforms.
        plumbline_registry::Manifest::Index(index) => index.manifests[0].digest.to_string(),
        plumbline_registry::Manifest::Image(_) => entry.descriptor.digest.to_string(),
    };
    entries.map(|entry| (entry.name.clone().unwrap(), digest(&entry))).collect()
}
