//! Manifests of a registry.

use plumbline_core::{Digest, DigestError};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, StatusCode};

use super::{Client, Content};
use crate::cache::DownloadCache;
use crate::error::{Cause, RegistryError};
use crate::limits::MAX_MANIFEST_BYTES;
use crate::manifest::RawManifest;
use crate::media;
use crate::reference::Reference;

/// Header with the digest of a response or of a pushed manifest.
const CONTENT_DIGEST: &str = "docker-content-digest";
/// Header by which a registry confirms that it has processed the subject of a manifest (OCI
/// distribution specification, "Pushing manifests with subject").
const SUBJECT: &str = "oci-subject";

impl Client {
    /// Returns the manifest or index at `reference`. If the reference has a digest, the result has
    /// this digest.
    pub async fn manifest(&self, reference: &Reference) -> Result<RawManifest, RegistryError> {
        let cache = DownloadCache::of(self.settings(), reference);
        // The cache is used only for digests, because a tag can move at any time.
        if let (Some(cache), Some(digest)) = (&cache, reference.digest())
            && let Some(manifest) = cache.manifest(digest).await
        {
            return Ok(manifest);
        }
        let location = self.mirrored(reference);
        let found = self.get_manifest(&location).await.map_err(|cause| {
            let mirror = if location == *reference { String::new() } else { format!(" from the mirror `{location}`") };
            cause.of(format!("pull manifest `{reference}`{mirror}"))
        })?;
        if let Some(cache) = cache {
            cache.keep_manifest(&found).await;
        }
        Ok(found)
    }

    pub(super) async fn get_manifest(&self, reference: &Reference) -> Result<RawManifest, Cause> {
        let mut call = self.call(Method::GET, reference, &format!("manifests/{}", reference.target()))?;
        for kind in media::MANIFESTS {
            call = call.header(ACCEPT, kind)?;
        }
        let response = self.expect(&call, StatusCode::OK).await?;
        let promised = content_digest(response.headers())?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let bytes = self.http().read(response, MAX_MANIFEST_BYTES).await?;
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
    /// and manifests that it references must exist in the repository. Returns whether the registry
    /// maintains the list of referrers of the manifest's subject itself.
    pub async fn put_manifest(&self, reference: &Reference, manifest: &RawManifest) -> Result<bool, RegistryError> {
        let wanted = manifest.digest;
        let put = async {
            if let Some(other) = reference.digest().filter(|other| *other != wanted) {
                return Err(Cause::Mismatch { wanted: other, got: wanted });
            }
            let target = reference.tag().map_or_else(|| wanted.to_string(), str::to_owned);
            let call = self.call(Method::PUT, reference, &format!("manifests/{target}"))?;
            let mut call = call.header(CONTENT_TYPE, &manifest.media_type)?;
            call.content = Content::Bytes(manifest.bytes.clone());
            let response = self.send(&call).await?;
            if !response.status().is_success() {
                return Err(self.http().failure(response).await);
            }
            match content_digest(response.headers())? {
                Some(got) if got != wanted => Err(Cause::Mismatch { wanted, got }),
                _ => Ok(response.headers().contains_key(SUBJECT)),
            }
        };
        put.await.map_err(|cause| cause.of(format!("push manifest `{reference}`")))
    }
}

/// Returns the digest that the registry reports. A digest of another algorithm is ignored, because
/// it cannot be compared.
fn content_digest(headers: &HeaderMap) -> Result<Option<Digest>, Cause> {
    let Some(value) = headers.get(CONTENT_DIGEST) else { return Ok(None) };
    let text = value.to_str().map_err(|_| Cause::Malformed("the registry returned an invalid digest".into()))?;
    match text.parse() {
        Ok(digest) => Ok(Some(digest)),
        Err(DigestError::Algorithm(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
