//! Copies of images from registry to registry and to and from disk, with a real registry.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use plumbline_registry::{Layout, media};
use serde_json::{Value, json};

use crate::bed::{Bed, Done};
use crate::generate::{documents, of_kind};
use crate::image_maker::{LISTED, Maker, Words, names, world};
use crate::registries::{Registry, command};

/// Mirror settings that read each public registry from the registry `host`.
pub(crate) fn mirrors(host: &str) -> String {
    ["registry.k8s.io", "docker.io", "ghcr.io"].map(|name| format!("{name}={host}")).join(",")
}

/// Runs the binary with the public images in the registry `world`.
fn plumbline(bed: &Bed, world: &str, others: &[&str], args: &[&str]) -> Done {
    let mut command = command(bed, args);
    command.env("PLUMBLINE_INSECURE_REGISTRIES", [&[world], others].concat().join(","));
    command.env("PLUMBLINE_REGISTRY_MIRRORS", mirrors(world)).env("NO_PROXY", "127.0.0.1");
    Done::of(command)
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err))
}

/// Starts a registry with all public images.
fn registry_of_the_world(bed: &Bed, maker: &Maker) -> Option<Registry> {
    let registry = Registry::start(bed, "world-storage")?;
    let dir = maker.layout.dir().to_str().unwrap();
    plumbline(bed, &registry.host, &[], &["images", "load", dir, "--to", &registry.host]).expect(0);
    Some(registry)
}

/// The digests of the images in a layout, by name.
fn digests(layout: &Layout) -> BTreeMap<String, String> {
    let entries = layout.entries().unwrap().into_iter();
    entries.map(|entry| (entry.name.unwrap(), entry.descriptor.digest.to_string())).collect()
}

/// The value of `key` for each image of a report, by name.
fn by_image(report: &Value, key: &str) -> BTreeMap<String, String> {
    let images = report["images"].as_array().unwrap().iter();
    images.map(|one| (one["image"].as_str().unwrap().into(), one[key].as_str().unwrap_or("none").into())).collect()
}

const VERSION: [&str; 2] = ["--kubernetes-version", "v1.30.2"];

#[test]
fn all_images_of_a_run_are_listed() {
    let bed = Bed::new();
    // Without a registry, a list names the images of the suite.
    bed.write("list", LISTED);
    let listed = bed.plumbline(&[&["images", "list", "--list", "list"], &VERSION[..]].concat()).expect(0);
    assert_eq!(listed.out.lines().collect::<Vec<_>>(), names());
    assert!(
        listed.err.contains("left out: invalid.registry.k8s.io/invalid/alpine:3.1: it does not exist"),
        "{}",
        listed.err
    );
    let data =
        json(&bed.plumbline(&[&["images", "list", "--list", "list", "-o", "json"], &VERSION[..]].concat()).expect(0));
    assert_eq!(data["kubernetesVersion"], "v1.30.2");
    assert_eq!(data["images"][2], json!({"image": "registry.k8s.io/conformance:v1.30.2", "usedBy": ["plugin e2e"]}));
    assert_eq!(data["images"][0]["usedBy"], json!(["suite"]));
    assert_eq!(data["leftOut"].as_array().unwrap().len(), 2);

    // The images of one plugin, whose pod has more than one container. The vendor's suffix of the
    // version is removed.
    bed.write(
        "probe.yaml",
        "sonobuoy-config: {driver: Job, plugin-name: probe}\nspec: {name: plugin, image: 'a.example/probe:$SONOBUOY_K8S_VERSION', command: [x]}\npodSpec: {initContainers: [{name: i, image: busybox}]}\n",
    );
    let args =
        ["images", "list", "-p", "probe.yaml", "--kubernetes-version", "v1.30.2-eks-abc", "--image", "b.example/own:1"];
    let listed = bed.plumbline(&args).expect(0);
    assert_eq!(listed.out, "a.example/probe:v1.30.2\nb.example/own:1\ndocker.io/library/busybox:latest\n");
    // A version that is not known must be given.
    let unknown = bed.plumbline(&["images", "list"]).expect(2);
    assert!(unknown.err.contains("--kubernetes-version"), "{}", unknown.err);
    bed.write("bad", "not an image\n");
    let bad = bed.plumbline(&["images", "list", "--list", "bad", "--kubernetes-version", "v1.30.2"]).expect(2);
    assert!(bad.err.contains("suite has the invalid image `not an image`"), "{}", bad.err);
}

#[test]
fn images_are_copied_whole_and_byte_for_byte() {
    let bed = Bed::new();
    let maker = world(&bed);
    let Some(here) = registry_of_the_world(&bed, &maker) else { return };
    let there = Registry::start(&bed, "there").unwrap();
    let run = |args: &[&str]| plumbline(&bed, &here.host, &[&there.host], &[args, &VERSION].concat());
    let to = format!("{}/mirror", there.host);

    // The program of the suite is extracted from its image, and lists the images.
    let listed = run(&["images", "list"]).expect(0);
    assert_eq!(listed.out.lines().collect::<Vec<_>>(), names());
    assert!(listed.err.contains("extracted from it") && listed.err.contains("--list-images"), "{}", listed.err);
    let again = run(&["images", "list"]).expect(0);
    assert!(!again.err.contains("extracted from it"), "{}", again.err);
    bed.write("repos.yaml", "gcRegistry: lan.example\n");
    // Another definition with the same image may run the same program.
    bed.write(
        "own.yaml",
        "sonobuoy-config: {driver: Job, plugin-name: e2e}\nspec: {name: e2e, image: 'registry.k8s.io/conformance:$SONOBUOY_K8S_VERSION', command: [/run_e2e.sh]}\n",
    );
    assert!(run(&["images", "list", "-p", "own.yaml"]).expect(0).out.contains("pause:3.9"));
    let list = run(&["images", "list", "--e2e-repo-config", "repos.yaml"]).expect(0).out;
    assert!(list.contains("lan.example/listed:1") && !list.contains("pause"), "{list}");

    let before =
        run(&["images", "check", "--registry", &to, "--kube-conformance-image", "registry.k8s.io/conformance:v1.30.2"]);
    let before = before.expect(1);
    assert!(before.out.contains(&format!("missing: `{to}/conformance:v1.30.2`")), "{}", before.out);

    let planned = run(&["images", "copy", "--to", &to, "--dry-run"]).expect(0);
    assert!(planned.out.contains(&format!("`registry.k8s.io/pause:3.9` to `{to}/pause:3.9`")), "{}", planned.out);
    assert!(run(&["images", "save", "-f", "nothing", "--dry-run"]).expect(0).out.contains("pause:3.9"));
    assert!(!bed.path("nothing").exists());
    // All of them are in their own registries.
    assert!(run(&["images", "check"]).expect(0).out.contains("5 present, 0 missing"));
    let copied = run(&["images", "copy", "--to", &to, "-o", "json"]).expect(0);
    let report = json(&copied);
    assert_eq!((&report["copied"], &report["failed"]), (&json!(5), &json!(0)));
    assert_eq!(by_image(&report, "digest"), digests(&maker.layout));
    assert!(copied.err.contains("[5/5]"), "{}", copied.err);
    let again = json(&run(&["images", "copy", "--to", &to, "-o", "json"]).expect(0));
    assert_eq!((&again["present"], &again["bytes"]), (&json!(5), &json!(0)));

    let checked = run(&["images", "check", "--registry", &to]).expect(0);
    assert!(checked.out.contains("5 images: 5 the same"), "{}", checked.out);
    // Another image with one of the names.
    let other = Maker::new(&bed.path("other"));
    other.name(&other.image(Words::Oci, "amd64", &[("pause", "another")]), "registry.k8s.io/pause:3.9");
    run_load(&bed, &here, &there, "other", &to);
    let checked = run(&["images", "check", "--registry", &to]).expect(1);
    assert!(checked.out.contains(&format!("different: `{to}/pause:3.9`")), "{}", checked.out);
    let offline = run(&["images", "check", "--registry", &to, "--offline"]).expect(0);
    assert!(offline.out.contains("5 present, 0 missing"), "{}", offline.out);
}

fn run_load(bed: &Bed, here: &Registry, there: &Registry, from: &str, to: &str) -> Done {
    plumbline(bed, &here.host, &[&there.host], &["images", "load", from, "--to", to]).expect(0)
}

#[test]
fn one_platform_is_chosen_and_what_is_named_by_digest_stays_whole() {
    let bed = Bed::new();
    let maker = world(&bed);
    let Some(here) = registry_of_the_world(&bed, &maker) else { return };
    let pause = digests(&maker.layout)["registry.k8s.io/pause:3.9"].clone();
    let by_digest = format!("registry.k8s.io/pause@{pause}");
    let args = [
        "images",
        "save",
        "--platform",
        "linux/arm64",
        "-f",
        "one",
        "--format",
        "json",
        &by_digest,
        "registry.k8s.io/e2e-test-images/agnhost:2.47",
    ];
    let saved = plumbline(&bed, &here.host, &[], &args).expect(0);
    assert!(saved.err.contains("for all platforms"), "{}", saved.err);
    let report = json(&saved);
    let agnhost = &by_image(&report, "digest")["registry.k8s.io/e2e-test-images/agnhost:2.47"];
    let layout = Layout::open(&bed.path("one")).unwrap();
    assert_eq!(&digests(&layout)["registry.k8s.io/e2e-test-images/agnhost:2.47"], agnhost);
    assert_eq!(digests(&layout)[&by_digest], pause);
    let entry =
        layout.entries().unwrap().into_iter().find(|one| one.descriptor.digest.to_string() == *agnhost).unwrap();
    assert_eq!(entry.descriptor.media_type, media::DOCKER_MANIFEST);
    // An image with one of the original's platforms counts as the same.
    let to = format!("{}/one", here.host);
    plumbline(&bed, &here.host, &[], &["images", "load", "one", "--to", &to]).expect(0);
    let args = ["images", "check", "--registry", &to, "registry.k8s.io/e2e-test-images/agnhost:2.47", &by_digest];
    plumbline(&bed, &here.host, &[], &args).expect(0);
    // The image does not have this platform.
    let args = ["images", "copy", "--platform", "linux/s390x", "--to", &to, "registry.k8s.io/pause:3.9"];
    let none = plumbline(&bed, &here.host, &[], &args).expect(4);
    assert!(none.err.contains("available platforms: linux/amd64, linux/arm64"), "{}", none.err);
}

#[test]
fn an_interrupted_copy_resumes_and_every_image_is_tried() {
    let bed = Bed::new();
    let maker = world(&bed);
    let Some(here) = registry_of_the_world(&bed, &maker) else { return };
    let late = "registry.k8s.io/late:1";
    let mut args = vec!["images", "save", "-f", "images.tar", "--format", "json", late];
    let names = names();
    args.extend(names.iter().map(String::as_str));
    let first = plumbline(&bed, &here.host, &[], &args).expect(4);
    let report = json(&first);
    assert_eq!((&report["copied"], &report["failed"]), (&json!(5), &json!(1)));
    assert!(first.err.contains("late") && first.err.contains("the same command again"), "{}", first.err);
    assert!(!bed.path("images.tar").exists());

    let more = Maker::new(&bed.path("more"));
    more.name(&more.image(Words::Oci, "amd64", &[("x", "y")]), late);
    plumbline(&bed, &here.host, &[], &["images", "load", "more", "--to", &here.host]).expect(0);
    let second = json(&plumbline(&bed, &here.host, &[], &args).expect(0));
    assert_eq!((&second["copied"], &second["present"]), (&json!(1), &json!(5)));
    assert!(bed.path("images.tar").is_file() && !bed.path("images.tar.incomplete").exists());

    read_by_others(&bed, &digests(&maker.layout)["registry.k8s.io/pause:3.9"]);
    // Loading the archive into a registry keeps the digests.
    let there = Registry::start(&bed, "there").unwrap();
    let loaded = command_load(&bed, &there, "images.tar");
    let mut wanted = digests(&maker.layout);
    wanted.extend(digests(&more.layout));
    assert_eq!(by_image(&json(&loaded), "digest"), wanted);
    let checked =
        there.plumbline(&bed, &["images", "check", "--registry", &there.host, "--from", "images.tar"]).expect(0);
    assert!(checked.out.contains("6 images: 6 the same"), "{}", checked.out);
}

/// Reads an image from the archive by its name, with Skopeo.
fn read_by_others(bed: &Bed, wanted: &str) {
    let Some(skopeo) = std::env::var_os("PLUMBLINE_SKOPEO").filter(|named| !named.is_empty()) else {
        eprintln!("SKIPPED: PLUMBLINE_SKOPEO names no program; `cargo xtask test` gets it from Debian");
        return;
    };
    let mut command = std::process::Command::new(skopeo);
    command.args(["--insecure-policy", "inspect", "--raw", "oci-archive:images.tar:registry.k8s.io/pause:3.9"]);
    let output = command.current_dir(bed.root()).env("HOME", bed.root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(plumbline_registry::Digest::of(&output.stdout).to_string(), wanted);
}

fn command_load(bed: &Bed, there: &Registry, from: &str) -> Done {
    there.plumbline(bed, &["images", "load", from, "--to", &there.host, "-o", "json"]).expect(0)
}

#[test]
fn pull_and_push_go_over_the_users_own_layout() {
    let bed = Bed::new();
    let maker = world(&bed);
    let Some(here) = registry_of_the_world(&bed, &maker) else { return };
    let there = Registry::start(&bed, "there").unwrap();
    let gone = plumbline(&bed, &here.host, &[], &["images", "check", "registry.k8s.io/nobody:1"]).expect(1);
    assert!(gone.out.contains("missing: `registry.k8s.io/nobody:1`"), "{}", gone.out);
    let empty = there.plumbline(&bed, &["images", "push", "--custom-registry", &there.host]).expect(2);
    assert!(empty.err.contains("images pull"), "{}", empty.err);
    plumbline(&bed, &here.host, &[], &[&["images", "pull"], &VERSION[..]].concat()).expect(0);
    let pushed = there.plumbline(&bed, &["images", "push", "--custom-registry", &there.host, "-o", "json"]).expect(0);
    assert_eq!(by_image(&json(&pushed), "digest"), digests(&maker.layout));
}

#[test]
fn layers_that_others_keep_are_refused_and_the_rest_is_copied() {
    let bed = Bed::new();
    let maker = Maker::new(&bed.path("windows"));
    let good = maker.image(Words::Docker, "amd64", &[("x", "y")]);
    maker.name(&good, "mcr.microsoft.com/good:1");
    let config = maker.put(media::OCI_CONFIG, b"{}");
    let manifest = json!({"schemaVersion": 2, "mediaType": media::DOCKER_MANIFEST, "config": config, "layers": [{
        "mediaType": "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "size": 3,
        "digest": format!("sha256:{}", "0".repeat(64)), "urls": ["https://mcr.microsoft.com/layer"],
    }]});
    maker.name(&maker.put(media::DOCKER_MANIFEST, manifest.to_string().as_bytes()), "mcr.microsoft.com/windows:1");
    let Some(there) = Registry::start(&bed, "there") else { return };
    let done = there.plumbline(&bed, &["images", "load", "windows", "--to", &there.host]).expect(4);
    assert!(done.err.contains("is stored outside of the registry") && done.err.contains("--platform"), "{}", done.err);
    assert!(done.out.contains("2 images: 1 copied"), "{}", done.out);
}

#[test]
fn two_images_of_one_name_are_refused() {
    let bed = Bed::new();
    let args = ["images", "copy", "--to", "lan:5000", "quay.io/team/a:1", "ghcr.io/team/a:1"];
    let done = bed.plumbline(&args).expect(2);
    assert!(done.err.contains("map to the same target `lan:5000/team/a:1`"), "{}", done.err);
    let done = bed.plumbline(&["images", "copy", "--to", "mirror", "a:1"]).expect(2);
    assert!(done.err.contains("invalid location for images"), "{}", done.err);
}

#[test]
fn an_image_without_a_digest_takes_precedence_for_the_tag() {
    let bed = Bed::new();
    let digest = format!("sha256:{}", "0".repeat(64));
    let pinned = format!("quay.io/team/a:1@{digest}");
    let args = ["images", "copy", "--to", "lan:5000", "--dry-run", "ghcr.io/team/a:1", &pinned];
    let planned = bed.plumbline(&args).expect(0).out;
    assert!(planned.contains("`ghcr.io/team/a:1` to `lan:5000/team/a:1`\n"), "{planned}");
    assert!(planned.contains(&format!("`{pinned}` to `lan:5000/team/a@{digest}`\n")), "{planned}");
    // If it is the only one, the image keeps its tag. Images with the same digest do not conflict,
    // whatever their registries.
    let alone = bed.plumbline(&["images", "copy", "--to", "lan:5000", "--dry-run", &pinned]).expect(0).out;
    assert!(alone.contains(&format!("to `lan:5000/team/a:1@{digest}`")), "{alone}");
    let (one, two) = (format!("quay.io/team/a@{digest}"), format!("ghcr.io/team/a@{digest}"));
    bed.plumbline(&["images", "copy", "--to", "lan:5000", "--dry-run", &one, &two]).expect(0);
    // If no image is renamed, no other name is printed.
    let saved = bed.plumbline(&["images", "save", "-f", "x.tar", "--dry-run", "quay.io/team/a:1"]).expect(0).out;
    assert_eq!(saved, "would be copied: `quay.io/team/a:1`\n");
}

#[test]
fn two_at_a_time_do_not_write_one_layout_and_what_a_killed_one_left_goes() {
    let bed = Bed::new();
    // Nothing listens there.
    let host = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let image = format!("{host}/a:1");
    let save = || plumbline(&bed, &host, &[], &["images", "save", "-f", "out", &image]);
    Layout::create(&bed.path("out")).unwrap();
    let left = [bed.write("out/.incomplete/piece", "x"), bed.write("out/blobs/sha256/.tmp-piece", "x")];
    let held = fs::File::open(bed.path("out")).unwrap();
    held.try_lock().unwrap();
    let refused = save().expect(2);
    assert!(refused.err.contains("another process is copying images into `out`"), "{}", refused.err);
    assert!(left.iter().all(|path| path.exists()));
    held.unlock().unwrap();
    save().expect(4);
    assert!(!left.iter().any(|path| path.exists()));
}

#[test]
fn a_registry_that_is_out_of_reach_is_asked_once() {
    let bed = Bed::new();
    let host = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let images = [format!("{host}/a:1"), format!("{host}/b:1"), format!("{host}/c:1")];
    let done = plumbline(&bed, &host, &[], &["images", "check", &images[0], &images[1], &images[2]]).expect(4);
    assert_eq!(done.out.matches("was not tried again").count(), 2, "{}", done.out);
    assert!(done.out.contains("3 unknown"), "{}", done.out);
}

#[test]
fn the_latest_build_is_looked_up_and_is_somewhere_else() {
    let bed = Bed::new();
    bed.write("list", LISTED);
    let args = ["images", "list", "--list", "list", "-p", "e2e", "--kubernetes-version", "latest"];
    let mut command = command(&bed, &args);
    // No request may leave this machine.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    command.env("HTTPS_PROXY", format!("http://{nobody}"));
    let done = Done::of(command).expect(4);
    assert!(done.err.contains("failed to look up the latest Kubernetes version at `https://"), "{}", done.err);
}

#[test]
fn a_registry_that_limits_how_often_it_is_asked_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    // The thread ends with the process of the test.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.read(&mut [0; 8192]);
            let _ = stream.write_all(
                b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            );
        }
    });
    let bed = Bed::new();
    let image = format!("{host}/a:1");
    let done = plumbline(&bed, &host, &[], &["images", "save", "-f", "out", &image, "--format", "json"]).expect(4);
    assert!(done.err.contains("429") && done.err.contains("limits requests"), "{}", done.err);
    assert!(json(&done)["images"][0]["error"].as_str().unwrap().contains("429"));
    // Nothing remains that would prevent another attempt.
    assert_eq!(fs::read_dir(bed.path("out")).unwrap().count(), 3);
}

#[test]
fn one_registry_for_every_image_of_a_run() {
    let bed = Bed::new();
    bed.write(
        "suite.yaml",
        "sonobuoy-config: {driver: Job, plugin-name: suite}\nspec: {name: e2e, image: 'registry.k8s.io/conformance:$SONOBUOY_K8S_VERSION', command: [/run_e2e.sh]}\npodSpec: {initContainers: [{name: i, image: 'busybox:1.36'}]}\n",
    );
    let args = [
        "gen",
        "-p",
        "suite.yaml",
        "-p",
        "systemd-logs",
        "--kubernetes-version",
        "v1.30.2",
        "--registry",
        "lan:5000/m",
    ];
    let yaml = bed.plumbline(&args).expect(0).out;
    let own = concat!("lan:5000/m/plumbline-dev/plumbline:v", env!("CARGO_PKG_VERSION"));
    let mut images: Vec<&str> =
        yaml.lines().filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("image: ")).collect();
    images.sort_unstable();
    images.dedup();
    assert_eq!(
        images,
        [own, "lan:5000/m/conformance:v1.30.2", "lan:5000/m/library/busybox:1.36"]
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>(),
        "{yaml}"
    );
    assert!(yaml.contains(&format!("\"WorkerImage\": \"{own}\"")) || yaml.contains(own), "{yaml}");
    let documents = documents(&yaml);
    let files = of_kind(&documents, "ConfigMap");
    let registries = files.iter().find_map(|one| one["data"]["plumbline-registries.yaml"].as_str()).unwrap();
    assert_eq!(registries, bed.plumbline(&["gen", "default-image-config", "--registry", "lan:5000/m"]).expect(0).out);
    assert!(yaml.contains("KUBE_TEST_REPO_LIST"), "{yaml}");

    // Registries that the user sets for the suite are not overridden.
    let args = [&args[..], &["--plugin-env", "suite.KUBE_TEST_REPO=lan:5000/other"]].concat();
    let yaml = bed.plumbline(&args).expect(0).out;
    assert!(!yaml.contains("KUBE_TEST_REPO_LIST") && !yaml.contains("plumbline-registries.yaml"), "{yaml}");
    let defaults = bed.plumbline(&["gen", "default-image-config"]).expect(0).out;
    assert!(defaults.contains("promoterE2eRegistry: registry.k8s.io/e2e-test-images\n"), "{defaults}");
    let config: Value =
        serde_json::from_str(&bed.plumbline(&["gen", "config", "--registry", "lan:5000/m"]).expect(0).out).unwrap();
    assert_eq!(config["WorkerImage"], own);
}
