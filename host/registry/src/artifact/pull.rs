//! Pulling bundles and modules from a registry or a layout.

use std::collections::BTreeMap;
use std::io::Seek as _;
use std::path::Path;

use serde_json::Value;
use tempfile::NamedTempFile;

use crate::client::Client;
use crate::digest::Digest;
use crate::error::{Cause, RegistryError};
use crate::layout::{Entry, Layout};
use crate::limits::{MAX_CONFIG_BYTES, MAX_DEPTH};
use crate::manifest::{Descriptor, ImageManifest, Manifest, RawManifest};
use crate::media;
use crate::place::{Fetched, Storage};
use crate::reference::Reference;

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
    #[must_use]
    pub fn resolved(&self) -> Digest {
        self.index.unwrap_or(self.manifest)
    }
}

/// Pulls the bundle or the WebAssembly file at `reference`.
///
/// # Errors
///
/// The artifact does not exist, has another kind, or does not match its digests.
pub async fn pull(client: &Client, reference: &Reference) -> Result<Pulled, RegistryError> {
    let root = client.manifest(reference).await?;
    let from = Storage::Registry(client.clone(), reference.clone());
    found(&from, root, &format!("pull `{reference}`"), client.settings().scratch.as_deref()).await
}

/// Extracts the bundle or the WebAssembly file of a layout's entry.
///
/// # Errors
///
/// Same as [`pull`].
pub async fn unwrap_entry(layout: &Layout, entry: &Entry) -> Result<Pulled, RegistryError> {
    let from = Storage::Layout(layout.clone());
    let root = from.manifest(&entry.descriptor).await?;
    let name = entry.name.clone().unwrap_or_else(|| entry.descriptor.digest.to_string());
    found(&from, root, &format!("take `{name}` out of the layout"), None).await
}

async fn found(from: &Storage, root: RawManifest, what: &str, scratch: Option<&Path>) -> Result<Pulled, RegistryError> {
    let (index, manifest) = single(from, root, what).await?;
    let digest = manifest.digest;
    let Manifest::Image(image) = manifest.manifest else {
        return Err(Cause::Kind("it is an index".into()).of(what));
    };
    let (kind, layer) = content(&image).map_err(|cause| cause.of(what))?;
    if image.config.size > MAX_CONFIG_BYTES {
        return Err(Cause::TooLarge { limit: MAX_CONFIG_BYTES }.of(what));
    }
    let config = from.fetch(&image.config).await?;
    let config = std::fs::read(config.path()).map_err(|error| Cause::file(config.path())(error).of(what))?;
    // The configuration is only displayed. It does not decide what the artifact is.
    let config = serde_json::from_slice(&config).unwrap_or(Value::Null);
    let file = match from.fetch(&layer).await? {
        Fetched::Temporary(blob) => blob.into_file(),
        Fetched::There(path) => {
            let copied = || {
                let mut file = NamedTempFile::new_in(scratch.map_or_else(std::env::temp_dir, Path::to_path_buf))?;
                std::io::copy(&mut std::fs::File::open(&path)?, &mut file)?;
                file.rewind()?;
                Ok(file)
            };
            copied().map_err(|error| Cause::file(&path)(error).of(what))?
        }
    };
    Ok(Pulled { kind, file, layer, manifest: digest, index, config, annotations: image.annotations })
}

/// Resolves an index with a single artifact to its manifest. Some tools wrap a single artifact in
/// an index.
async fn single(from: &Storage, root: RawManifest, what: &str) -> Result<(Option<Digest>, RawManifest), RegistryError> {
    let top = root.digest;
    let mut manifest = root;
    for depth in 0..=MAX_DEPTH {
        let Manifest::Index(index) = &manifest.manifest else {
            return Ok(((depth > 0).then_some(top), manifest));
        };
        // Build attestations are listed next to the artifact and carry this annotation.
        let is_artefact = |one: &&Descriptor| !one.annotations.contains_key("vnd.docker.reference.type");
        let entries: Vec<&Descriptor> = index.manifests.iter().filter(is_artefact).collect();
        let [entry] = entries.as_slice() else {
            let count = entries.len();
            return Err(Cause::Kind(format!("it is an index of {count} artefacts: name one by its digest")).of(what));
        };
        manifest = from.manifest(entry).await?;
    }
    Err(Cause::Malformed(format!("indexes name indexes more than {MAX_DEPTH} deep")).of(what))
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
                image.layers.iter().take(3).map(|layer| format!("`{}`", short(&layer.media_type))).collect();
            let image =
                if image.config.media_type == media::OCI_CONFIG { ", as a container image has them" } else { "" };
            let kinds = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
            Err(Cause::Kind(format!("it is neither a bundle nor a WebAssembly file: its layers are {kinds}{image}")))
        }
        (_, _, count) => Err(Cause::Kind(format!("it has {count} layers, and a bundle or a WebAssembly file has one"))),
    }
}

fn short(text: &str) -> String {
    plumbline_core::text::excerpt(text, 100)
}
