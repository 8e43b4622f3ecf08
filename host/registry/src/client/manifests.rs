//! Manifests of a registry.

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, StatusCode};

use super::answer;
use super::session::{Call, Client, Content, Scope};
use crate::digest::Digest;
use crate::error::{Cause, RegistryError};
use crate::kept::DownloadCache;
use crate::limits::MAX_MANIFEST_BYTES;
use crate::manifest::RawManifest;
use crate::media;
use crate::reference::Reference;

/// Header with the digest of a response or of a pushed manifest.
const CONTENT_DIGEST: &str = "docker-content-digest";
/// Header by which a registry confirms that it has processed the subject of a manifest (OCI
/// distribution specification, "Pushing manifests with subject").
const SUBJECT: &str = "oci-subject";

/// Result of a pushed manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Put {
    /// Digest of the manifest.
    pub digest: Digest,
    /// Whether the registry maintains the list of referrers of the manifest's subject itself.
    pub subject_noted: bool,
}

impl Client {
    /// Returns the manifest or index at `reference`. If the reference has a digest, the result has
    /// this digest.
    ///
    /// # Errors
    ///
    /// The manifest does not exist or access is denied, the connection fails, or the response is
    /// invalid or does not match the digest.
    pub async fn manifest(&self, reference: &Reference) -> Result<RawManifest, RegistryError> {
        let kept = DownloadCache::of(self.settings(), reference);
        // The cache is used only for digests, because a tag can move at any time.
        if let (Some(kept), Some(digest)) = (&kept, reference.digest())
            && let Some(manifest) = kept.manifest(digest).await
        {
            return Ok(manifest);
        }
        let found = self.get_manifest(&self.mirrored(reference)).await;
        let found = found.map_err(|cause| cause.of(format!("pull manifest {}", self.told(reference))))?;
        if let Some(kept) = kept {
            kept.keep_manifest(&found).await;
        }
        Ok(found)
    }

    pub(super) async fn get_manifest(&self, reference: &Reference) -> Result<RawManifest, Cause> {
        let url = self.address(reference, &format!("manifests/{}", reference.target()))?;
        let mut call = Call::new(Method::GET, url, Scope::pull(reference));
        for kind in media::MANIFESTS {
            call = call.header(ACCEPT, kind)?;
        }
        let answer = self.send(&call).await?;
        let patience = self.settings().patience.answer;
        if answer.status() != StatusCode::OK {
            return Err(answer::refusal(answer, patience).await);
        }
        let promised = content_digest(answer.headers())?;
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let bytes = answer::bounded(answer, MAX_MANIFEST_BYTES, patience).await?;
        let got = Digest::of(&bytes);
        // Compare with the requested digest first, so that the error reports it even if the
        // registry's own digest header is consistent.
        for wanted in [reference.digest(), promised].into_iter().flatten() {
            if wanted != got {
                return Err(Cause::Mismatch { wanted, got });
            }
        }
        RawManifest::parse(bytes, kind.as_deref())
    }

    /// Pushes a manifest under the tag of `reference`, or without a tag under its digest. All blobs
    /// and manifests that it references must exist in the repository.
    ///
    /// # Errors
    ///
    /// The registry rejects the manifest, the connection fails, or the registry reports another
    /// digest.
    pub async fn put_manifest(&self, reference: &Reference, manifest: &RawManifest) -> Result<Put, RegistryError> {
        self.put(reference, manifest).await.map_err(|cause| cause.of(format!("push manifest `{reference}`")))
    }

    async fn put(&self, reference: &Reference, manifest: &RawManifest) -> Result<Put, Cause> {
        if let Some(wanted) = reference.digest().filter(|wanted| *wanted != manifest.digest) {
            return Err(Cause::Mismatch { wanted, got: manifest.digest });
        }
        let target = reference.tag().map_or_else(|| manifest.digest.to_string(), str::to_owned);
        let url = self.address(reference, &format!("manifests/{target}"))?;
        let mut call =
            Call::new(Method::PUT, url, Scope::push(reference)).header(CONTENT_TYPE, &manifest.media_type)?;
        call.content = Content::Bytes(manifest.bytes.clone());
        let answer = self.send(&call).await?;
        if !answer.status().is_success() {
            return Err(answer::refusal(answer, self.settings().patience.answer).await);
        }
        let wanted = manifest.digest;
        match content_digest(answer.headers())? {
            Some(got) if got != wanted => Err(Cause::Mismatch { wanted, got }),
            _ => Ok(Put { digest: wanted, subject_noted: answer.headers().contains_key(SUBJECT) }),
        }
    }
}

/// Returns the digest that the registry reports. A digest of another algorithm is ignored, because
/// it cannot be compared.
fn content_digest(headers: &HeaderMap) -> Result<Option<Digest>, Cause> {
    let Some(value) = headers.get(CONTENT_DIGEST) else { return Ok(None) };
    let text = value.to_str().map_err(|_| Cause::Malformed("the registry returned an invalid digest".into()))?;
    match text.parse() {
        Ok(digest) => Ok(Some(digest)),
        Err(crate::digest::DigestError::Algorithm(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
