//! Names of the kinds of documents and contents.

/// An image manifest (OCI image specification).
pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// An index of manifests (OCI image specification).
pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The configuration of a container image.
pub const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// A layer of a container image.
pub const OCI_LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// The configuration that is none: `{}`.
pub const OCI_EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// Docker's manifest, of the same form.
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// Docker's index, of the same form.
pub const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// A bundle of Plumbline, as the type of the whole artefact.
pub const BUNDLE: &str = "application/vnd.plumbline.bundle.v1";
/// What a bundle says of itself.
pub const BUNDLE_CONFIG: &str = "application/vnd.plumbline.bundle.config.v1+json";
/// The bundle's tar.
pub const BUNDLE_TAR: &str = "application/vnd.plumbline.bundle.v1.tar";

/// A WebAssembly component or module.
pub const WASM: &str = "application/wasm";
/// What is said of a single WebAssembly file.
pub const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// How single WebAssembly files were marked before there was an agreement.
pub const OLD_WASM: [&str; 2] =
    ["application/vnd.module.wasm.content.layer.v1+wasm", "application/vnd.wasm.content.layer.v1+wasm"];
/// Configurations of such artefacts.
pub const OLD_WASM_CONFIG: [&str; 2] = ["application/vnd.wasm.config.v1+json", OCI_CONFIG];

/// A DSSE envelope with a signature.
pub const DSSE: &str = "application/vnd.dsse.envelope.v1+json";

/// The annotation of an entry of a layout's index: the name that people gave it.
pub const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// The annotation of a layer: the name of its file.
pub const TITLE: &str = "org.opencontainers.image.title";

/// What is asked for where a manifest is wanted.
pub(crate) const MANIFESTS: [&str; 4] = [OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_INDEX];

/// Whether it is an index, if it is one of the documents that are understood.
pub(crate) fn is_index(media_type: &str) -> Option<bool> {
    match media_type {
        OCI_MANIFEST | DOCKER_MANIFEST => Some(false),
        OCI_INDEX | DOCKER_INDEX => Some(true),
        _ => None,
    }
}

/// OCI's name for a layer that Docker names otherwise.
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

/// Whether a layer is a single WebAssembly file.
pub(crate) fn is_wasm(media_type: &str) -> bool {
    media_type == WASM || OLD_WASM.contains(&media_type)
}
