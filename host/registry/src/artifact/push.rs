//! Pushing bundles and modules to a registry.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::client::{Client, describe};
use crate::digest::Digest;
use crate::error::{Cause, RegistryError};
use crate::manifest::{Descriptor, ImageManifest, RawManifest};
use crate::media;
use crate::reference::Reference;

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

/// Metadata of a single WebAssembly file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModuleFields {
    /// Exports and imports, if the file is a component. `None` for a core module.
    pub component: Option<Component>,
    /// Author of the file.
    pub author: Option<String>,
    /// Creation time in RFC 3339. `None` means the Unix epoch, so that the same file always yields
    /// the same artifact.
    pub created: Option<String>,
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
    created: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<&'a str>,
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
///
/// # Errors
///
/// The tar is not readable, or the registry rejects it.
pub async fn push_bundle(
    client: &Client,
    to: &Reference,
    tar: &Path,
    config: &BundleConfig,
    annotations: BTreeMap<String, String>,
) -> Result<Pushed, RegistryError> {
    let what = || format!("push bundle `{}` to `{to}`", tar.display());
    let mut layer = describe(tar, media::BUNDLE_TAR).map_err(|cause| cause.of(what()))?;
    // Tools that do not know bundles write the layer to a file named by its title. It is derived
    // from the plugin's name, because the path of the tar must not change the digest.
    layer.annotations.insert(media::TITLE.into(), format!("{}.bundle.tar", config.name));
    let config = serde_json::to_vec(config).map_err(|error| Cause::Malformed(error.to_string()).of(what()))?;
    let artefact =
        Artefact { kind: Some(media::BUNDLE), config_kind: media::BUNDLE_CONFIG, config, layer, annotations };
    artefact.push(client, to, tar).await
}

/// Pushes a single WebAssembly file under the tag of `to`, in the format that `wkg` and other tools
/// read.
///
/// # Errors
///
/// The file is not readable, or the registry rejects it.
pub async fn push_module(
    client: &Client,
    to: &Reference,
    file: &Path,
    fields: &ModuleFields,
    annotations: BTreeMap<String, String>,
) -> Result<Pushed, RegistryError> {
    let what = || format!("push module `{}` to `{to}`", file.display());
    let layer = describe(file, media::WASM).map_err(|cause| cause.of(what()))?;
    let config = WasmConfig {
        created: fields.created.as_deref().unwrap_or("1970-01-01T00:00:00Z"),
        author: fields.author.as_deref(),
        architecture: "wasm",
        // The layout requires `wasip2` for all components, even those that import nothing from
        // WASI. Core modules are `wasip1`.
        os: if fields.component.is_some() { "wasip2" } else { "wasip1" },
        layer_digests: vec![layer.digest],
        component: fields.component.as_ref(),
    };
    let config = serde_json::to_vec(&config).map_err(|error| Cause::Malformed(error.to_string()).of(what()))?;
    // No artifact type: the layout requires that the type follows from the configuration.
    let artefact = Artefact { kind: None, config_kind: media::WASM_CONFIG, config, layer, annotations };
    artefact.push(client, to, file).await
}

struct Artefact {
    kind: Option<&'static str>,
    config_kind: &'static str,
    config: Vec<u8>,
    layer: Descriptor,
    annotations: BTreeMap<String, String>,
}

impl Artefact {
    /// Pushes blobs first and the manifest last. Concurrent readers see either the old or the new
    /// artifact.
    async fn push(self, client: &Client, to: &Reference, file: &Path) -> Result<Pushed, RegistryError> {
        let config = Descriptor::of(self.config_kind, &self.config);
        client.push_bytes(to, &config, self.config.into()).await?;
        let uploaded = client.push_blob(to, &self.layer, file).await?;
        let (content, bytes) = (self.layer.digest, self.layer.size);
        let manifest = RawManifest::of_image(&ImageManifest {
            schema_version: 2,
            media_type: Some(media::OCI_MANIFEST.into()),
            artifact_type: self.kind.map(str::to_owned),
            config,
            layers: vec![self.layer],
            subject: None,
            annotations: self.annotations,
        })
        .map_err(|cause| cause.of(format!("describe `{}`", file.display())))?;
        // Always push a tag. Registries delete untagged manifests when they clean up.
        let named = to.with_tag(to.tag_or_default()).map_err(|error| Cause::from(error).of(format!("push `{to}`")))?;
        if let Some(wanted) = to.digest().filter(|wanted| *wanted != manifest.digest) {
            return Err(Cause::Mismatch { wanted, got: manifest.digest }.of(format!("push `{to}`")));
        }
        client.put_manifest(&named, &manifest).await?;
        Ok(Pushed { manifest: manifest.digest, content, bytes, there: !uploaded })
    }
}
