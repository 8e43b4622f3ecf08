//! Bundles and modules into a registry.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::client::{Client, describe};
use crate::digest::Digest;
use crate::error::{Cause, RegistryError};
use crate::manifest::{Descriptor, ImageManifest, RawManifest};
use crate::media;
use crate::reference::Reference;

/// What a bundle says of itself, to be read without its tar. Everything in it is also in the tar: this is for those who look at many.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BundleConfig {
    /// The plugin's name.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its version, in the author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its modules.
    #[serde(default)]
    pub modules: Vec<BundleModule>,
}

/// A module of a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BundleModule {
    /// Its name.
    pub name: String,
    /// Its file in the bundle.
    pub file: String,
    /// The file's digest, `sha256:…`.
    pub digest: String,
    /// What it can be: `post-processor`, `expectations`.
    #[serde(default)]
    pub roles: Vec<String>,
    /// The generation of the contract that it was built for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wit: Option<String>,
}

/// What is said of a single WebAssembly file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModuleFields {
    /// Exports and imports, if it is a component; a core module has none to tell.
    pub component: Option<Component>,
    /// Who made it.
    pub author: Option<String>,
    /// When, as RFC 3339. The beginning of time if `None`: the same file then always gives the same artefact.
    pub created: Option<String>,
}

/// The outside of a component.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Names of what it exports.
    pub exports: Vec<String>,
    /// Names of what it imports.
    pub imports: Vec<String>,
    /// The world that it was built for.
    pub target: Option<String>,
}

/// The configuration that Wasm tools read (the CNCF's "Wasm OCI artifact layout").
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

/// What is in the registry now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushed {
    /// The digest of the manifest: what one pulls by.
    pub manifest: Digest,
    /// The digest of the tar or the module.
    pub content: Digest,
    /// Its bytes.
    pub bytes: u64,
    /// Whether the registry had the content already.
    pub there: bool,
}

/// Pushes the tar of a bundle, under the tag of `to`.
///
/// # Errors
///
/// The tar cannot be read, or the registry does not take it.
pub async fn push_bundle(
    client: &Client,
    to: &Reference,
    tar: &Path,
    config: &BundleConfig,
    annotations: BTreeMap<String, String>,
) -> Result<Pushed, RegistryError> {
    let what = || format!("push bundle `{}` to `{to}`", tar.display());
    let mut layer = describe(tar, media::BUNDLE_TAR).map_err(|cause| cause.of(what()))?;
    // With a title, tools that know nothing of bundles write the layer to a file of this name. One from the plugin's name, not from the
    // path: where the tar lay while it was pushed must not change the digest.
    layer.annotations.insert(media::TITLE.into(), format!("{}.bundle.tar", config.name));
    let config = serde_json::to_vec(config).map_err(|error| Cause::Malformed(error.to_string()).of(what()))?;
    let artefact =
        Artefact { kind: Some(media::BUNDLE), config_kind: media::BUNDLE_CONFIG, config, layer, annotations };
    artefact.push(client, to, tar).await
}

/// Pushes a single WebAssembly file, under the tag of `to`, in the form that `wkg` and other tools read.
///
/// # Errors
///
/// The file cannot be read, or the registry does not take it.
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
        // What the layout calls components, whether or not they import anything of WASI; core modules are `wasip1`.
        os: if fields.component.is_some() { "wasip2" } else { "wasip1" },
        layer_digests: vec![layer.digest],
        component: fields.component.as_ref(),
    };
    let config = serde_json::to_vec(&config).map_err(|error| Cause::Malformed(error.to_string()).of(what()))?;
    // Without a kind of its own: the layout wants it to be told from the configuration.
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
    /// Contents first, the manifest last: a registry that is read meanwhile has either the old or the new.
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
        // What is pushed always has a name: without one, registries remove it when they clean up.
        let named = to.with_tag(to.tag_or_default()).map_err(|error| Cause::from(error).of(format!("push `{to}`")))?;
        if let Some(wanted) = to.digest().filter(|wanted| *wanted != manifest.digest) {
            return Err(Cause::Mismatch { wanted, got: manifest.digest }.of(format!("push `{to}`")));
        }
        client.put_manifest(&named, &manifest).await?;
        Ok(Pushed { manifest: manifest.digest, content, bytes, there: !uploaded })
    }
}
