//! Referrers of a manifest, such as signatures (OCI distribution specification, "Referrers").

use bytes::Bytes;
use reqwest::header::{ACCEPT, LINK};
use reqwest::{Method, StatusCode, Url};

use super::session::{Call, Client, Scope};
use super::{answer, blobs};
use crate::digest::Digest;
use crate::error::{Cause, RegistryError};
use crate::limits::{MAX_INDEX_ENTRIES, MAX_MANIFEST_BYTES, MAX_PAGES};
use crate::manifest::{Descriptor, ImageManifest, Index, Manifest, RawManifest};
use crate::media;
use crate::reference::Reference;

/// Maximum number of attempts to write the list under a tag while others write it at the same time.
const ATTEMPTS: usize = 4;

/// Returns the tag that holds the list of referrers if the registry does not maintain it.
pub(crate) fn fallback_tag(subject: Digest) -> String {
    format!("sha256-{}", subject.hex())
}

impl Client {
    /// Returns the referrers of the manifest `subject`, either of one artifact type or all.
    ///
    /// # Errors
    ///
    /// The request fails, or the response is not a valid list.
    pub async fn referrers(
        &self,
        repository: &Reference,
        subject: Digest,
        kind: Option<&str>,
    ) -> Result<Vec<Descriptor>, RegistryError> {
        let repository = &self.mirrored(repository);
        let found = async {
            let all = match self.referrers_by_interface(repository, subject, kind).await? {
                Some(all) => all,
                None => self.fallback_index(repository, subject).await?.manifests,
            };
            // A registry may ignore the filter.
            Ok(all.into_iter().filter(|one| kind.is_none() || one.artifact_type.as_deref() == kind).collect())
        };
        found.await.map_err(|cause: Cause| cause.of(list_of(repository, subject)))
    }

    /// Queries the referrers API. Returns `None` if the registry does not support it.
    async fn referrers_by_interface(
        &self,
        repository: &Reference,
        subject: Digest,
        kind: Option<&str>,
    ) -> Result<Option<Vec<Descriptor>>, Cause> {
        let mut url = self.address(repository, &format!("referrers/{subject}"))?;
        if let Some(kind) = kind {
            url.query_pairs_mut().append_pair("artifactType", kind);
        }
        let mut all = Vec::new();
        for page in 0..MAX_PAGES {
            let call = Call::new(Method::GET, url.clone(), Scope::pull(repository)).header(ACCEPT, media::OCI_INDEX)?;
            let answer = self.send(&call).await?;
            let patience = self.settings().patience.answer;
            match answer.status() {
                StatusCode::OK => {}
                // According to the specification, a registry without the API returns 404. Some
                // registries reject the URL or the method.
                StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::BAD_REQUEST if page == 0 => {
                    return Ok(None);
                }
                _ => return Err(answer::refusal(answer, patience).await),
            }
            let next = next_page(&url, answer.headers().get(LINK).and_then(|value| value.to_str().ok()));
            let bytes = answer::bounded(answer, MAX_MANIFEST_BYTES, patience).await?;
            let Manifest::Index(index) = RawManifest::parse(bytes, None)?.manifest else {
                return Err(Cause::Malformed("the list of referrers is not an index".into()));
            };
            all.extend(index.manifests);
            if all.len() > MAX_INDEX_ENTRIES {
                return Err(Cause::Malformed(format!("more than {MAX_INDEX_ENTRIES} things belong to it")));
            }
            match next {
                Some(next) if next.origin() == url.origin() => url = next,
                Some(_) => return Err(Cause::Malformed("the list of referrers continues on another host".into())),
                None => return Ok(Some(all)),
            }
        }
        Err(Cause::Malformed(format!("the list of referrers has more than {MAX_PAGES} pages")))
    }

    /// Returns the list under the fallback tag, or an empty one if the tag does not exist.
    async fn fallback_index(&self, repository: &Reference, subject: Digest) -> Result<Index, Cause> {
        let tag = fallback_tag(subject);
        match self.get_manifest(&repository.with_tag(&tag)?).await {
            Ok(RawManifest { manifest: Manifest::Index(index), .. }) => Ok(index),
            Ok(_) => Err(Cause::Malformed(format!("tag `{tag}` is not an index: somebody uses it for something else"))),
            Err(Cause::NotFound(_)) => Ok(Index::default()),
            Err(cause) => Err(cause),
        }
    }

    /// Pushes a manifest that has a `subject`, and makes sure that it is listed as a referrer. If
    /// the registry does not confirm that it maintains the list, the list under the tag
    /// `sha256-<digits of the subject>` is extended.
    ///
    /// # Errors
    ///
    /// The manifest has no subject, or the registry rejects the manifest or the list.
    pub async fn put_referrer(&self, repository: &Reference, manifest: &RawManifest) -> Result<Digest, RegistryError> {
        let Manifest::Image(image) = &manifest.manifest else {
            return Err(Cause::Kind("an index has no subject".into()).of(format!("push a referrer to `{repository}`")));
        };
        let Some(subject) = &image.subject else {
            return Err(Cause::Kind("it does not say what it belongs to".into())
                .of(format!("push a referrer to `{repository}`")));
        };
        let put = self.put_manifest(&repository.by_digest(manifest.digest), manifest).await?;
        if !put.subject_noted {
            let mut entry = manifest.descriptor();
            entry.annotations.clone_from(&image.annotations);
            self.extend_fallback(repository, subject.digest, &entry)
                .await
                .map_err(|cause| cause.of(format!("extend the {}", list_of(repository, subject.digest))))?;
        }
        Ok(put.digest)
    }

    async fn extend_fallback(&self, repository: &Reference, subject: Digest, entry: &Descriptor) -> Result<(), Cause> {
        let tagged = repository.with_tag(&fallback_tag(subject))?;
        for _ in 0..ATTEMPTS {
            let mut index = self.fallback_index(repository, subject).await?;
            if index.manifests.iter().any(|there| there.digest == entry.digest) {
                return Ok(());
            }
            if index.manifests.len() >= MAX_INDEX_ENTRIES {
                return Err(Cause::Malformed(format!("it has {MAX_INDEX_ENTRIES} entries already")));
            }
            index.manifests.push(entry.clone());
            // There is no conditional write. Read the list again, and write it again if another
            // writer replaced it.
            self.put_manifest(&tagged, &RawManifest::of_index(&index)?).await.map_err(|error| *error.cause)?;
        }
        let index = self.fallback_index(repository, subject).await?;
        match index.manifests.iter().any(|there| there.digest == entry.digest) {
            true => Ok(()),
            false => Err(Cause::Malformed("somebody else writes it at the same time, again and again".into())),
        }
    }

    /// Attaches a small blob to the manifest `subject` as an artifact of its own, and returns the
    /// digest of the artifact.
    ///
    /// # Errors
    ///
    /// The subject does not exist, or the registry rejects the artifact.
    pub async fn attach(
        &self,
        repository: &Reference,
        subject: Digest,
        kind: &str,
        content: Bytes,
    ) -> Result<Digest, RegistryError> {
        let subject = self.manifest(&repository.by_digest(subject)).await?.descriptor();
        let manifest = referrer(subject, kind, &content)
            .map_err(|cause| cause.of(format!("attach a `{kind}` to `{repository}`")))?;
        let Manifest::Image(image) = &manifest.manifest else {
            return Err(Cause::Malformed("a referrer is an image manifest".into()).of("attach an artefact"));
        };
        let empty = Bytes::from_static(EMPTY);
        self.push_bytes(repository, &image.config, empty).await?;
        for layer in &image.layers {
            self.push_bytes(repository, layer, content.clone()).await?;
        }
        self.put_referrer(repository, &manifest).await
    }
}

/// Configuration of an artifact without one.
const EMPTY: &[u8] = b"{}";

/// Returns a manifest with one blob and the subject `subject`.
fn referrer(mut subject: Descriptor, kind: &str, content: &[u8]) -> Result<RawManifest, Cause> {
    subject.artifact_type = None;
    RawManifest::of_image(&ImageManifest {
        schema_version: 2,
        media_type: Some(media::OCI_MANIFEST.into()),
        artifact_type: Some(kind.into()),
        config: Descriptor::of(media::OCI_EMPTY, EMPTY),
        layers: vec![Descriptor::of(kind, content)],
        subject: Some(subject),
        annotations: std::collections::BTreeMap::new(),
    })
}

fn list_of(repository: &Reference, subject: Digest) -> String {
    format!("list the referrers of {subject} in `{}`", blobs::place(repository))
}

/// Returns the URL of the next page from `<URL>; rel="next"` (RFC 8288).
fn next_page(url: &Url, link: Option<&str>) -> Option<Url> {
    let (address, rest) = link?.trim().strip_prefix('<')?.split_once('>')?;
    let next = rest.split(';').any(|part| matches!(part.trim(), "rel=\"next\"" | "rel=next"));
    if next { url.join(address).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found() {
        let url: Url = "https://h/v2/x/referrers/y".parse().unwrap();
        let next = |link| next_page(&url, Some(link)).map(|url| url.to_string());
        assert_eq!(next(r#"</v2/x/referrers/y?n=2>; rel="next""#).unwrap(), "https://h/v2/x/referrers/y?n=2");
        assert_eq!(next("<https://evil/x>;rel=next").unwrap(), "https://evil/x");
        for link in ["", "<x>", "<x>; rel=\"prev\"", "x; rel=next"] {
            assert_eq!(next(link), None, "{link}");
        }
    }
}
