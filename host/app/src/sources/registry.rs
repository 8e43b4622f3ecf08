//! Bundles in registries: `oci://registry/name:tag`, `oci://registry/name@sha256:…`.

use std::fs;
use std::future::Future;

use plumbline_bundle::Cache;
use plumbline_bundle::limits::{MAX_BUNDLE_BYTES, MAX_SIGNATURE_BYTES};
use plumbline_registry::{Cause, Client, Digest, Kind, Layout, Manifest, Reference, RegistryError, Settings, media};
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::context::Context;
use crate::error::{AppError, registry_error};
use crate::runtime::one_thread;
use crate::sources::named::unpacked;
use crate::sources::resolved::{ResolvedPlugin, SourceKind};

/// The size of the largest tar of a bundle, in bytes.
pub const LARGEST_TAR: u64 = MAX_BUNDLE_BYTES + TAR_BYTES;
/// The bytes that a tar adds to its files: a header and padding for each.
const TAR_BYTES: u64 = 8 << 20;
/// The number of signatures of a bundle that are fetched. Each takes a few requests.
const MAX_SIGNATURES: usize = 64;
/// The annotation with the author's version.
const VERSION: &str = "org.opencontainers.image.version";

/// A bundle that was pulled.
pub struct Pulled {
    /// The reference with the digest that it resolved to.
    pub pinned: Reference,
    /// The tar, which is removed when this is dropped.
    pub tar: NamedTempFile,
    /// The version: the author's annotation, or the tag.
    pub version: Option<String>,
    /// Its signatures, unread.
    pub signatures: Option<Vec<u8>>,
}

/// An artifact that was pulled: a bundle or a module.
pub struct Artifact {
    /// The reference that was pulled.
    pub reference: Reference,
    /// The content, in a temporary file.
    pub pulled: plumbline_registry::Pulled,
    /// The signatures of a bundle, unread.
    pub signatures: Option<Vec<u8>>,
}

/// Whether `reference` starts with `oci://`.
pub fn is_reference(reference: &str) -> bool {
    Reference::is_meant(reference)
}

/// Creates a client with the settings of `context`.
pub fn client(context: &Context) -> Result<Client, AppError> {
    Client::new(context.registries.clone()).map_err(|error| registry_error(&error))
}

/// Parses a reference to a registry.
pub fn reference(text: &str) -> Result<Reference, AppError> {
    text.parse().map_err(|error| {
        AppError::usage(format!("`{text}` is not a reference to a registry"))
            .because(&error)
            .hint("a reference looks like `oci://registry.example.com/team/name:1.2`")
    })
}

/// Waits for the answer of a registry.
pub fn wait<T>(work: impl Future<Output = Result<T, RegistryError>>) -> Result<T, AppError> {
    let runtime = one_thread()?;
    runtime.block_on(work).map_err(|error| registry_error(&error))
}

/// Pulls the artifact that `text` refers to, and reports the digest that a tag resolves to.
pub fn fetch(context: &Context, text: &str) -> Result<Artifact, AppError> {
    let reference = reference(text)?;
    let settings = Settings { largest_blob: LARGEST_TAR, downloads: Cache::downloads(), ..context.registries.clone() };
    let client = Client::new(settings).map_err(|error| registry_error(&error))?;
    let (pulled, signatures) = wait(async {
        let pulled = plumbline_registry::pull(&client, &reference).await?;
        let signatures = match pulled.kind {
            Kind::Bundle => signatures(context, &client, &reference, pulled.manifest).await,
            Kind::Module => None,
        };
        Ok((pulled, signatures))
    })?;
    if reference.digest().is_none() {
        context.reporter.progress(&format!("`{reference}` is {}", pulled.resolved()));
    }
    Ok(Artifact { reference, pulled, signatures })
}

/// Pulls the bundle that `reference` refers to. Every use case that needs a bundle from a registry
/// calls this function.
pub fn pull(context: &Context, reference: &str) -> Result<Pulled, AppError> {
    let Artifact { reference, pulled, signatures } = fetch(context, reference)?;
    if pulled.kind == Kind::Module {
        return Err(AppError::usage(format!("`{reference}` is a single WebAssembly file, and no bundle")).hint(
            format!(
                "fetch it with `plumbline plugin pull {reference}`, and put it beside the `plugin.yaml` that uses it"
            ),
        ));
    }
    let version = pulled.annotations.get(VERSION).cloned().or_else(|| reference.tag().map(str::to_owned));
    let pinned = reference.with_digest(pulled.resolved());
    Ok(Pulled { pinned, tar: pulled.file, version, signatures })
}

/// Fetches the signatures of a bundle, as an array of envelopes. Unreadable signatures are left out
/// with a warning, and runs that require signatures report that they are missing.
async fn signatures(context: &Context, client: &Client, reference: &Reference, manifest: Digest) -> Option<Vec<u8>> {
    let warn = |error: &RegistryError| {
        let what = format!("failed to read signatures of `{reference}`: failed to {error}: {}", error.cause);
        context.reporter.warning(&what);
    };
    let listed = client.referrers(reference, manifest, Some(media::DSSE)).await.map_err(|error| warn(&error)).ok()?;
    let mut envelopes: Vec<Value> = Vec::new();
    for descriptor in listed.iter().take(MAX_SIGNATURES) {
        match envelope(client, reference, descriptor.digest, manifest).await {
            Ok(Some(Value::Array(several))) => envelopes.extend(several),
            Ok(Some(one)) => envelopes.push(one),
            Ok(None) => {
                let what = format!("`{reference}` has a signature that is none: {}", descriptor.digest);
                context.reporter.warning(&what);
            }
            Err(error) => warn(&error),
        }
    }
    written(&envelopes)
}

/// Reads the signatures of a bundle from a layout, as an array of envelopes. Unreadable signatures
/// are left out with a warning.
pub fn signatures_in(context: &Context, layout: &Layout, manifest: Digest) -> Option<Vec<u8>> {
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
                    None => {
                        let what = format!("the layout has a signature that is none: {}", layer.digest);
                        context.reporter.warning(&what);
                    }
                }
            }
        }
        Ok(envelopes)
    };
    match read() {
        Ok(envelopes) => written(&envelopes),
        Err(cause) => {
            context.reporter.warning(&format!("failed to read signatures in the layout: {cause}"));
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
    // Anyone can add an entry to the list of referrers. Only the manifest itself proves the
    // subject.
    if image.subject.is_none_or(|there| there.digest != subject) {
        return Ok(None);
    }
    let Some(layer) = image.layers.iter().find(|layer| layer.media_type == media::DSSE) else { return Ok(None) };
    let bytes = client.small_blob(reference, layer).await?;
    Ok(serde_json::from_slice(&bytes).ok())
}

pub(super) fn found(context: &Context, reference: &str) -> Result<ResolvedPlugin, AppError> {
    let pulled = pull(context, reference)?;
    let found = unpacked(pulled.tar.as_file(), reference, SourceKind::Registry)?;
    Ok(ResolvedPlugin { signatures: pulled.signatures, pinned: Some(pulled.pinned), ..found })
}
