//! Referrers of a manifest, such as signatures (OCI distribution specification, "Referrers").

use std::collections::BTreeMap;

use bytes::Bytes;
use plumbline_core::Digest;
use reqwest::header::{ACCEPT, HeaderMap, LINK};
use reqwest::{Method, StatusCode, Url};

use super::Client;
use crate::error::{Cause, RegistryError};
use crate::limits::{MAX_INDEX_ENTRIES, MAX_MANIFEST_BYTES, MAX_PAGES};
use crate::manifest::{Descriptor, EMPTY, ImageManifest, Index, Manifest, RawManifest};
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
    pub async fn referrers(
        &self,
        repository: &Reference,
        subject: Digest,
        kind: Option<&str>,
    ) -> Result<Vec<Descriptor>, RegistryError> {
        let location = self.mirrored(repository);
        let found = async {
            let mut all = match self.query_referrers(&location, subject, kind).await? {
                Some(all) => all,
                None => self.fallback_index(&location, subject).await?.manifests,
            };
            // A registry may ignore the filter.
            all.retain(|one| kind.is_none() || one.artifact_type.as_deref() == kind);
            Ok(all)
        };
        found.await.map_err(|cause: Cause| cause.of(list_of(&location, subject)))
    }

    /// Queries the referrers API. Returns `None` if the registry does not support it.
    async fn query_referrers(
        &self,
        repository: &Reference,
        subject: Digest,
        kind: Option<&str>,
    ) -> Result<Option<Vec<Descriptor>>, Cause> {
        let call = self.call(Method::GET, repository, &format!("referrers/{subject}"))?;
        let mut call = call.header(ACCEPT, media::OCI_INDEX)?;
        if let Some(kind) = kind {
            call.url.query_pairs_mut().append_pair("artifactType", kind);
        }
        let mut all = Vec::new();
        for page in 0..MAX_PAGES {
            let response = self.send(&call).await?;
            match response.status() {
                StatusCode::OK => {}
                // According to the specification, a registry without the API returns 404. Some
                // registries reject the URL or the method.
                StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::BAD_REQUEST if page == 0 => {
                    return Ok(None);
                }
                _ => return Err(self.http().failure(response).await),
            }
            let next = next_page(&call.url, response.headers())?;
            let bytes = self.http().read(response, MAX_MANIFEST_BYTES).await?;
            let Manifest::Index(index) = RawManifest::parse(bytes, None)?.manifest else {
                return Err(Cause::Malformed("the list of referrers is not an index".into()));
            };
            all.extend(index.manifests);
            if all.len() > MAX_INDEX_ENTRIES {
                return Err(Cause::Malformed(format!("it has more than {MAX_INDEX_ENTRIES} referrers")));
            }
            match next {
                Some(next) => call.url = next,
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
            Ok(_) => Err(Cause::Malformed(format!("tag `{tag}` is not an index: it is used for something else"))),
            Err(Cause::NotFound(_)) => Ok(Index::default()),
            Err(cause) => Err(cause),
        }
    }

    /// Pushes a manifest that has a `subject`, and makes sure that it is listed as a referrer. If
    /// the registry does not confirm that it maintains the list, the list under the tag
    /// `sha256-<digits of the subject>` is extended.
    pub(crate) async fn put_referrer(
        &self,
        repository: &Reference,
        manifest: &RawManifest,
    ) -> Result<(), RegistryError> {
        let listed = self.put_manifest(&repository.by_digest(manifest.digest), manifest).await?;
        let (Manifest::Image(image), false) = (&manifest.manifest, listed) else { return Ok(()) };
        let Some(subject) = &image.subject else { return Ok(()) };
        let mut entry = manifest.descriptor();
        entry.annotations.clone_from(&image.annotations);
        self.extend_fallback(repository, subject.digest, &entry)
            .await
            .map_err(|cause| cause.of(format!("extend the {}", list_of(repository, subject.digest))))
    }

    async fn extend_fallback(&self, repository: &Reference, subject: Digest, entry: &Descriptor) -> Result<(), Cause> {
        let tagged = repository.with_tag(&fallback_tag(subject))?;
        // There is no conditional write. Read the list again after writing it, and write it again
        // if another writer replaced it.
        for attempt in 0..=ATTEMPTS {
            let mut index = self.fallback_index(repository, subject).await?;
            if index.manifests.iter().any(|there| there.digest == entry.digest) {
                return Ok(());
            }
            if attempt == ATTEMPTS {
                break;
            }
            if index.manifests.len() >= MAX_INDEX_ENTRIES {
                return Err(Cause::Malformed(format!("it has {MAX_INDEX_ENTRIES} entries already")));
            }
            index.manifests.push(entry.clone());
            self.put_manifest(&tagged, &RawManifest::write(&index)?).await.map_err(|error| *error.cause)?;
        }
        Err(Cause::Malformed("other clients keep changing it".into()))
    }

    /// Attaches a small blob to the manifest `subject` as an artifact of its own with `annotations`,
    /// and returns the digest of the artifact.
    pub async fn attach(
        &self,
        repository: &Reference,
        subject: Digest,
        kind: &str,
        content: Bytes,
        annotations: BTreeMap<String, String>,
    ) -> Result<Digest, RegistryError> {
        let subject = self.manifest(&repository.by_digest(subject)).await?.descriptor();
        let (config, layer) = (Descriptor::of(media::OCI_EMPTY, EMPTY), Descriptor::of(kind, &content));
        let manifest = RawManifest::write(&ImageManifest {
            subject: Some(Descriptor { artifact_type: None, ..subject }),
            annotations,
            ..ImageManifest::new(Some(kind), config.clone(), vec![layer.clone()])
        })
        .map_err(|cause| cause.of(format!("attach a `{kind}` to `{repository}`")))?;
        self.push_bytes(repository, &config, Bytes::from_static(EMPTY)).await?;
        self.push_bytes(repository, &layer, content).await?;
        self.put_referrer(repository, &manifest).await?;
        Ok(manifest.digest)
    }
}

fn list_of(repository: &Reference, subject: Digest) -> String {
    format!("list the referrers of {subject} in `{}`", repository.name())
}

/// Returns the URL of the next page of a list from `<URL>; rel="next"` (RFC 8288). A page on another
/// host is an error.
pub(super) fn next_page(url: &Url, headers: &HeaderMap) -> Result<Option<Url>, Cause> {
    let link = headers.get(LINK).and_then(|value| value.to_str().ok());
    let next = |link: &str| {
        let (target, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
        let next = rest.split(';').any(|part| matches!(part.trim(), "rel=\"next\"" | "rel=next"));
        if next { url.join(target).ok() } else { None }
    };
    match link.and_then(next) {
        Some(next) if next.origin() != url.origin() => {
            Err(Cause::Malformed("the list continues on another host".to_owned()))
        }
        next => Ok(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found() {
        let url: Url = "https://h/v2/x/referrers/y".parse().unwrap();
        let page = |link: &str| next_page(&url, &HeaderMap::from_iter([(LINK, link.parse().unwrap())]));
        let next = |link| page(link).unwrap().map(|url| url.to_string());
        assert_eq!(next(r#"</v2/x/referrers/y?n=2>; rel="next""#).unwrap(), "https://h/v2/x/referrers/y?n=2");
        assert!(page("<https://evil/x>;rel=next").is_err());
        for link in ["", "<x>", "<x>; rel=\"prev\"", "x; rel=next"] {
            assert_eq!(next(link), None, "{link}");
        }
    }
}
