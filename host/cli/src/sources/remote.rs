//! Bundles in registries: `oci://registry/name:tag`, `oci://registry/name@sha256:…`.

use std::fs;
use std::future::Future;
use std::sync::OnceLock;

use plumbline_bundle::Cache;
use plumbline_bundle::limits::{MAX_BUNDLE_BYTES, MAX_SIGNATURE_BYTES};
use plumbline_registry::{Cause, Client, Digest, Kind, Layout, Manifest, Reference, RegistryError, Settings, media};
use serde_json::Value;
use tempfile::NamedTempFile;

use super::packed::unpacked;
use super::{Found, Where};
use crate::args::RegistryArgs;
use crate::error::CliError;
use crate::runtime::one_thread;
use crate::ui::say;

pub(crate) use super::failure::registry_error;

/// The largest tar of a bundle.
pub(crate) const LARGEST_TAR: u64 = MAX_BUNDLE_BYTES + TAR_BYTES;
/// What a tar adds to its files: a block for each, and what rounds each up to one.
const TAR_BYTES: u64 = 8 << 20;
/// Signatures of one bundle that are fetched: each is a few requests.
const MAX_SIGNATURES: usize = 64;
/// The annotation with the version, in the author's words.
const VERSION: &str = "org.opencontainers.image.version";

/// How registries are reached. One process does one command: what its command line says counts for every reference that it names.
static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// A bundle that was fetched.
pub(crate) struct Pulled {
    /// What it was fetched by, with the digest of what that stood for.
    pub(crate) pinned: Reference,
    /// The tar, removed when this is dropped.
    pub(crate) tar: NamedTempFile,
    /// What the registry calls this version: the tag, or an annotation.
    pub(crate) version: Option<String>,
    /// Its signatures as they came.
    pub(crate) signatures: Option<Vec<u8>>,
}

/// Whatever was fetched.
pub(crate) struct Artefact {
    pub(crate) reference: Reference,
    pub(crate) pulled: plumbline_registry::Pulled,
    pub(crate) signatures: Option<Vec<u8>>,
}

/// Takes over what the command line says.
pub(crate) fn use_registries(args: &RegistryArgs) {
    // A second time there is nothing else to take over.
    let _ = SETTINGS.set(args.settings());
}

/// Whether somebody means a registry.
pub(crate) fn is_remote(reference: &str) -> bool {
    Reference::is_meant(reference)
}

/// What the command line and the environment say of registries.
pub(crate) fn settings() -> Settings {
    SETTINGS.get_or_init(|| RegistryArgs::default().settings()).clone()
}

/// A client with the command's settings.
pub(crate) fn client() -> Result<Client, CliError> {
    Client::new(settings()).map_err(|error| registry_error(&error))
}

/// The reference in a text.
pub(crate) fn reference(text: &str) -> Result<Reference, CliError> {
    text.parse().map_err(|error| {
        CliError::usage(format!("`{text}` is not a reference to a registry"))
            .because(&error)
            .hint("a reference looks like `oci://registry.example.com/team/name:1.2`")
    })
}

/// Waits for what registries answer.
pub(crate) fn wait<T>(work: impl Future<Output = Result<T, RegistryError>>) -> Result<T, CliError> {
    let runtime = one_thread()?;
    runtime.block_on(work).map_err(|error| registry_error(&error))
}

/// Fetches what `text` names, whatever it is, and tells which digest a tag stands for.
pub(crate) fn fetch(text: &str) -> Result<Artefact, CliError> {
    let reference = reference(text)?;
    let settings =
        Settings { largest_blob: LARGEST_TAR, downloads: Cache::downloads(), ..client()?.settings().clone() };
    let client = Client::new(settings).map_err(|error| registry_error(&error))?;
    let (pulled, signatures) = wait(async {
        let pulled = plumbline_registry::pull(&client, &reference).await?;
        let signatures = match pulled.kind {
            Kind::Bundle => signatures(&client, &reference, pulled.manifest).await,
            Kind::Module => None,
        };
        Ok((pulled, signatures))
    })?;
    if reference.digest().is_none() {
        say(&format!("`{reference}` is {}", pulled.resolved()));
    }
    Ok(Artefact { reference, pulled, signatures })
}

/// Fetches the bundle that `reference` names. This is the one place where references become files: `--plugin`, `plugin install`,
/// `plugin show` and `plugin lock` all come here.
pub(crate) fn pull(reference: &str) -> Result<Pulled, CliError> {
    let Artefact { reference, pulled, signatures } = fetch(reference)?;
    if pulled.kind == Kind::Module {
        return Err(CliError::usage(format!("`{reference}` is a single WebAssembly file, and no bundle")).hint(
            format!(
                "fetch it with `plumbline plugin pull {reference}`, and put it beside the `plugin.yaml` that uses it"
            ),
        ));
    }
    let version = pulled.annotations.get(VERSION).cloned().or_else(|| reference.tag().map(str::to_owned));
    let pinned = reference.with_digest(pulled.resolved());
    Ok(Pulled { pinned, tar: pulled.file, version, signatures })
}

/// The signatures that belong to a bundle, as an array of envelopes. What cannot be read is told and left out: whoever asks for signatures
/// then finds that they are missing.
async fn signatures(client: &Client, reference: &Reference, manifest: Digest) -> Option<Vec<u8>> {
    let untold = |error: &RegistryError| {
        say(&format!("warning: failed to read signatures of `{reference}`: failed to {error}: {}", error.cause));
    };
    let listed = client.referrers(reference, manifest, Some(media::DSSE)).await.map_err(|error| untold(&error)).ok()?;
    let mut envelopes: Vec<Value> = Vec::new();
    for descriptor in listed.iter().take(MAX_SIGNATURES) {
        match envelope(client, reference, descriptor.digest, manifest).await {
            Ok(Some(Value::Array(several))) => envelopes.extend(several),
            Ok(Some(one)) => envelopes.push(one),
            Ok(None) => say(&format!("warning: `{reference}` has a signature that is none: {}", descriptor.digest)),
            Err(error) => untold(&error),
        }
    }
    written(&envelopes)
}

/// The signatures in a layout that belong to a bundle, in the same form.
pub(crate) fn signatures_in(layout: &Layout, manifest: Digest) -> Option<Vec<u8>> {
    let read = || -> Result<Vec<Value>, Cause> {
        let mut envelopes = Vec::new();
        for descriptor in layout.referrers(manifest)?.iter().take(MAX_SIGNATURES) {
            let Manifest::Image(image) = layout.manifest(descriptor)?.manifest else { continue };
            for layer in
                image.layers.iter().filter(|layer| layer.media_type == media::DSSE && layer.size <= MAX_SIGNATURE_BYTES)
            {
                let path = layout.blob(layer)?;
                let read = fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
                match read {
                    Some(Value::Array(several)) => envelopes.extend(several),
                    Some(one) => envelopes.push(one),
                    None => say(&format!("warning: the layout has a signature that is none: {}", layer.digest)),
                }
            }
        }
        Ok(envelopes)
    };
    match read() {
        Ok(envelopes) => written(&envelopes),
        Err(cause) => {
            say(&format!("warning: failed to read signatures in the layout: {cause}"));
            None
        }
    }
}

fn written(envelopes: &[Value]) -> Option<Vec<u8>> {
    if envelopes.is_empty() {
        return None;
    }
    serde_json::to_vec(envelopes).ok().filter(|bytes| bytes.len() as u64 <= MAX_SIGNATURE_BYTES)
}

async fn envelope(
    client: &Client,
    reference: &Reference,
    digest: Digest,
    subject: Digest,
) -> Result<Option<Value>, RegistryError> {
    let Manifest::Image(image) = client.manifest(&reference.by_digest(digest)).await?.manifest else { return Ok(None) };
    // A list names whatever somebody put into it; the manifest itself says what it belongs to.
    if image.subject.is_none_or(|there| there.digest != subject) {
        return Ok(None);
    }
    let Some(layer) = image.layers.iter().find(|layer| layer.media_type == media::DSSE) else { return Ok(None) };
    let bytes = client.small_blob(reference, layer).await?;
    Ok(serde_json::from_slice(&bytes).ok())
}

/// The plugin that `reference` names.
pub(super) fn found(reference: &str) -> Result<Found, CliError> {
    let pulled = pull(reference)?;
    let found = unpacked(pulled.tar.as_file(), reference, Where::Registry)?;
    Ok(Found { signatures: pulled.signatures, pinned: Some(pulled.pinned), ..found })
}
