//! Makes images for tests: a few files, for several platforms, with the media types of Docker or
//! OCI.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use plumbline_registry::{Descriptor, Digest, Layout, media};
use serde_json::{Value, json};

use crate::bed::Bed;

/// Docker's media types for the parts of an image.
const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
const DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

/// Whose media types an image has.
#[derive(Clone, Copy)]
pub(crate) enum Words {
    Docker,
    Oci,
}

/// The files of an image: path and content. All are executable.
pub(crate) type Files<'a> = &'a [(&'a str, &'a str)];

/// Makes images in a layout.
pub(crate) struct Maker {
    pub(crate) layout: Layout,
}

impl Maker {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { layout: Layout::create(dir).unwrap() }
    }

    pub(crate) fn put(&self, kind: &str, bytes: &[u8]) -> Descriptor {
        let descriptor = Descriptor::of(kind, bytes);
        fs::write(self.layout.dir().join("blobs/sha256").join(descriptor.digest.hex()), bytes).unwrap();
        descriptor
    }

    /// Writes the manifest of an image for one architecture. Each file has a layer of its own.
    pub(crate) fn image(&self, words: Words, architecture: &str, files: Files<'_>) -> Descriptor {
        let (manifest_kind, config_kind, layer_kind) = match words {
            Words::Docker => (media::DOCKER_MANIFEST, DOCKER_CONFIG, DOCKER_LAYER),
            Words::Oci => (media::OCI_MANIFEST, media::OCI_CONFIG, media::OCI_LAYER_GZIP),
        };
        let tars: Vec<Vec<u8>> = files.iter().map(|(path, content)| tar(path, content)).collect();
        let layers: Vec<Descriptor> = tars.iter().map(|tar| self.put(layer_kind, &zipped(tar))).collect();
        let diff_ids: Vec<Digest> = tars.iter().map(|tar| Digest::of(tar)).collect();
        let config = json!({
            "architecture": architecture, "os": "linux", "config": {},
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
        });
        let config = self.put(config_kind, config.to_string().as_bytes());
        let manifest = json!({"schemaVersion": 2, "mediaType": manifest_kind, "config": config, "layers": layers});
        self.put(manifest_kind, manifest.to_string().as_bytes())
    }

    /// Writes an index of the same files for `amd64` and `arm64`. A further file names the
    /// architecture.
    pub(crate) fn index(&self, words: Words, files: Files<'_>) -> Descriptor {
        let kind = match words {
            Words::Docker => media::DOCKER_INDEX,
            Words::Oci => media::OCI_INDEX,
        };
        let entries: Vec<Value> = ["amd64", "arm64"]
            .iter()
            .map(|architecture| {
                let own = [files, &[("etc/arch", *architecture)]].concat();
                let mut entry = self.image(words, architecture, &own);
                entry.other.insert("platform".into(), json!({"os": "linux", "architecture": architecture}));
                serde_json::to_value(entry).unwrap()
            })
            .collect();
        let index = json!({"schemaVersion": 2, "mediaType": kind, "manifests": entries});
        self.put(kind, index.to_string().as_bytes())
    }

    pub(crate) fn name(&self, descriptor: &Descriptor, name: &str) {
        self.layout.list(descriptor.clone(), Some(name)).unwrap();
    }
}

/// The images that the fake program of the suite lists.
pub(crate) const LISTED: &str = "registry.k8s.io/e2e-test-images/agnhost:2.47
registry.k8s.io/pause:3.9
docker.io/library/busybox:1.36
invalid.registry.k8s.io/invalid/alpine:3.1
gcr.io/authenticated-image-pulling/alpine:3.7
";

/// Writes all images that a run of `v1.30.2` needs to the layout `world`, under their public names.
pub(crate) fn world(bed: &Bed) -> Maker {
    world_of(bed, "v1.30.2")
}

/// The same for another version of the suite, which is a shell script.
pub(crate) fn world_of(bed: &Bed, version: &str) -> Maker {
    let maker = Maker::new(&bed.path("world"));
    let suite = format!(
        "#!/bin/sh\n[ \"$1\" = --list-images ] || exit 2\n[ -z \"$KUBE_TEST_REPO_LIST\" ] || {{ echo lan.example/listed:1; exit; }}\ncat <<END\n{LISTED}END\n"
    );
    let suite: Files<'_> = &[("usr/local/bin/e2e.test", &suite), ("run_e2e.sh", "#!/bin/sh\n")];
    maker.name(&maker.index(Words::Oci, suite), &format!("registry.k8s.io/conformance:{version}"));
    maker.name(&maker.index(Words::Docker, &[("agnhost", "x")]), "registry.k8s.io/e2e-test-images/agnhost:2.47");
    maker.name(&maker.index(Words::Oci, &[("pause", "x")]), "registry.k8s.io/pause:3.9");
    let busybox = maker.image(Words::Docker, "amd64", &[("bin/busybox", "x")]);
    maker.name(&busybox, "docker.io/library/busybox:1.36");
    let own = concat!("ghcr.io/plumbline-dev/plumbline:v", env!("CARGO_PKG_VERSION"));
    maker.name(&maker.index(Words::Oci, &[("sonobuoy", "x")]), own);
    maker
}

/// The names of the images in the layout `world`, sorted.
pub(crate) fn names() -> Vec<String> {
    let own = concat!("ghcr.io/plumbline-dev/plumbline:v", env!("CARGO_PKG_VERSION"));
    [
        "docker.io/library/busybox:1.36",
        own,
        "registry.k8s.io/conformance:v1.30.2",
        "registry.k8s.io/e2e-test-images/agnhost:2.47",
        "registry.k8s.io/pause:3.9",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// A tar with one file. The system's `tar` makes it, so that the output of another program is read.
fn tar(path: &str, content: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, content).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new("tar")
        .args(["--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "-cf", "-", path])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
