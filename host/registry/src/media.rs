//! Media types and annotation keys.

/// An image manifest (OCI image specification).
pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// An index of manifests (OCI image specification).
pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The configuration of a container image.
pub const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// A layer of a container image.
pub const OCI_LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// The empty configuration `{}`.
pub const OCI_EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// Docker's image manifest, which has the same structure.
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// Docker's index, which has the same structure.
pub const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// Artifact type of a Plumbline bundle.
pub const BUNDLE: &str = "application/vnd.plumbline.bundle.v1";
/// Configuration of a bundle.
pub const BUNDLE_CONFIG: &str = "application/vnd.plumbline.bundle.config.v1+json";
/// The tar of a bundle.
pub const BUNDLE_TAR: &str = "application/vnd.plumbline.bundle.v1.tar";

/// A WebAssembly component or module.
pub const WASM: &str = "application/wasm";
/// Configuration of a single WebAssembly file.
pub const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// Legacy types of single WebAssembly files, from before there was a common layout.
pub const OLD_WASM: [&str; 2] =
    ["application/vnd.module.wasm.content.layer.v1+wasm", "application/vnd.wasm.content.layer.v1+wasm"];

/// Artifact type of the archive of a run.
pub const RESULTS: &str = "application/vnd.plumbline.results.v1";
/// The archive of a run.
pub const RESULTS_TAR: &str = "application/vnd.plumbline.results.v1.tar+gzip";

/// A Sigstore bundle with a signed statement.
pub const SIGSTORE_BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// A DSSE envelope with a signature. Older versions attached it. It is only read.
pub const DSSE: &str = "application/vnd.dsse.envelope.v1+json";

/// Annotation of an entry in a layout's index: its name.
pub const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// Annotation that containerd uses as the name of an imported image.
pub const CONTAINERD_NAME: &str = "io.containerd.image.name";
/// Annotation of a manifest: when it was made.
pub const CREATED: &str = "org.opencontainers.image.created";
/// Annotation of a Sigstore bundle: what it contains.
pub const BUNDLE_CONTENT: &str = "dev.sigstore.bundle.content";
/// Annotation of a Sigstore bundle: the type of the predicate in its statement.
pub const BUNDLE_PREDICATE: &str = "dev.sigstore.bundle.predicateType";
/// Annotation of a layer: its file name.
pub const TITLE: &str = "org.opencontainers.image.title";

/// Accepted types in a request for a manifest.
pub(crate) const MANIFESTS: [&str; 4] = [OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_INDEX];

/// Returns whether the type is an index, or `None` if it is not a supported manifest or index.
pub(crate) fn is_index(media_type: &str) -> Option<bool> {
    match media_type {
        OCI_MANIFEST | DOCKER_MANIFEST => Some(false),
        OCI_INDEX | DOCKER_INDEX => Some(true),
        _ => None,
    }
}

pub(crate) fn oci_layer(media_type: &str) -> Option<&'static str> {
    match media_type {
        "application/vnd.docker.image.rootfs.diff.tar.gzip" => Some(OCI_LAYER_GZIP),
        "application/vnd.docker.image.rootfs.diff.tar" => Some("application/vnd.oci.image.layer.v1.tar"),
        "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip" => {
            Some("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip")
        }
        _ => None,
    }
}

pub(crate) fn is_wasm(media_type: &str) -> bool {
    media_type == WASM || OLD_WASM.contains(&media_type)
}
