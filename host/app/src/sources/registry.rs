//! Bundles in registries: `oci://registry/name:tag`, `oci://registry/name@sha256:…`.

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;

use jiff::Timestamp;
use plumbline_bundle::Cache;
use plumbline_bundle::limits::{MAX_BUNDLE_BYTES, MAX_SIGNATURE_BYTES};
use plumbline_bundle::signing::Attestation;
use plumbline_registry::{
    Cause, Client, Descriptor, Digest, Kind, Layout, Manifest, Reference, RegistryError, Settings, media,
};
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::context::Context;
use crate::error::{AppError, Explain as _, registry_error};
use crate::files::read_start;
use crate::runtime::one_thread;
use crate::sources::named::unpacked;
use crate::sources::resolved::{ResolvedPlugin, SourceKind};

/// The size of the largest tar of a bundle, in bytes.
pub const LARGEST_TAR: u64 = MAX_BUNDLE_BYTES + TAR_BYTES;
/// The bytes that a tar adds to its files: a header and padding for each.
const TAR_BYTES: u64 = 8 << 20;
/// The number of signatures of a bundle that are fetched. Each takes a few requests.
const MAX_SIGNATURES: usize = 64;
/// The media types of signatures: Sigstore bundles, and what older versions attached.
const SIGNATURE_TYPES: [&str; 2] = [media::SIGSTORE_BUNDLE, media::DSSE];
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
    text.parse()
        .usage_error(format_args!("invalid reference to a registry `{text}`"))
        .hint("write a reference such as `oci://registry.example.com/team/name:1.2`")
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
            Kind::Bundle => signatures(context, &client, &reference, pulled.manifest, MAX_SIGNATURE_BYTES).await,
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
        return Err(AppError::usage(format!("`{reference}` is a single WebAssembly file, not a bundle")).hint(
            format!(
                "download it with `plumbline plugin pull {reference}`, and put it next to the `plugin.yaml` that uses it"
            ),
        ));
    }
    let version = pulled.annotations.get(VERSION).cloned().or_else(|| reference.tag().map(str::to_owned));
    let pinned = reference.with_digest(pulled.resolved());
    Ok(Pulled { pinned, tar: pulled.file, version, signatures })
}

/// Attaches an attestation to the manifest `subject`, as cosign does.
pub async fn attach(
    client: &Client,
    repository: &Reference,
    subject: Digest,
    attestation: &Attestation,
) -> Result<(), RegistryError> {
    let mut annotations = BTreeMap::from([
        (media::BUNDLE_CONTENT.to_owned(), "dsse-envelope".to_owned()),
        (media::CREATED.to_owned(), Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
    ]);
    if let Some(statement) = attestation.unverified_statement() {
        annotations.insert(media::BUNDLE_PREDICATE.to_owned(), statement.predicate_type);
    }
    let content = attestation.json().to_owned().into_bytes().into();
    client.attach(repository, subject, media::SIGSTORE_BUNDLE, content, annotations).await.map(drop)
}

/// Fetches the signatures that are attached to `manifest`, as a list of attestations of at most
/// `limit` bytes. Unreadable signatures are left out with a warning, and runs that require
/// signatures report that they are missing.
pub async fn signatures(
    context: &Context,
    client: &Client,
    reference: &Reference,
    manifest: Digest,
    limit: u64,
) -> Option<Vec<u8>> {
    let warn = |error: &RegistryError| {
        let what = format!("failed to read signatures of `{reference}`: failed to {error}: {}", error.cause);
        context.reporter.warning(&what);
    };
    let listed = client.referrers(reference, manifest, None).await.map_err(|error| warn(&error)).ok()?;
    let is_signature = |kind: Option<&str>| kind.is_some_and(|kind| SIGNATURE_TYPES.contains(&kind));
    let listed = listed.iter().filter(|descriptor| is_signature(descriptor.artifact_type.as_deref()));
    let (mut entries, mut bytes) = (Vec::new(), 0);
    for descriptor in listed.take(MAX_SIGNATURES) {
        match signature(client, reference, descriptor.digest, manifest, limit - bytes).await {
            Ok(Some((entry, size))) => {
                entries.push(entry);
                bytes += size;
            }
            Ok(None) => {
                let what = format!("`{reference}` has an invalid signature: {}", descriptor.digest);
                context.reporter.warning(&what);
            }
            Err(error) => warn(&error),
        }
    }
    written(&entries, limit)
}

/// Reads the signatures of a bundle from a layout, as a list of attestations. Unreadable signatures
/// are left out with a warning.
pub fn signatures_in(context: &Context, layout: &Layout, manifest: Digest) -> Option<Vec<u8>> {
    let read = || -> Result<Vec<Value>, Cause> {
        let mut entries = Vec::new();
        for descriptor in layout.referrers(manifest)?.iter().take(MAX_SIGNATURES) {
            let Manifest::Image(image) = layout.manifest(descriptor)?.manifest else { continue };
            let is_signature = |layer: &&Descriptor| {
                SIGNATURE_TYPES.contains(&layer.media_type.as_str()) && layer.size <= MAX_SIGNATURE_BYTES
            };
            for layer in image.layers.iter().filter(is_signature) {
                let path = layout.blob(layer)?;
                let read = fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
                match read {
                    Some(entry) => entries.push(entry),
                    None => {
                        let what = format!("the layout has an invalid signature: {}", layer.digest);
                        context.reporter.warning(&what);
                    }
                }
            }
        }
        Ok(entries)
    };
    match read() {
        Ok(entries) => written(&entries, MAX_SIGNATURE_BYTES),
        Err(cause) => {
            context.reporter.warning(&format!("failed to read signatures in the layout: {cause}"));
            None
        }
    }
}

fn written(entries: &[Value], limit: u64) -> Option<Vec<u8>> {
    let text: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
    Some(text.into_bytes()).filter(|text| !text.is_empty() && text.len() as u64 <= limit)
}

/// Fetches a signature of at most `limit` bytes, and returns it with its size. `None` if it is not
/// a signature of `subject`, or is too large.
async fn signature(
    client: &Client,
    reference: &Reference,
    digest: Digest,
    subject: Digest,
    limit: u64,
) -> Result<Option<(Value, u64)>, RegistryError> {
    let Manifest::Image(image) = client.manifest(&reference.by_digest(digest)).await?.manifest else { return Ok(None) };
    // Anyone can add an entry to the list of referrers. Only the manifest itself proves the
    // subject.
    if image.subject.is_none_or(|there| there.digest != subject) {
        return Ok(None);
    }
    let is_signature = |layer: &&Descriptor| SIGNATURE_TYPES.contains(&layer.media_type.as_str());
    let Some(layer) = image.layers.iter().find(is_signature).filter(|layer| layer.size <= limit) else {
        return Ok(None);
    };
    let blob = client.blob(reference, layer).await?;
    let bytes = read_start(blob.path(), layer.size);
    Ok(bytes.ok().and_then(|bytes| Some((serde_json::from_slice(&bytes).ok()?, layer.size))))
}

pub(super) fn found(context: &Context, reference: &str) -> Result<ResolvedPlugin, AppError> {
    let pulled = pull(context, reference)?;
    let found = unpacked(pulled.tar.as_file(), reference, SourceKind::Registry)?;
    Ok(ResolvedPlugin { signatures: pulled.signatures, pinned: Some(pulled.pinned), ..found })
}
