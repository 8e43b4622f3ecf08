//! Tests that add a layer to images in layouts, archives and registries, and read the result with
//! other tools.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::Path;

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use plumbline_registry::{
    Descriptor, Digest, Image, ImageManifest, LayerBuilder, Layout, Manifest, NewLayer, Progress, RawManifest, Storage,
    copy_image, list_image, media, open_layout, write_archive,
};
use serde_json::{Value, json};

use crate::server::{Registry, skopeo};
use crate::{client, file, reference};

/// Docker's media type of a layer, which most base images have.
const DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

fn put(layout: &Layout, kind: &str, bytes: &[u8]) -> Descriptor {
    let descriptor = Descriptor::of(kind, bytes);
    std::fs::write(layout.dir().join("blobs/sha256").join(descriptor.digest.hex()), bytes).unwrap();
    descriptor
}

/// Creates an image with one layer, and applies `change` to its configuration.
fn base(dir: &Path, change: impl FnOnce(&mut Value)) -> (Layout, RawManifest) {
    let layout = Layout::create(dir).unwrap();
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(4);
    header.set_mode(0o644);
    tar.append_data(&mut header, "etc/base", &b"base"[..]).unwrap();
    let tar = tar.into_inner().unwrap();
    let mut zipped = GzEncoder::new(Vec::new(), flate2::Compression::default());
    zipped.write_all(&tar).unwrap();
    let layer = put(&layout, DOCKER_LAYER, &zipped.finish().unwrap());
    let mut config = json!({
        "architecture": "amd64", "os": "linux", "created": "2026-01-01T00:00:00Z", "custom": {"kept": true},
        "config": {"Entrypoint": ["/sonobuoy"], "Labels": {"a": "b"}},
        "rootfs": {"type": "layers", "diff_ids": [Digest::of(&tar)]},
        "history": [{"created_by": "the base"}],
    });
    change(&mut config);
    let config = put(&layout, media::OCI_CONFIG, config.to_string().as_bytes());
    let text = json!({
        "schemaVersion": 2, "mediaType": media::DOCKER_MANIFEST, "config": config, "layers": [layer],
    });
    let manifest = layout.manifest(&put(&layout, media::DOCKER_MANIFEST, text.to_string().as_bytes())).unwrap();
    layout.list(manifest.descriptor(), Some("base")).unwrap();
    (layout, manifest)
}

fn addition(dir: &Path) -> NewLayer {
    let mut layer = LayerBuilder::default();
    layer.file("usr/share/x/two", &file(dir, "two", b"2"), true).unwrap();
    layer.file("usr/share/x/one", &file(dir, "one", b"1"), false).unwrap();
    layer.hide("usr/share/x").unwrap();
    let labels = BTreeMap::from([("what".to_owned(), "x".to_owned())]);
    NewLayer { layer: layer.write().unwrap(), created_by: "a test".into(), labels }
}

fn image(manifest: &RawManifest) -> &ImageManifest {
    let Manifest::Image(image) = &manifest.manifest else { panic!("no image") };
    image
}

fn blob(layout: &Layout, of: &Descriptor) -> Vec<u8> {
    std::fs::read(layout.blob(of).unwrap()).unwrap()
}

#[tokio::test]
async fn two_copies_at_once_bring_what_they_share_once() {
    let dir = tempfile::tempdir().unwrap();
    let (from, root) = base(&dir.path().join("base"), |_| {});
    let from = Storage::Layout(from);
    let to = Storage::Layout(Layout::create(&dir.path().join("to")).unwrap());
    let (first, second) = (Progress::default(), Progress::default());
    let (one, other) = tokio::join!(copy_image(&from, &root, &to, &first), copy_image(&from, &root, &to, &second));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.blobs + other.blobs, 2, "a layer and a configuration");
    assert_eq!(first.bytes(), second.bytes(), "both are whole");
}

#[tokio::test]
async fn a_layer_is_added_and_nothing_else_changes() {
    let dir = tempfile::tempdir().unwrap();
    let (from, root) = base(&dir.path().join("base"), |_| {});
    let place = Storage::Layout(from.clone());
    let read = Image::read(&place, root.clone(), None).await.unwrap();
    assert_eq!((read.platform().unwrap().to_string().as_str(), read.label("a")), ("linux/amd64", Some("b")));
    let to = Layout::create(&dir.path().join("to")).unwrap();
    let made = read.append(&addition(dir.path()), &Storage::Layout(to.clone())).await.unwrap();

    let (before, after) = (image(&root), image(&made));
    assert_eq!((after.layers.len(), after.layers[0].digest), (2, before.layers[0].digest));
    assert_eq!(after.layers.iter().map(|one| one.media_type.as_str()).collect::<Vec<_>>(), [media::OCI_LAYER_GZIP; 2]);
    assert_eq!(blob(&to, &after.layers[0]), blob(&from, &before.layers[0]));
    let mut tar = Vec::new();
    GzDecoder::new(blob(&to, &after.layers[1]).as_slice()).read_to_end(&mut tar).unwrap();
    let mut config: Value = serde_json::from_slice(&blob(&to, &after.config)).unwrap();
    assert_eq!(config["rootfs"]["diff_ids"][1], json!(Digest::of(&tar)));
    assert_eq!(config["history"], json!([{"created_by": "the base"}, {"created_by": "a test"}]));
    assert_eq!(config["config"]["Labels"], json!({"a": "b", "what": "x"}));
    assert_eq!((&config["custom"], &config["config"]["Entrypoint"]), (&json!({"kept": true}), &json!(["/sonobuoy"])));
    assert_eq!(config["rootfs"]["type"].take(), "layers");

    let mut archive = tar::Archive::new(tar.as_slice());
    let entries = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        let header = entry.header();
        assert_eq!((header.mtime().unwrap(), header.uid().unwrap(), header.gid().unwrap()), (0, 0, 0));
        (entry.path().unwrap().display().to_string(), header.mode().unwrap())
    });
    let expected = [
        ("usr/", 0o755),
        ("usr/share/", 0o755),
        ("usr/share/x/", 0o755),
        ("usr/share/x/.wh..wh..opq", 0o644),
        ("usr/share/x/one", 0o644),
        ("usr/share/x/two", 0o755),
    ];
    assert_eq!(entries.collect::<Vec<_>>(), expected.map(|(path, mode)| (path.to_owned(), mode)));

    // The same input yields the same digest.
    let again = Layout::create(&dir.path().join("again")).unwrap();
    let twice = read.append(&addition(dir.path()), &Storage::Layout(again)).await.unwrap();
    assert_eq!(twice.digest, made.digest);
}

#[tokio::test]
async fn archives_and_registries_hold_it_as_others_expect() {
    let dir = tempfile::tempdir().unwrap();
    let (from, root) = base(&dir.path().join("base"), |_| {});
    let read = Image::read(&Storage::Layout(from), root, None).await.unwrap();
    let to = Layout::create(&dir.path().join("to")).unwrap();
    let made = read.append(&addition(dir.path()), &Storage::Layout(to.clone())).await.unwrap();
    list_image(&to, &made, &read, &"registry.example.com/team/plumbline:v1-checks".parse().unwrap()).unwrap();
    let archive = dir.path().join("image.tar");
    write_archive(&to, &archive).unwrap();

    let opened = open_layout(&archive, None).unwrap();
    let entries = opened.layout().entries().unwrap();
    let entry = &entries[0].descriptor;
    assert_eq!((entries.len(), entry.digest, entries[0].name.as_deref()), (1, made.digest, Some("v1-checks")));
    assert_eq!(entry.annotations["io.containerd.image.name"], "registry.example.com/team/plumbline:v1-checks");
    assert_eq!(entry.other["platform"], json!({"os": "linux", "architecture": "amd64"}));
    Image::read(&Storage::Layout(opened.layout().clone()), made.clone(), Some(&"linux/amd64".parse().unwrap()))
        .await
        .unwrap();

    if let Some(text) = skopeo(dir.path(), &["inspect", &format!("oci-archive:{}", archive.display())]) {
        let inspected: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&inspected["Digest"], &inspected["Labels"]["what"]), (&json!(made.digest), &json!("x")));
        assert_eq!(inspected["Layers"].as_array().unwrap().len(), 2);
        // This unpacks every layer and compares it with the digests in the configuration.
        let docker = format!("docker-archive:{}:x:1", dir.path().join("docker.tar").display());
        skopeo(dir.path(), &["copy", &format!("oci-archive:{}", archive.display()), &docker]);
    }

    let Some(registry) = Registry::open().await else { return };
    let (client, name) = (client(&registry.host), reference(&registry.host, "team/plumbline:v1"));
    let place = Storage::Registry(client.clone(), name.clone());
    let pushed = read.append(&addition(dir.path()), &place).await.unwrap();
    client.put_manifest(&name, &pushed).await.unwrap();
    assert_eq!(pushed.digest, made.digest, "the same, wherever it is");
    // Copy it back to a layout, with another layer.
    let root = client.manifest(&name).await.unwrap();
    let third = Image::read(&place, root, None).await.unwrap();
    let further = Layout::create(&dir.path().join("further")).unwrap();
    let made = third.append(&addition(dir.path()), &Storage::Layout(further)).await.unwrap();
    assert_eq!(image(&made).layers.len(), 3);
}

#[tokio::test]
async fn an_invalid_image_is_rejected_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let error_of = async |name: &str, change: fn(&mut Value), platform: Option<&str>| {
        let (from, root) = base(&dir.path().join(name), change);
        let platform = platform.map(|text| text.parse().unwrap());
        let place = Storage::Layout(from);
        let read = match Image::read(&place, root, platform.as_ref()).await {
            Ok(read) => read,
            Err(error) => return error.cause.to_string(),
        };
        let to = Storage::Layout(Layout::create(&dir.path().join(format!("{name}-to"))).unwrap());
        read.append(&addition(dir.path()), &to).await.unwrap_err().cause.to_string()
    };
    let lies = error_of("lies", |config| config["rootfs"]["diff_ids"] = json!([]), None).await;
    assert_eq!(lies, "its configuration has 0 layers, but its manifest has 1");
    assert!(error_of("bundle", |config| *config = json!({"name": "x"}), None).await.contains("not a container image"));
    assert!(
        error_of("text", |config| *config = json!("x"), None)
            .await
            .contains("invalid configuration of a container image")
    );
    let other = error_of("other", |_| {}, Some("linux/arm64")).await;
    assert_eq!(other, "it is for linux/amd64, expected linux/arm64");
    assert!(error_of("labels", |config| config["config"]["Labels"] = json!(7), None).await.contains("`config.Labels`"));
    assert!(error_of("history", |config| config["history"] = json!("x"), None).await.contains("`history`"));
    for path in ["", "/a", "a//b", "../a", "a/./b", "a/"] {
        assert!(LayerBuilder::default().file(path, Path::new("/etc/hostname"), false).is_err(), "{path}");
    }
}
