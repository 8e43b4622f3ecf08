//! Plumbline's artifacts: bundles, and single WebAssembly files in the format of other tools.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Seek as _;
use std::path::Path;

use plumbline_core::Digest;
use plumbline_core::text::excerpt;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::client::Client;
use crate::error::{Cause, RegistryError};
use crate::layout::{Entry, Layout};
use crate::manifest::{Descriptor, ImageManifest, RawManifest};
use crate::media;
use crate::reference::Reference;
use crate::storage::{Fetched, Storage};

/// Kind of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The tar of a bundle.
    Bundle,
    /// A single WebAssembly file.
    Module,
}

/// A pulled artifact. Its bytes are verified against their digests. The content of the file and of
/// the configuration is still untrusted.
#[derive(Debug)]
pub struct Pulled {
    /// Kind of the artifact.
    pub kind: Kind,
    /// The tar or the WebAssembly file, positioned at its start. It is deleted when this value is
    /// dropped.
    pub file: NamedTempFile,
    /// Descriptor of the file.
    pub layer: Descriptor,
    /// Digest of the manifest.
    pub manifest: Digest,
    /// Digest of the index, if the reference is to an index with a single artifact.
    pub index: Option<Digest>,
    /// The configuration, or `null` if it is not JSON.
    pub config: Value,
    /// Annotations of the manifest.
    pub annotations: BTreeMap<String, String>,
}

impl Pulled {
    /// Returns the digest that the tag resolved to. A pull by this digest returns the same
    /// artifact.
    pub fn resolved(&self) -> Digest {
        self.index.unwrap_or(self.manifest)
    }
}

/// Pulls the bundle or the WebAssembly file at `reference`.
pub async fn pull(client: &Client, reference: &Reference) -> Result<Pulled, RegistryError> {
    let root = client.manifest(reference).await?;
    let from = Storage::Registry(client.clone(), reference.clone());
    fetch(&from, root, &format!("pull `{reference}`")).await
}

/// Extracts the bundle or the WebAssembly file of a layout's entry.
pub async fn unwrap_entry(layout: &Layout, entry: &Entry) -> Result<Pulled, RegistryError> {
    let from = Storage::Layout(layout.clone());
    let root = from.manifest(&entry.descriptor).await?;
    let name = entry.name.clone().unwrap_or_else(|| entry.descriptor.digest.to_string());
    fetch(&from, root, &format!("remove `{name}` from the layout")).await
}

async fn fetch(from: &Storage, root: RawManifest, what: &str) -> Result<Pulled, RegistryError> {
    let top = root.digest;
    let (manifest, image) = from.resolve(root, only_artifact, what).await?;
    let (kind, layer) = content(&image).map_err(|cause| cause.of(what))?;
    // The configuration is only displayed. It does not decide what the artifact is.
    let config = serde_json::from_slice(&from.config(&image.config, what).await?).unwrap_or(Value::Null);
    let file = match from.fetch(&layer).await? {
        Fetched::Temporary(file) => file,
        Fetched::InLayout(path) => {
            let copy = || {
                let mut file = NamedTempFile::new()?;
                std::io::copy(&mut std::fs::File::open(&path)?, &mut file)?;
                file.rewind()?;
                Ok(file)
            };
            copy().map_err(|error| Cause::file(&path)(error).of(what))?
        }
    };
    let index = (manifest.digest != top).then_some(top);
    Ok(Pulled { kind, file, layer, manifest: manifest.digest, index, config, annotations: image.annotations })
}

/// Returns the single artifact in an index. Some tools wrap one in an index.
fn only_artifact(entries: &[Descriptor]) -> Result<&Descriptor, Cause> {
    let artifacts: Vec<&Descriptor> = entries.iter().filter(|entry| !entry.is_attestation()).collect();
    match artifacts.as_slice() {
        [artifact] => Ok(artifact),
        all => Err(Cause::Kind(format!("it is an index of {} artifacts: choose one by its digest", all.len()))),
    }
}

/// Returns the kind of an image by its layers. The media types of configurations have changed too
/// often to rely on them.
fn content(image: &ImageManifest) -> Result<(Kind, Descriptor), Cause> {
    let of = |fits: &dyn Fn(&str) -> bool| -> Vec<Descriptor> {
        image.layers.iter().filter(|layer| fits(&layer.media_type)).cloned().collect()
    };
    let (bundles, modules) = (of(&|kind| kind == media::BUNDLE_TAR), of(&media::is_wasm));
    match (bundles.as_slice(), modules.as_slice(), image.layers.len()) {
        ([bundle], [], 1) => Ok((Kind::Bundle, bundle.clone())),
        ([], [module], 1) => Ok((Kind::Module, module.clone())),
        ([], [], _) => {
            let kinds: Vec<String> =
                image.layers.iter().take(3).map(|layer| format!("`{}`", excerpt(&layer.media_type, 100))).collect();
            let image =
                if image.config.media_type == media::OCI_CONFIG { ", as a container image has them" } else { "" };
            let kinds = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
            Err(Cause::Kind(format!("it is neither a bundle nor a WebAssembly file: its layers are {kinds}{image}")))
        }
        (_, _, count) => Err(Cause::Kind(format!("it has {count} layers: expected one"))),
    }
}

/// Configuration of a bundle, which describes it without its tar. All fields are also in the tar.
/// The copy is for clients that list many bundles.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BundleConfig {
    /// Name of the plugin.
    pub name: String,
    /// Purpose of the plugin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Version of the bundle, as chosen by its author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Modules of the bundle.
    #[serde(default)]
    pub modules: Vec<BundleModule>,
}

/// A module of a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BundleModule {
    /// Name of the module.
    pub name: String,
    /// File name of the module in the bundle.
    pub file: String,
    /// Digest of the file, `sha256:…`.
    pub digest: String,
    /// Roles that the module implements, such as `post-processor` and `expectations`.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Version of the WIT interface that the module was built for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wit: Option<String>,
}

/// Exports and imports of a component.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Names of the exports.
    pub exports: Vec<String>,
    /// Names of the imports.
    pub imports: Vec<String>,
    /// World that the component was built for.
    pub target: Option<String>,
}

/// Configuration that Wasm tools read (the CNCF's "Wasm OCI artifact layout").
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WasmConfig<'a> {
    created: &'static str,
    architecture: &'static str,
    os: &'static str,
    layer_digests: Vec<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    component: Option<&'a Component>,
}

/// Result of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushed {
    /// Digest of the manifest, by which the artifact can be pulled.
    pub manifest: Digest,
    /// Digest of the tar or the module.
    pub content: Digest,
    /// Size of the tar or the module in bytes.
    pub bytes: u64,
    /// Whether the registry already had the blob.
    pub there: bool,
}

/// Pushes the tar of a bundle under the tag of `to`.
pub async fn push_bundle(
    client: &Client,
    to: &Reference,
    tar: &Path,
    config: &BundleConfig,
    annotations: BTreeMap<String, String>,
) -> Result<Pushed, RegistryError> {
    let what = format!("push bundle `{}` to `{to}`", tar.display());
    let mut layer = Descriptor::of_file(media::BUNDLE_TAR, tar).map_err(|cause| cause.of(what.as_str()))?;
    // Tools that do not know bundles write the layer to a file named by its title. It is derived
    // from the plugin's name, because the path of the tar must not change the digest.
    layer.annotations.insert(media::TITLE.into(), format!("{}.bundle.tar", config.name));
    let artifact =
        Artifact { kind: Some(media::BUNDLE), config_kind: media::BUNDLE_CONFIG, config, layer, annotations };
    artifact.push(client, to, tar, &what).await
}

/// Pushes a single WebAssembly file under the tag of `to`, in the format that `wkg` and other tools
/// read. `component` is `None` for a core module.
pub async fn push_module(
    client: &Client,
    to: &Reference,
    file: &Path,
    component: Option<&Component>,
    annotations: BTreeMap<String, String>,
) -> Result<Pushed, RegistryError> {
    let what = format!("push module `{}` to `{to}`", file.display());
    let mut layer = Descriptor::of_file(media::WASM, file).map_err(|cause| cause.of(what.as_str()))?;
    // As for bundles: without a title, `oras pull` writes no file.
    if let Some(name) = file.file_name().and_then(OsStr::to_str) {
        layer.annotations.insert(media::TITLE.into(), name.to_owned());
    }
    let config = WasmConfig {
        // A constant, so that the same file with the same name always yields the same artifact.
        created: "1970-01-01T00:00:00Z",
        architecture: "wasm",
        // The layout requires `wasip2` for all components, even those that import nothing from
        // WASI. Core modules are `wasip1`.
        os: if component.is_some() { "wasip2" } else { "wasip1" },
        layer_digests: vec![layer.digest],
        component,
    };
    // No artifact type: the layout requires that the type follows from the configuration.
    let artifact = Artifact { kind: None, config_kind: media::WASM_CONFIG, config, layer, annotations };
    artifact.push(client, to, file, &what).await
}

struct Artifact<T> {
    kind: Option<&'static str>,
    config_kind: &'static str,
    config: T,
    layer: Descriptor,
    annotations: BTreeMap<String, String>,
}

impl<T: Serialize> Artifact<T> {
    /// Pushes blobs first and the manifest last. Concurrent readers see either the old or the new
    /// artifact. `what` is for errors.
    async fn push(self, client: &Client, to: &Reference, file: &Path, what: &str) -> Result<Pushed, RegistryError> {
        let text = serde_json::to_vec(&self.config).map_err(|error| Cause::Malformed(error.to_string()).of(what))?;
        let config = Descriptor::of(self.config_kind, &text);
        client.push_bytes(to, &config, text.into()).await?;
        let uploaded = client.push_blob(to, &self.layer, file).await?;
        let (content, bytes) = (self.layer.digest, self.layer.size);
        let manifest = RawManifest::write(&ImageManifest {
            annotations: self.annotations,
            ..ImageManifest::new(self.kind, config, vec![self.layer])
        })
        .map_err(|cause| cause.of(format!("describe `{}`", file.display())))?;
        if let Some(wanted) = to.digest().filter(|wanted| *wanted != manifest.digest) {
            return Err(Cause::Mismatch { wanted, got: manifest.digest }.of(format!("push `{to}`")));
        }
        // Always push a tag. Registries delete untagged manifests when they clean up.
        client.put_manifest(&to.tagged(), &manifest).await?;
        Ok(Pushed { manifest: manifest.digest, content, bytes, there: !uploaded })
    }
}
