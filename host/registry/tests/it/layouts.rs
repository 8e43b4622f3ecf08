//! Tests that copy artifacts from a registry to a layout and on to another registry.

use std::collections::BTreeMap;

use plumbline_registry::{
    BundleConfig, Cause, Descriptor, Digest, Kind, Layout, Manifest, load, media, open_layout, pull, push_bundle, save,
    unwrap_entry, write_archive,
};

use crate::server::{Registry, skopeo};
use crate::{file, reference};

#[tokio::test]
async fn a_saved_bundle_is_loaded_elsewhere_with_its_signatures() {
    let (Some(here), Some(there)) = (Registry::open().await, Registry::closed().await) else { return };
    let dir = here.dir.path();
    let (client, name) = (here.client(), reference(&here.host, "team/check:1"));
    let config = BundleConfig { name: "check".into(), ..BundleConfig::default() };
    let pushed = push_bundle(&client, &name, &file(dir, "t", b"the tar"), &config, BTreeMap::new()).await.unwrap();
    let other = name.with_tag("2").unwrap();
    push_bundle(&client, &other, &file(dir, "t", b"another tar"), &config, BTreeMap::new()).await.unwrap();
    let signature = client
        .attach(&name, pushed.manifest, media::DSSE, bytes::Bytes::from_static(b"signed"), Default::default())
        .await
        .unwrap();

    let layout = Layout::create(&dir.join("layout")).unwrap();
    let (root, copied) = save(&client, &name, &layout).await.unwrap();
    assert_eq!((root.digest, copied.manifests, copied.referrers, copied.blobs), (pushed.manifest, 2, 1, 4));
    save(&client, &other, &layout).await.unwrap();
    // A second copy finds all blobs.
    assert_eq!(save(&client, &name, &layout).await.unwrap().1.blobs, 0);
    let tar = dir.join("stick.tar");
    let bytes = write_archive(&layout, &tar).unwrap();
    let first = std::fs::read(&tar).unwrap();
    assert_eq!(bytes, first.len() as u64);
    write_archive(&layout, &tar).unwrap();
    assert_eq!(std::fs::read(&tar).unwrap(), first);

    let opened = open_layout(&tar, None).unwrap();
    let entries = opened.layout().entries().unwrap();
    let names: Vec<_> = entries.iter().map(|entry| entry.name.clone().unwrap()).collect();
    // The artifact that was saved again is now the last entry.
    assert_eq!(names, [other.bare(), name.bare()]);
    let inside = unwrap_entry(opened.layout(), &entries[1]).await.unwrap();
    assert_eq!((inside.kind, std::fs::read(inside.file.path()).unwrap()), (Kind::Bundle, b"the tar".to_vec()));

    let (target, to) = (there.client(), reference(&there.host, "mirror/check:stable"));
    load(opened.layout(), &entries[1], &target, &to).await.unwrap();
    let pulled = pull(&target, &to).await.unwrap();
    assert_eq!((pulled.manifest, std::fs::read(pulled.file.path()).unwrap()), (pushed.manifest, b"the tar".to_vec()));
    let found = target.referrers(&to, pushed.manifest, Some(media::DSSE)).await.unwrap();
    assert_eq!(found.iter().map(|one| one.digest).collect::<Vec<_>>(), [signature]);

    // Other tools can read the archive too.
    let source = format!("oci-archive:{}:{}", tar.display(), name.bare());
    let Some(raw) = skopeo(dir, &["inspect", "--raw", &source]) else { return };
    assert_eq!(Digest::of(raw.as_bytes()), pushed.manifest);
}

#[tokio::test]
async fn an_index_of_several_platforms_is_copied_whole() {
    let (Some(here), Some(there)) = (Registry::open().await, Registry::open().await) else { return };
    let (client, name) = (here.client(), reference(&here.host, "image:1"));
    let mut entries = Vec::new();
    for (platform, content) in [("amd64", &b"one"[..]), ("arm64", b"two")] {
        let (config, layer) = (
            Descriptor::of(media::OCI_CONFIG, b"{}"),
            Descriptor::of("application/vnd.oci.image.layer.v1.tar", content),
        );
        client.push_bytes(&name, &config, bytes::Bytes::from_static(b"{}")).await.unwrap();
        client.push_bytes(&name, &layer, bytes::Bytes::copy_from_slice(content)).await.unwrap();
        let text = serde_json::json!({"schemaVersion": 2, "mediaType": media::OCI_MANIFEST, "config": config, "layers": [layer]}).to_string();
        let mut entry = Descriptor::of(media::OCI_MANIFEST, text.as_bytes());
        crate::others::put_text(&client, &name.by_digest(entry.digest), &text).await;
        entry.other.insert("platform".into(), serde_json::json!({"os": "linux", "architecture": platform}));
        entries.push(entry);
    }
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::create(dir.path()).unwrap();
    let text = serde_json::json!({"schemaVersion": 2, "mediaType": media::OCI_INDEX, "manifests": entries}).to_string();
    let index = Descriptor::of(media::OCI_INDEX, text.as_bytes());
    std::fs::write(dir.path().join("blobs/sha256").join(index.digest.hex()), &text).unwrap();
    client.put_manifest(&name, &layout.manifest(&index).unwrap()).await.unwrap();

    let (_, copied) = save(&client, &name, &layout).await.unwrap();
    assert_eq!((copied.manifests, copied.blobs), (3, 3));
    let (target, to) = (there.client(), reference(&there.host, "copy:1"));
    load(&layout, &layout.entries().unwrap()[0], &target, &to).await.unwrap();
    let Manifest::Index(found) = target.manifest(&to).await.unwrap().manifest else { panic!("no index") };
    assert_eq!(found.manifests, entries);
    let error = pull(&target, &to).await.unwrap_err();
    assert!(matches!(&*error.cause, Cause::Kind(why) if why.contains("index of 2")), "{error:?}");
}
