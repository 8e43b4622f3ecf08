//! What belongs to a manifest: signatures and the like (OCI distribution specification, "Referrers").

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

/// How often the list under a tag is written again, if somebody else writes it at the same time.
const ATTEMPTS: usize = 4;

/// The tag that holds the list where a registry keeps none by itself.
pub(crate) fn fallback_tag(subject: Digest) -> String {
    format!("sha256-{}", subject.hex())
}

impl Client {
    /// What belongs to the manifest `subject` of a repository, of one kind of artefact or of all.
    ///
    /// # Errors
    ///
    /// The registry cannot be asked, or what it answers is no list.
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
            // A registry may leave the filter out; one that is not told of a kind has it in the configuration's place.
            Ok(all.into_iter().filter(|one| kind.is_none() || one.artifact_type.as_deref() == kind).collect())
        };
        found.await.map_err(|cause: Cause| cause.of(list_of(repository, subject)))
    }

    /// `None`: the registry has no such interface.
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
                // 404 is the specification's answer of a registry without it; others do not know the address or the method.
                StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::BAD_REQUEST if page == 0 => {
                    return Ok(None);
                }
                _ => return Err(answer::refusal(answer, patience).await),
            }
            let next = next_page(&url, answer.headers().get(LINK).and_then(|value| value.to_str().ok()));
            let bytes = answer::bounded(answer, MAX_MANIFEST_BYTES, patience).await?;
            let Manifest::Index(index) = RawManifest::parse(bytes, None)?.manifest else {
                return Err(Cause::Malformed("the list of what belongs to it is not an index".into()));
            };
            all.extend(index.manifests);
            if all.len() > MAX_INDEX_ENTRIES {
                return Err(Cause::Malformed(format!("more than {MAX_INDEX_ENTRIES} things belong to it")));
            }
            match next {
                Some(next) if next.origin() == url.origin() => url = next,
                Some(_) => return Err(Cause::Malformed("the list goes on at another host".into())),
                None => return Ok(Some(all)),
            }
        }
        Err(Cause::Malformed(format!("the list of what belongs to it has more than {MAX_PAGES} pages")))
    }

    /// The list under the tag; an empty one if there is none.
    async fn fallback_index(&self, repository: &Reference, subject: Digest) -> Result<Index, Cause> {
        let tag = fallback_tag(subject);
        match self.get_manifest(&repository.with_tag(&tag)?).await {
            Ok(RawManifest { manifest: Manifest::Index(index), .. }) => Ok(index),
            Ok(_) => Err(Cause::Malformed(format!("tag `{tag}` is not an index: somebody uses it for something else"))),
            Err(Cause::NotFound(_)) => Ok(Index::default()),
            Err(cause) => Err(cause),
        }
    }

    /// Writes a manifest that belongs to another (its `subject`), and sees to it that the registry lists it: where the registry does not say
    /// that it keeps the list, the list under the tag `sha256-<digits of the subject>` is extended.
    ///
    /// # Errors
    ///
    /// The manifest has no subject, or the registry does not take it or the list.
    pub async fn put_referrer(&self, repository: &Reference, manifest: &RawManifest) -> Result<Digest, RegistryError> {
        let Manifest::Image(image) = &manifest.manifest else {
            return Err(
                Cause::Kind("an index belongs to nothing".into()).of(format!("push a referrer to `{repository}`"))
            );
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
            // There is no way to write only if nobody else has: it is read again, and written again if it was lost.
            self.put_manifest(&tagged, &RawManifest::of_index(&index)?).await.map_err(|error| *error.cause)?;
        }
        let index = self.fallback_index(repository, subject).await?;
        match index.manifests.iter().any(|there| there.digest == entry.digest) {
            true => Ok(()),
            false => Err(Cause::Malformed("somebody else writes it at the same time, again and again".into())),
        }
    }

    /// Attaches a small content to the manifest `subject` of a repository, as an artefact of its own; its digest.
    ///
    /// # Errors
    ///
    /// The subject is not there, or the registry does not take the artefact.
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

/// The configuration of an artefact that has none.
const EMPTY: &[u8] = b"{}";

/// A manifest with one content that belongs to `subject`.
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
    format!("list of what belongs to {subject} in `{}`", blobs::place(repository))
}

/// The address of the next page: `<ADDRESS>; rel="next"` (RFC 8288).
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
