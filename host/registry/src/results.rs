//! The artifact of a run's archive. It follows from the archive alone, so that its digest is known,
//! and can be signed, before it is pushed.

use std::collections::BTreeSet;
use std::path::Path;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use plumbline_core::Digest;
use tempfile::NamedTempFile;

use crate::client::Client;
use crate::error::{Cause, RegistryError};
use crate::manifest::{Descriptor, EMPTY, ImageManifest, Manifest, RawManifest};
use crate::media;
use crate::reference::Reference;

/// The artifact of an archive: a manifest with the archive as its only layer.
#[derive(Debug, Clone)]
pub struct ResultsArtifact {
    layer: Descriptor,
    manifest: RawManifest,
}

impl ResultsArtifact {
    /// Describes the archive with this file name, digest and size in bytes. The same values always
    /// give the same manifest.
    pub fn new(name: &str, archive: Digest, bytes: u64) -> Result<Self, RegistryError> {
        let mut layer = Descriptor::new(media::RESULTS_TAR, archive, bytes);
        layer.annotations.insert(media::TITLE.into(), name.to_owned());
        let config = Descriptor::of(media::OCI_EMPTY, EMPTY);
        let manifest = ImageManifest::new(Some(media::RESULTS), config, vec![layer.clone()]);
        let manifest = RawManifest::write(&manifest).map_err(|cause| cause.of(format!("describe `{name}`")))?;
        Ok(Self { layer, manifest })
    }

    /// Returns the digest of the manifest.
    pub fn digest(&self) -> Digest {
        self.manifest.digest
    }

    /// Pushes the archive in `file` under the tag of `to`: blobs first, and the manifest last.
    pub async fn push(&self, client: &Client, to: &Reference, file: &Path) -> Result<(), RegistryError> {
        let config = Descriptor::of(media::OCI_EMPTY, EMPTY);
        client.push_bytes(to, &config, Bytes::from_static(EMPTY)).await?;
        client.push_blob(to, &self.layer, file).await?;
        client.put_manifest(&to.tagged(), &self.manifest).await.map(drop)
    }
}

/// A pulled archive, verified against its digest. Its content is untrusted.
#[derive(Debug)]
pub struct PulledResults {
    /// The archive. It is deleted when this value is dropped.
    pub file: NamedTempFile,
    /// File name of the archive, as its manifest states it. It is untrusted, and may be any text.
    pub name: Option<String>,
    /// Digest of the archive.
    pub archive: Digest,
    /// Digest of the manifest.
    pub manifest: Digest,
}

/// Pulls the archive at `reference`.
pub async fn pull_results(client: &Client, reference: &Reference) -> Result<PulledResults, RegistryError> {
    let root = client.manifest(reference).await?;
    let layer = only_layer(&root.manifest).map_err(|cause| cause.of(format!("pull `{reference}`")))?;
    let file = client.blob(reference, layer).await?;
    Ok(PulledResults {
        file,
        name: layer.annotations.get(media::TITLE).cloned(),
        archive: layer.digest,
        manifest: root.digest,
    })
}

/// An archive in a registry.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredResults {
    /// Reference to its manifest.
    pub reference: Reference,
    /// File name of the archive, as its manifest states it. It is untrusted, and may be any text.
    pub name: Option<String>,
    /// The blob of the archive.
    pub archive: Descriptor,
}

impl StoredResults {
    /// Downloads the archive to a temporary file, and verifies it.
    pub async fn download(&self, client: &Client) -> Result<NamedTempFile, RegistryError> {
        client.blob(&self.reference, &self.archive).await
    }
}

/// Lists the archives at `reference`: at its tag or digest, or else at all tags of its repository,
/// which has at most `most`. Other artifacts are left out.
pub async fn list_results(
    client: &Client,
    reference: &Reference,
    most: usize,
) -> Result<Vec<StoredResults>, RegistryError> {
    let references = match (reference.tag(), reference.digest()) {
        (None, None) => {
            let tags = client.tags(reference, most).await?;
            let tagged = tags.iter().map(|tag| reference.with_tag(tag));
            let tagged: Result<Vec<Reference>, _> = tagged.collect();
            tagged.map_err(|error| Cause::from(error).of(format!("list the tags of `{}`", reference.name())))?
        }
        _ => vec![reference.clone()],
    };
    let manifests = futures_util::stream::iter(references)
        .map(|reference| async move {
            let root = client.manifest(&reference).await?;
            let layer = only_layer(&root.manifest).ok().cloned();
            Ok(layer.map(|archive| StoredResults {
                reference,
                name: archive.annotations.get(media::TITLE).cloned(),
                archive,
            }))
        })
        .buffered(PARALLEL);
    let stored: Vec<Option<StoredResults>> = manifests.try_collect().await?;
    let mut known = BTreeSet::new();
    // An archive may have several tags.
    Ok(stored.into_iter().flatten().filter(|one| known.insert(one.archive.digest)).collect())
}

/// Number of concurrent requests for manifests.
const PARALLEL: usize = 8;

fn only_layer(manifest: &Manifest) -> Result<&Descriptor, Cause> {
    if let Manifest::Image(image) = manifest
        && let [layer] = image.layers.as_slice()
        && layer.media_type == media::RESULTS_TAR
    {
        return Ok(layer);
    }
    Err(Cause::Kind(format!("it is not the archive of a run: expected one layer of type `{}`", media::RESULTS_TAR)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_follows_from_the_archive() {
        let of = |name, bytes: &[u8]| ResultsArtifact::new(name, Digest::of(bytes), bytes.len() as u64).unwrap();
        let one = of("run.tar.gz", b"one");
        assert_eq!(one.digest(), of("run.tar.gz", b"one").digest());
        assert_ne!(one.digest(), of("other.tar.gz", b"one").digest());
        assert_ne!(one.digest(), of("run.tar.gz", b"two").digest());
        // Statements that were signed earlier contain this digest, so it must not change.
        let digest = "sha256:f76ed3971c8060a028dcca6b178ec652e2b88c1980314e7ea60405ce5e8969b5";
        assert_eq!(one.digest().to_string(), digest);
    }
}
