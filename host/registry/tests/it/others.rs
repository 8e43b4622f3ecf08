//! Interoperability tests: other tools read what we push, and we read what they push.

use std::collections::BTreeMap;
use std::path::Path;

use plumbline_registry::{
    BundleConfig, Client, Descriptor, Digest, Kind, Layout, Reference, media, pull, push_bundle, push_module, save,
};

use crate::server::{Registry, skopeo};
use crate::{file, reference};

/// Pushes a manifest with exactly this text. It goes through a layout, like the manifest of another
/// program.
pub(crate) async fn put_text(client: &Client, name: &Reference, text: &str) {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::create(dir.path()).unwrap();
    let descriptor = Descriptor::of(media::OCI_MANIFEST, text.as_bytes());
    std::fs::write(dir.path().join("blobs/sha256").join(descriptor.digest.hex()), text).unwrap();
    let manifest = layout.manifest(&descriptor).unwrap();
    client.put_manifest(name, &manifest).await.unwrap();
}

fn blob(layout: &Path, digest: Digest) -> Vec<u8> {
    std::fs::read(layout.join("blobs/sha256").join(digest.hex())).unwrap()
}

#[tokio::test]
async fn skopeo_reads_what_we_push_byte_for_byte() {
    let Some(registry) = Registry::open().await else { return };
    let dir = registry.dir.path();
    if skopeo(dir, &["--version"]).is_none() {
        return;
    }
    let (client, bundle, module) =
        (registry.client(), reference(&registry.host, "team/check:1.2"), reference(&registry.host, "tap:1"));
    let config = BundleConfig { name: "check".into(), ..BundleConfig::default() };
    let (tar, wasm) = (file(dir, "some.tar", b"the tar"), file(dir, "tap.wasm", b"\0asm\x0d\0\x01\0"));
    let pushed = push_bundle(&client, &bundle, &tar, &config, BTreeMap::new()).await.unwrap();
    let module_pushed = push_module(&client, &module, &wasm, None, BTreeMap::new()).await.unwrap();

    for (name, pushed, content) in [(&bundle, pushed, &b"the tar"[..]), (&module, module_pushed, b"\0asm\x0d\0\x01\0")]
    {
        let source = format!("docker://{}", name.bare());
        let raw = skopeo(dir, &["inspect", "--tls-verify=false", "--raw", &source]).unwrap();
        assert_eq!(Digest::of(raw.as_bytes()), pushed.manifest);
        let layout = dir.join(format!("oci-{}", pushed.content.hex()));
        skopeo(dir, &["copy", "--src-tls-verify=false", &source, &format!("oci:{}:x", layout.display())]).unwrap();
        assert_eq!(blob(&layout, pushed.content), content);
        assert_eq!(blob(&layout, pushed.manifest), raw.as_bytes());
        // We can read its layout.
        let opened = Layout::open(&layout).unwrap();
        let entries = opened.entries().unwrap();
        assert_eq!(
            (entries.len(), entries[0].descriptor.digest, entries[0].name.as_deref()),
            (1, pushed.manifest, Some("x"))
        );
        let plain = dir.join(format!("dir-{}", pushed.content.hex()));
        skopeo(dir, &["copy", "--src-tls-verify=false", &source, &format!("dir:{}", plain.display())]).unwrap();
        assert_eq!(std::fs::read(plain.join(pushed.content.hex())).unwrap(), content);
    }
}

#[tokio::test]
async fn artifacts_pushed_by_skopeo_can_be_pulled() {
    let Some(registry) = Registry::open().await else { return };
    let dir = registry.dir.path();
    let (client, name) = (registry.client(), reference(&registry.host, "first:1"));
    let wasm = file(dir, "tap.wasm", b"\0asm\x0d\0\x01\0");
    let pushed = push_module(&client, &name, &wasm, None, BTreeMap::new()).await.unwrap();
    let layout = Layout::create(&dir.join("layout")).unwrap();
    save(&client, &name, &layout).await.unwrap();
    // From our layout to another name, with skopeo only.
    let other = reference(&registry.host, "second:1");
    let source = format!("oci:{}:{}", layout.dir().display(), name.bare());
    if skopeo(dir, &["copy", "--dest-tls-verify=false", &source, &format!("docker://{}", other.bare())]).is_none() {
        return;
    }
    let pulled = pull(&client, &other).await.unwrap();
    assert_eq!((pulled.kind, pulled.manifest), (Kind::Module, pushed.manifest));
    assert_eq!(std::fs::read(pulled.file.path()).unwrap(), b"\0asm\x0d\0\x01\0");
}
