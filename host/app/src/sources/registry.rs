//! Bundles in registries: `oci://registry/name:tag`, `oci://registry/name@sha256:…`.

use std::collections::BTreeMap;
use std::future::Future;

use jiff::Timestamp;
use plumbline_bundle::Cache;
use plumbline_bundle::limits::{MAX_BUNDLE_BYTES, MAX_SIGNATURE_BYTES};
use plumbline_bundle::signing::Attestation;
use plumbline_registry::{
    Cause, Client, Descriptor, Digest, ImageManifest, Kind, Layout, Manifest, Reference, RegistryError, Settings, media,
};
use serde_json::Value;

use crate::context::Context;
use crate::error::{AppError, Explain as _};
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
const VERSION: &str = "org.opencontainers.image.version";

/// An artifact that was pulled: a bundle or a module.
pub struct Artifact {
    /// The reference that was pulled.
    pub reference: Reference,
    /// The content, in a temporary file.
    pub pulled: plumbline_registry::Pulled,
    /// The signatures of a bundle, unread.
    pub signatures: Option<Vec<u8>>,
}

impl Artifact {
    /// The version: the author's annotation, or the tag.
    pub fn version(&self) -> Option<String> {
        let annotation = self.pulled.annotations.get(VERSION).map(String::as_str);
        annotation.or(self.reference.tag()).map(str::to_owned)
    }
}

/// Creates a client with the settings of `context`.
pub fn client(context: &Context) -> Result<Client, AppError> {
    Ok(Client::new(context.registries.clone())?)
}

/// Parses a reference to a registry.
pub fn reference(text: &str) -> Result<Reference, AppError> {
    text.parse()
        .usage_error(format_args!("invalid reference to a registry `{text}`"))
        .hint("write a reference such as `oci://registry.example.com/team/name:1.2`")
}

/// Waits for the answer of a registry.
pub fn wait<T>(work: impl Future<Output = Result<T, RegistryError>>) -> Result<T, AppError> {
    Ok(one_thread()?.block_on(work)?)
}

/// Pulls the artifact that `text` refers to, and reports the digest that a tag resolves to.
pub fn fetch(context: &Context, text: &str) -> Result<Artifact, AppError> {
    let reference = reference(text)?;
    let settings = Settings { largest_blob: LARGEST_TAR, downloads: Cache::downloads(), ..context.registries.clone() };
    let client = Client::new(settings)?;
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
pub fn pull(context: &Context, reference: &str) -> Result<Artifact, AppError> {
    let artifact = fetch(context, reference)?;
    if artifact.pulled.kind == Kind::Module {
        let reference = &artifact.reference;
        return Err(AppError::usage(format!("`{reference}` is a single WebAssembly file, not a bundle")).hint(
            format!(
                "download it with `plumbline plugin pull {reference}`, and put it next to the `plugin.yaml` that uses it"
            ),
        ));
    }
    Ok(artifact)
}

/// Attaches attestations to the manifest `subject`, as cosign does.
pub async fn attach(
    client: &Client,
    repository: &Reference,
    subject: Digest,
    attestations: &[Attestation],
) -> Result<(), RegistryError> {
    for attestation in attestations {
        let mut annotations = BTreeMap::from([
            (media::BUNDLE_CONTENT.to_owned(), "dsse-envelope".to_owned()),
            (media::CREATED.to_owned(), Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        ]);
        if let Some(statement) = attestation.unverified_statement() {
            annotations.insert(media::BUNDLE_PREDICATE.to_owned(), statement.predicate_type);
        }
        let content = attestation.json().to_owned().into_bytes().into();
        client.attach(repository, subject, media::SIGSTORE_BUNDLE, content, annotations).await?;
    }
    Ok(())
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
    let mut list = SignatureList::new(limit);
    for descriptor in listed.take(MAX_SIGNATURES) {
        match signature(client, reference, descriptor.digest, manifest, list.left()).await {
            Ok(json) if json.as_deref().is_some_and(|json| list.push(json)) => {}
            Ok(_) => {
                let what = format!("`{reference}` has an invalid signature: {}", descriptor.digest);
                context.reporter.warning(&what);
            }
            Err(error) => warn(&error),
        }
    }
    list.finish()
}

/// Reads the signatures of a bundle from a layout, as a list of attestations. Unreadable signatures
/// are left out with a warning.
pub fn signatures_in(context: &Context, layout: &Layout, manifest: Digest) -> Option<Vec<u8>> {
    let read = || -> Result<SignatureList, Cause> {
        let (mut list, mut count) = (SignatureList::new(MAX_SIGNATURE_BYTES), 0);
        for descriptor in layout.referrers(manifest)? {
            let Manifest::Image(image) = layout.manifest(&descriptor)?.manifest else { continue };
            let Some(layer) = signature_layer(&image) else { continue };
            count += 1;
            if count > MAX_SIGNATURES {
                break;
            }
            let fits = layer.size <= list.left();
            let json = if fits { read_start(&layout.blob(layer)?, layer.size).ok() } else { None };
            if !json.is_some_and(|json| list.push(&json)) {
                let what = format!("the layout has an invalid signature: {}", layer.digest);
                context.reporter.warning(&what);
            }
        }
        Ok(list)
    };
    match read() {
        Ok(list) => list.finish(),
        Err(cause) => {
            context.reporter.warning(&format!("failed to read signatures in the layout: {cause}"));
            None
        }
    }
}

/// A list of attestations, one per line, of at most `limit` bytes.
struct SignatureList {
    lines: String,
    limit: u64,
}

impl SignatureList {
    const fn new(limit: u64) -> Self {
        Self { lines: String::new(), limit }
    }

    const fn left(&self) -> u64 {
        self.limit - self.lines.len() as u64
    }

    /// Adds an attestation. Returns whether it is JSON and fits.
    fn push(&mut self, json: &[u8]) -> bool {
        let line = serde_json::from_slice::<Value>(json).map(|entry| format!("{entry}\n")).unwrap_or_default();
        let fits = !line.is_empty() && line.len() as u64 <= self.left();
        if fits {
            self.lines += &line;
        }
        fits
    }

    fn finish(self) -> Option<Vec<u8>> {
        Some(self.lines.into_bytes()).filter(|lines| !lines.is_empty())
    }
}

/// Returns the layer with the signature, of which a referrer has one.
fn signature_layer(image: &ImageManifest) -> Option<&Descriptor> {
    image.layers.iter().find(|layer| SIGNATURE_TYPES.contains(&layer.media_type.as_str()))
}

/// Fetches a signature of at most `limit` bytes. `None` if it is not a signature of `subject`, or is
/// too large.
async fn signature(
    client: &Client,
    reference: &Reference,
    digest: Digest,
    subject: Digest,
    limit: u64,
) -> Result<Option<Vec<u8>>, RegistryError> {
    let Manifest::Image(image) = client.manifest(&reference.by_digest(digest)).await?.manifest else { return Ok(None) };
    // Anyone can add an entry to the list of referrers. Only the manifest itself proves the
    // subject.
    if image.subject.as_ref().is_none_or(|there| there.digest != subject) {
        return Ok(None);
    }
    let Some(layer) = signature_layer(&image).filter(|layer| layer.size <= limit) else { return Ok(None) };
    let blob = client.blob(reference, layer).await?;
    Ok(read_start(blob.path(), layer.size).ok())
}

pub(super) fn found(context: &Context, reference: &str) -> Result<ResolvedPlugin, AppError> {
    let artifact = pull(context, reference)?;
    let found = unpacked(artifact.pulled.file.as_file(), reference, SourceKind::Registry)?;
    let pinned = artifact.reference.with_digest(artifact.pulled.resolved());
    Ok(ResolvedPlugin { signatures: artifact.signatures, pinned: Some(pinned), ..found })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use tempfile::NamedTempFile;

    use super::*;
    use crate::context::Silent;

    fn put(layout: &Layout, kind: &str, bytes: &[u8]) -> Descriptor {
        let file = NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        let descriptor = Descriptor::of(kind, bytes);
        layout.put_blob(&descriptor, file.path()).unwrap();
        descriptor
    }

    /// Adds a manifest to a layout. `number` makes it different from others.
    fn list(layout: &Layout, number: usize, subject: Option<&Descriptor>, layers: &[&Descriptor]) -> Descriptor {
        let config = put(layout, media::OCI_EMPTY, b"{}");
        let mut manifest = json!({
            "schemaVersion": 2, "mediaType": media::OCI_MANIFEST, "config": config, "layers": layers,
            "annotations": {"number": number.to_string()},
        });
        if let Some(subject) = subject {
            manifest["subject"] = json!(subject);
        }
        let descriptor = put(layout, media::OCI_MANIFEST, manifest.to_string().as_bytes());
        layout.list(descriptor.clone(), None).unwrap();
        descriptor
    }

    fn lines(layout: &Layout, subject: &Descriptor) -> Option<usize> {
        let list = signatures_in(&Context::new(Silent), layout, subject.digest)?;
        assert!(list.len() as u64 <= MAX_SIGNATURE_BYTES);
        Some(list.iter().filter(|byte| **byte == b'\n').count())
    }

    #[test]
    fn a_layout_has_one_signature_for_each_referrer_and_together_at_most_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::create(dir.path()).unwrap();
        let bundle = list(&layout, 0, None, &[]);
        let small = put(&layout, media::SIGSTORE_BUNDLE, br#"{"small": 1}"#);
        list(&layout, 1, Some(&bundle), &[&small; 500]);
        assert_eq!(lines(&layout, &bundle), Some(1));

        let bundle = list(&layout, 2, None, &[]);
        let large = json!({"large": "x".repeat(400 << 10)}).to_string();
        let large = put(&layout, media::SIGSTORE_BUNDLE, large.as_bytes());
        for number in 3..6 {
            list(&layout, number, Some(&bundle), &[&large]);
        }
        assert_eq!(lines(&layout, &bundle), Some(2));

        let bundle = list(&layout, 6, None, &[]);
        // It takes more space when it is written than when it is read.
        let growing = format!("[{}1]", "1e15,".repeat(60 << 10));
        let growing = put(&layout, media::SIGSTORE_BUNDLE, growing.as_bytes());
        list(&layout, 7, Some(&bundle), &[&growing]);
        list(&layout, 8, Some(&bundle), &[&small]);
        assert_eq!(lines(&layout, &bundle), Some(1));
    }

    #[test]
    fn other_referrers_in_a_layout_do_not_hide_signatures() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::create(dir.path()).unwrap();
        let bundle = list(&layout, 0, None, &[]);
        let signature = put(&layout, media::SIGSTORE_BUNDLE, br#"{"signature": 1}"#);
        let other = put(&layout, "application/spdx+json", b"{}");
        for number in 1..=120 {
            list(&layout, number, Some(&bundle), &[if number % 6 == 0 { &signature } else { &other }]);
        }
        assert_eq!(lines(&layout, &bundle), Some(20));
    }
}
