//! An image in the layout of the OCI image specification, as one tar archive.
//!
//! An image for one platform also has the `manifest.json` of older engines, which refers to the same
//! blobs. `docker load` therefore accepts the archive too. Images for several platforms have one
//! name, which is that of their index.

use std::io;

use serde_json::{Value, json};

use super::layer::{Blob, Layer};
use super::reference::Reference;
use super::tree::{self, Node, Tree};
use crate::error::Error;

/// The user and group of the image, unless a pod sets others.
const USER: &str = "65532:65532";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The layers, the configuration and the manifest of an image for one platform.
pub(crate) struct Image {
    layers: Vec<Layer>,
    config: Blob,
    manifest: Blob,
    architecture: &'static str,
}

impl Image {
    /// Creates an image from one tree per layer.
    pub(crate) fn new(architecture: &'static str, trees: Vec<Tree>) -> Result<Self, Error> {
        let layers: Vec<Layer> = trees.iter().map(Layer::new).collect::<io::Result<_>>().map_err(in_memory)?;
        let config = Blob::new(
            json!({
                "architecture": architecture,
                "os": "linux",
                "config": {
                    "User": USER,
                    "Entrypoint": ["/sonobuoy"],
                    "Env": ["PATH=/"],
                    "WorkingDir": "/",
                    "Labels": {
                        "org.opencontainers.image.title": "plumbline",
                        "org.opencontainers.image.version": concat!("v", env!("CARGO_PKG_VERSION")),
                        "org.opencontainers.image.source": env!("CARGO_PKG_REPOSITORY"),
                        "org.opencontainers.image.licenses": env!("CARGO_PKG_LICENSE"),
                    },
                },
                "rootfs": {"type": "layers", "diff_ids": layers.iter().map(|layer| layer.diff_id.as_str()).collect::<Vec<_>>()},
                "history": layers.iter().map(|_| json!({"created_by": "cargo xtask image"})).collect::<Vec<_>>(),
            })
            .to_string()
            .into_bytes(),
        );
        let manifest = Blob::new(
            json!({
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
                "layers": layers
                    .iter()
                    .map(|layer| descriptor("application/vnd.oci.image.layer.v1.tar+gzip", &layer.blob))
                    .collect::<Vec<_>>(),
            })
            .to_string()
            .into_bytes(),
        );
        Ok(Self { layers, config, manifest, architecture })
    }

    /// Returns the digest of the image.
    pub(crate) fn digest(&self) -> String {
        self.manifest.digest()
    }

    /// Returns the size of the layers in bytes, which is what a node pulls.
    pub(crate) fn size(&self) -> u64 {
        self.layers.iter().map(|layer| layer.blob.bytes.len() as u64).sum()
    }

    /// Returns the descriptor of the manifest.
    fn descriptor(&self) -> Value {
        let mut descriptor = descriptor(MANIFEST, &self.manifest);
        insert(&mut descriptor, "platform", json!({"architecture": self.architecture, "os": "linux"}));
        descriptor
    }

    fn blobs(&self) -> impl Iterator<Item = &Blob> {
        self.layers.iter().map(|layer| &layer.blob).chain([&self.config, &self.manifest])
    }

    /// Returns the `manifest.json` of older engines.
    fn legacy(&self, reference: &Reference) -> Value {
        json!([{
            "Config": blob_path(&self.config),
            "RepoTags": [reference.full()],
            "Layers": self.layers.iter().map(|layer| blob_path(&layer.blob)).collect::<Vec<_>>(),
        }])
    }
}

/// Returns the archive of one image, or of the index of several images for different platforms.
pub(crate) fn archive(images: &[Image], reference: &Reference) -> Result<Vec<u8>, Error> {
    let file = |bytes: Vec<u8>| Node::File { mode: 0o644, bytes };
    let document = |value: &Value| value.to_string().into_bytes();
    let mut tree = Tree::from([
        ("blobs".to_owned(), Node::Directory { mode: 0o755 }),
        ("blobs/sha256".to_owned(), Node::Directory { mode: 0o755 }),
        ("oci-layout".to_owned(), file(document(&json!({"imageLayoutVersion": "1.0.0"})))),
    ]);
    for blob in images.iter().flat_map(Image::blobs) {
        tree.insert(blob_path(blob), file(blob.bytes.clone()));
    }
    let mut named = if let [image] = images {
        tree.insert("manifest.json".to_owned(), file(document(&image.legacy(reference))));
        image.descriptor()
    } else {
        let manifests: Vec<Value> = images.iter().map(Image::descriptor).collect();
        let index = Blob::new(document(&json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests})));
        let named = descriptor(INDEX, &index);
        tree.insert(blob_path(&index), file(index.bytes));
        named
    };
    // The first annotation is containerd's and has the full name. The second is that of the
    // specification and has the tag.
    let names = json!({
        "io.containerd.image.name": reference.full(),
        "org.opencontainers.image.ref.name": reference.tag(),
    });
    insert(&mut named, "annotations", names);
    let layout = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [named]});
    tree.insert("index.json".to_owned(), file(document(&layout)));
    let mut out = Vec::new();
    tree::write(&tree, &mut out).map_err(in_memory)?;
    Ok(out)
}

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

fn descriptor(media_type: &str, blob: &Blob) -> Value {
    json!({"mediaType": media_type, "digest": blob.digest(), "size": blob.bytes.len()})
}

fn blob_path(blob: &Blob) -> String {
    format!("blobs/sha256/{}", blob.sha256)
}

/// Converts an error of writing to memory, whose only cause is a path that tar cannot represent.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn in_memory(error: io::Error) -> Error {
    Error::unexpected(format!("the image cannot be packed: {error}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read;

    use flate2::read::GzDecoder;
    use sha2::{Digest, Sha256};

    use super::super::system;
    use super::*;

    /// Path to (mode, content, link target, time).
    type Files = BTreeMap<String, (u32, Vec<u8>, Option<String>, u64)>;

    fn read(tar: &[u8]) -> Files {
        let mut files = Files::new();
        for entry in tar::Archive::new(tar).entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            let link = entry.link_name().unwrap().map(|target| target.display().to_string());
            let read = (header.mode().unwrap(), bytes, link, header.mtime().unwrap());
            files.insert(entry.path().unwrap().display().to_string(), read);
        }
        files
    }

    fn image() -> Image {
        Image::new("amd64", vec![system::files(), system::program(b"stands in for the binary".to_vec())]).unwrap()
    }

    fn reference() -> Reference {
        Reference::parse("localhost/plumbline:test").unwrap()
    }

    fn blob<'a>(files: &'a Files, descriptor: &Value) -> &'a [u8] {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let bytes = &files[&format!("blobs/sha256/{digest}")].1;
        assert_eq!(descriptor["size"], bytes.len());
        assert_eq!(format!("{:x}", Sha256::digest(bytes)), digest);
        bytes
    }

    #[test]
    fn everything_is_where_its_digest_says() {
        let files = read(&archive(&[image()], &reference()).unwrap());
        let json = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).unwrap() };
        assert_eq!(json(&files["oci-layout"].1)["imageLayoutVersion"], "1.0.0");
        let index = json(&files["index.json"].1);
        let names = &index["manifests"][0]["annotations"];
        assert_eq!(names["io.containerd.image.name"], "localhost/plumbline:test");
        assert_eq!(names["org.opencontainers.image.ref.name"], "test");
        let manifest = json(blob(&files, &index["manifests"][0]));
        let config = json(blob(&files, &manifest["config"]));
        assert_eq!(config["config"]["User"], "65532:65532");
        assert_eq!(config["config"]["Entrypoint"], json!(["/sonobuoy"]));
        let layers = manifest["layers"].as_array().unwrap();
        assert_eq!(layers.len(), 2);
        for (layer, diff_id) in layers.iter().zip(config["rootfs"]["diff_ids"].as_array().unwrap()) {
            let mut tar = Vec::new();
            GzDecoder::new(blob(&files, layer)).read_to_end(&mut tar).unwrap();
            assert_eq!(*diff_id, format!("sha256:{:x}", Sha256::digest(&tar)));
        }
        let legacy = &json(&files["manifest.json"].1)[0];
        assert_eq!(legacy["RepoTags"], json!(["localhost/plumbline:test"]));
        for path in legacy["Layers"].as_array().unwrap().iter().chain([&legacy["Config"]]) {
            assert!(files.contains_key(path.as_str().unwrap()), "{path}");
        }
    }

    #[test]
    fn images_of_two_platforms_have_one_name() {
        let other = Image::new("arm64", vec![system::files(), system::program(b"of the other".to_vec())]).unwrap();
        let files = read(&archive(&[image(), other], &reference()).unwrap());
        let json = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).unwrap() };
        let layout = json(&files["index.json"].1);
        assert_eq!(layout["manifests"].as_array().unwrap().len(), 1);
        assert_eq!(layout["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"], "test");
        let index = json(blob(&files, &layout["manifests"][0]));
        let platforms: Vec<&Value> =
            index["manifests"].as_array().unwrap().iter().map(|one| &one["platform"]["architecture"]).collect();
        assert_eq!(platforms, ["amd64", "arm64"]);
        for manifest in index["manifests"].as_array().unwrap() {
            let manifest = json(blob(&files, manifest));
            let config = json(blob(&files, &manifest["config"]));
            assert_eq!(config["os"], "linux");
            for layer in manifest["layers"].as_array().unwrap() {
                blob(&files, layer);
            }
        }
    }

    #[test]
    fn layers_hold_what_a_process_expects() {
        let image = image();
        let mut files = Files::new();
        for layer in &image.layers {
            let mut tar = Vec::new();
            GzDecoder::new(layer.blob.bytes.as_slice()).read_to_end(&mut tar).unwrap();
            files.extend(read(&tar));
        }
        assert!(files.values().all(|file| file.3 == 0));
        assert_eq!(files["tmp/"].0, 0o1777);
        assert_eq!((files["sonobuoy"].0, files["sonobuoy"].1.as_slice()), (0o755, &b"stands in for the binary"[..]));
        assert_eq!(files["plumbline"].2.as_deref(), Some("sonobuoy"));
        let passwd = String::from_utf8(files["etc/passwd"].1.clone()).unwrap();
        assert!(passwd.contains("nonroot:x:65532:65532:"), "{passwd}");
        assert!(files.contains_key("etc/group"));
    }

    #[test]
    fn the_same_input_gives_the_same_bytes() {
        let once = || archive(&[image()], &reference()).unwrap();
        assert_eq!(once(), once());
        let other = Image::new("amd64", vec![system::files(), system::program(b"another".to_vec())]).unwrap();
        assert_eq!(other.layers[0].diff_id, image().layers[0].diff_id, "only the binary's layer changes with it");
        assert_ne!(other.digest(), image().digest());
    }
}
