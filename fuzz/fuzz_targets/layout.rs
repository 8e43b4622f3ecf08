//! Fuzzes untrusted OCI layouts: an index, a manifest, and a layer from which a file is extracted.
#![no_main]

use std::fs;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use plumbline_registry::{Descriptor, Digest, Image, Layout, Storage, media};

fuzz_target!(|data: &[u8]| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let layout = Layout::create(&dir.path().join("layout")).expect("an empty layout");
    // As an index that a layout lists, and as a manifest that a descriptor refers to.
    let listed = layout.dir().join("index.json");
    let empty = fs::read(&listed).expect("reads the index");
    fs::write(&listed, data).expect("writes the index");
    let _ = (layout.index(), layout.entries());
    fs::write(&listed, empty).expect("writes the index");
    for kind in [media::OCI_MANIFEST, media::OCI_INDEX] {
        let descriptor = put(&layout, kind, data);
        if let Ok(manifest) = layout.manifest(&descriptor) {
            assert_eq!(manifest.bytes, data, "a manifest is the bytes that came");
        }
    }
    layer(&layout, dir.path(), data);
});

/// Extracts a file from an image whose only layer is `data`.
fn layer(layout: &Layout, outside: &Path, data: &[u8]) {
    let digest = Digest::of(data);
    let config =
        format!(r#"{{"architecture":"amd64","os":"linux","rootfs":{{"type":"layers","diff_ids":["{digest}"]}}}}"#);
    let config = put(layout, media::OCI_CONFIG, config.as_bytes());
    let layer = put(layout, "application/vnd.oci.image.layer.v1.tar", data);
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"{}","config":{},"layers":[{}]}}"#,
        media::OCI_MANIFEST,
        written(&config),
        written(&layer)
    );
    let root = put(layout, media::OCI_MANIFEST, manifest.as_bytes());
    let root = layout.manifest(&root).expect("our own manifest");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let Ok(image) = Image::read(&Storage::Layout(layout.clone()), root, None).await else { return };
        let _ = image.file("usr/bin/program").await;
    });
    let entries = fs::read_dir(outside).expect("reads the directory").count();
    assert_eq!(entries, 1, "something was written next to the layout");
}

fn put(layout: &Layout, kind: &str, bytes: &[u8]) -> Descriptor {
    let descriptor = Descriptor::new(kind, Digest::of(bytes), bytes.len() as u64);
    let hex = descriptor.digest.to_string().replace("sha256:", "");
    fs::write(layout.dir().join("blobs/sha256").join(hex), bytes).expect("writes a blob");
    descriptor
}

fn written(descriptor: &Descriptor) -> String {
    format!(
        r#"{{"mediaType":"{}","digest":"{}","size":{}}}"#,
        descriptor.media_type, descriptor.digest, descriptor.size
    )
}
