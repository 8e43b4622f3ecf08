//! Manifests of a registry.

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, StatusCode};

use super::answer;
use super::session::{Call, Client, Content, Scope};
use crate::digest::Digest;
use crate::error::{Cause, RegistryError};
use crate::kept::Kept;
use crate::limits::MAX_MANIFEST_BYTES;
use crate::manifest::RawManifest;
use crate::media;
use crate::reference::Reference;

/// The digest of what a registry gives or has taken.
const CONTENT_DIGEST: &str = "docker-content-digest";
/// With this, a registry says that it has noted what the manifest belongs to (OCI distribution specification, "Pushing manifests with subject").
const SUBJECT: &str = "oci-subject";

/// What a registry did with a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Put {
    /// Its digest.
    pub digest: Digest,
    /// Whether the registry keeps the list of what belongs to the manifest's subject by itself.
    pub subject_noted: bool,
}

impl Client {
    /// The manifest or index that `reference` names. Where a digest is given, it is the one with this digest.
    ///
    /// # Errors
    ///
    /// It is not there or may not be read, there is no connection, or what came is no manifest or another than was asked for.
    pub async fn manifest(&self, reference: &Reference) -> Result<RawManifest, RegistryError> {
        let kept = Kept::of(self.settings(), reference);
        // Only by digest: what a tag stands for is the registry's to say, every time.
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
        // The one that was asked for counts first: a registry that gives another one with its right digest is told so.
        for wanted in [reference.digest(), promised].into_iter().flatten() {
            if wanted != got {
                return Err(Cause::Mismatch { wanted, got });
            }
        }
        RawManifest::parse(bytes, kind.as_deref())
    }

    /// Writes a manifest under the tag of `reference`, or, if it has none, under the manifest's digest. All that it names must be there.
    ///
    /// # Errors
    ///
    /// The registry does not take it, there is no connection, or the registry says that it took something else.
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

/// The digest that the registry states. One of another algorithm says nothing that could be compared.
fn content_digest(headers: &HeaderMap) -> Result<Option<Digest>, Cause> {
    let Some(value) = headers.get(CONTENT_DIGEST) else { return Ok(None) };
    let text = value.to_str().map_err(|_| Cause::Malformed("the registry states a digest that is none".into()))?;
    match text.parse() {
        Ok(digest) => Ok(Some(digest)),
        Err(crate::digest::DigestError::Algorithm(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
