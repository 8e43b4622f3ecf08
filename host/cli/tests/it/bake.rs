//! `plugin bake`: adds bundles to an image.

use std::fs;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use plumbline_registry::{Descriptor, Layout, media, open_layout, write_archive};
use serde_json::{Value, json};

use crate::bed::Bed;

/// Writes an image without layers, as an archive.
fn base(bed: &Bed) {
    let layout = Layout::create(&bed.path("base")).unwrap();
    let put = |kind: &str, bytes: &[u8]| {
        let descriptor = Descriptor::of(kind, bytes);
        fs::write(layout.dir().join("blobs/sha256").join(descriptor.digest.hex()), bytes).unwrap();
        descriptor
    };
    let config = json!({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}});
    let config = put(media::OCI_CONFIG, config.to_string().as_bytes());
    let text = json!({"schemaVersion": 2, "mediaType": media::OCI_MANIFEST, "config": config, "layers": []});
    layout.list(put(media::OCI_MANIFEST, text.to_string().as_bytes()), Some("v1")).unwrap();
    write_archive(&layout, &bed.path("base.tar")).unwrap();
}

fn bundle(bed: &Bed, dir: &str, more: &str) {
    let yaml = "sonobuoy-config: {driver: Job, plugin-name: smoke}\nspec: {name: plugin, image: r/i:1}\n";
    bed.write(&format!("{dir}/plugin.yaml"), yaml);
    bed.write(&format!("{dir}/{more}"), "a text\n");
}

fn baked(bed: &Bed, args: &[&str]) -> Value {
    let done = bed.plumbline(&[&["plugin", "bake", "--json"], args].concat()).expect(0);
    serde_json::from_str(&done.out).unwrap()
}

/// Unpacks the layers of the only image in an archive into a directory, in order, and returns the
/// configuration of the image.
fn unpacked(bed: &Bed, archive: &str, into: &str) -> Value {
    let opened = open_layout(&bed.path(archive), None).unwrap();
    let layout = opened.layout();
    let entries = layout.entries().unwrap();
    assert_eq!(entries.len(), 1);
    let read = |descriptor: &Value| {
        let descriptor: Descriptor = serde_json::from_value(descriptor.clone()).unwrap();
        layout.blob(&descriptor).unwrap()
    };
    let manifest: Value = serde_json::from_slice(&layout.manifest(&entries[0].descriptor).unwrap().bytes).unwrap();
    fs::create_dir(bed.path(into)).unwrap();
    for layer in manifest["layers"].as_array().unwrap() {
        let listed = Command::new("tar").arg("-tzf").arg(read(layer)).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        // An opaque whiteout removes the directory, as in a container runtime.
        for opaque in listed.lines().filter_map(|line| line.strip_suffix("/.wh..wh..opq")) {
            fs::remove_dir_all(bed.path(into).join(opaque)).unwrap();
        }
        let exclude = "--exclude=.wh.*";
        let into = bed.path(into);
        let done = Command::new("tar").args(["-xz", exclude, "-C"]).arg(into).arg("-f").arg(read(layer)).status();
        assert!(done.unwrap().success());
    }
    serde_json::from_slice(&fs::read(read(&manifest["config"])).unwrap()).unwrap()
}

fn digest(bed: &Bed, dir: &Path) -> String {
    let done = bed.plumbline(&["plugin", "show", dir.to_str().unwrap(), "-o", "json"]).expect(0);
    serde_json::from_str::<Value>(&done.out).unwrap()["bundle"]["digest"].as_str().unwrap().to_owned()
}

#[test]
fn a_baked_bundle_is_the_bundle_and_a_newer_one_takes_its_place() {
    let bed = Bed::new();
    base(&bed);
    bundle(&bed, "one", "README.md");
    bundle(&bed, "two", "LICENSE");
    let first = baked(&bed, &["one", "--base", "base.tar", "-f", "first.tar"]);
    assert_eq!(baked(&bed, &["one", "--base", "base", "-f", "again.tar"])["digest"], first["digest"]);
    assert_eq!(fs::read(bed.path("first.tar")).unwrap(), fs::read(bed.path("again.tar")).unwrap());
    let config = unpacked(&bed, "first.tar", "first");
    let dir = bed.path("first/usr/share/plumbline/bundles/smoke");
    let one = digest(&bed, &bed.path("one"));
    assert_eq!((digest(&bed, &dir), &first["bundles"][0]["digest"]), (one.clone(), &json!(one)));
    assert_eq!(config["config"]["Labels"]["org.plumbline.bundles"], format!("smoke@{one}"));

    let tag = ["--tag", "registry.example.com/plumbline:checks"];
    baked(&bed, &[&["two", "--base", "first.tar", "-f", "second.tar"], &tag[..]].concat());
    let config = unpacked(&bed, "second.tar", "second");
    let dir = bed.path("second/usr/share/plumbline/bundles/smoke");
    let two = digest(&bed, &bed.path("two"));
    assert_eq!(digest(&bed, &dir), two, "nothing of the older one is seen");
    assert_eq!(config["config"]["Labels"]["org.plumbline.bundles"], format!("smoke@{two}"));
    assert_eq!(config["history"].as_array().unwrap().len(), 2);
}

#[test]
fn bundles_that_cannot_be_baked_are_rejected_with_the_reason() {
    let bed = Bed::new();
    base(&bed);
    bundle(&bed, "one", "README.md");
    let wrong = |args: &[&str], words: &[&str]| {
        let done = bed.plumbline(&[&["plugin", "bake"], args].concat()).expect(2);
        assert!(words.iter().all(|word| done.err.contains(word)), "{}", done.err);
        assert!(!bed.path("x.tar").exists());
    };
    wrong(&["one", "one", "--base", "base.tar", "-f", "x.tar"], &["has the same name as another bundle"]);
    wrong(&["host-facts", "--base", "base.tar", "-f", "x.tar"], &["`host-facts` is not a bundle"]);
    wrong(&["one", "--base", "plumbline:v1", "-f", "x.tar"], &["`plumbline:v1`", "with its registry"]);
    wrong(&["one", "--base", "base.tar", "--platform", "linux/arm64", "-f", "x.tar"], &["linux/amd64", "linux/arm64"]);
    wrong(&["one", "--base", "base.tar", "--platform", "linux", "-f", "x.tar"], &["OS/ARCHITECTURE"]);
    wrong(&["one", "--base", "base.tar"], &["--file"]);
    let mut gz = GzEncoder::new(fs::File::create(bed.path("base.tgz")).unwrap(), Compression::default());
    std::io::copy(&mut fs::File::open(bed.path("base.tar")).unwrap(), &mut gz).unwrap();
    gz.finish().unwrap();
    wrong(&["one", "--base", "base.tgz", "-f", "x.tar"], &["base.tgz", "gunzip"]);
}
