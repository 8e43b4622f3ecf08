//! Storage of manifests and blobs: a repository of a registry, or a layout.

use std::path::{Path, PathBuf};

use plumbline_core::Digest;
use tempfile::NamedTempFile;

use crate::client::Client;
use crate::error::{Cause, RegistryError};
use crate::layout::Layout;
use crate::limits::{MAX_CONFIG_BYTES, MAX_DEPTH};
use crate::manifest::{Descriptor, ImageManifest, Manifest, RawManifest};
use crate::reference::Reference;

/// A source or target of a copy.
#[derive(Debug, Clone)]
pub enum Storage {
    /// A repository. Tag and digest of the reference are ignored.
    Registry(Client, Reference),
    /// A layout.
    Layout(Layout),
}

/// A blob in a file, which exists at least as long as this value.
pub(crate) enum Fetched {
    Temporary(NamedTempFile),
    InLayout(PathBuf),
}

impl Fetched {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Temporary(file) => file.path(),
            Self::InLayout(path) => path,
        }
    }
}

impl Storage {
    /// Returns a manifest, verified against its descriptor.
    pub async fn manifest(&self, wanted: &Descriptor) -> Result<RawManifest, RegistryError> {
        match self {
            Self::Registry(client, repository) => {
                let found = client.manifest(&repository.by_digest(wanted.digest)).await?;
                wanted
                    .verify(found.bytes.len() as u64, found.digest)
                    .map_err(|cause| cause.of(format!("pull manifest {} of `{repository}`", wanted.digest)))?;
                Ok(found)
            }
            Self::Layout(layout) => {
                in_layout(layout, format!("read manifest {}", wanted.digest), wanted, Layout::manifest).await
            }
        }
    }

    /// Follows indexes from `root` to an image manifest. `select` returns the entry of an index to
    /// follow. `what` is for errors.
    pub(crate) async fn resolve(
        &self,
        root: RawManifest,
        select: impl Fn(&[Descriptor]) -> Result<&Descriptor, Cause>,
        what: &str,
    ) -> Result<(RawManifest, ImageManifest), RegistryError> {
        let mut manifest = root;
        for _ in 0..=MAX_DEPTH {
            let entry = match &manifest.manifest {
                Manifest::Image(image) => {
                    let image = image.as_ref().clone();
                    return Ok((manifest, image));
                }
                Manifest::Index(index) => select(&index.manifests).map_err(|cause| cause.of(what))?,
            };
            manifest = self.manifest(entry).await?;
        }
        Err(Cause::Malformed(format!("indexes are nested more than {MAX_DEPTH} levels deep")).of(what))
    }

    /// Returns the content of a configuration. `what` is for errors.
    pub(crate) async fn config(&self, wanted: &Descriptor, what: &str) -> Result<Vec<u8>, RegistryError> {
        if wanted.size > MAX_CONFIG_BYTES {
            return Err(Cause::TooLarge(MAX_CONFIG_BYTES).of(what));
        }
        let fetched = self.fetch(wanted).await?;
        std::fs::read(fetched.path()).map_err(|error| Cause::file(fetched.path())(error).of(what))
    }

    /// Returns a name that no other storage has.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Registry(_, repository) => repository.name(),
            Self::Layout(layout) => layout.dir().display().to_string(),
        }
    }

    pub(crate) async fn fetch(&self, wanted: &Descriptor) -> Result<Fetched, RegistryError> {
        match self {
            Self::Registry(client, repository) => Ok(Fetched::Temporary(client.blob(repository, wanted).await?)),
            Self::Layout(layout) => {
                let what = format!("read blob {}", wanted.digest);
                Ok(Fetched::InLayout(in_layout(layout, what, wanted, Layout::blob).await?))
            }
        }
    }

    pub(crate) async fn has(&self, wanted: &Descriptor) -> Result<bool, RegistryError> {
        match self {
            Self::Registry(client, repository) => client.has_blob(repository, wanted).await,
            // Verify the digest, because files of an existing layout may be damaged.
            Self::Layout(layout) if layout.has(wanted) => {
                Ok(in_layout(layout, String::new(), wanted, Layout::blob).await.is_ok())
            }
            Self::Layout(_) => Ok(false),
        }
    }

    pub(crate) async fn store(&self, what: &Descriptor, from: &Path) -> Result<(), RegistryError> {
        match self {
            Self::Registry(client, repository) => client.push_blob(repository, what, from).await.map(drop),
            Self::Layout(layout) => {
                let from = from.to_path_buf();
                let write = move |layout: &Layout, what: &Descriptor| layout.put_blob(what, &from);
                in_layout(layout, format!("write blob {}", what.digest), what, write).await
            }
        }
    }

    /// Writes a manifest without a name. A manifest with a subject is listed as a referrer.
    pub(crate) async fn put(&self, manifest: &RawManifest) -> Result<(), RegistryError> {
        let refers = manifest.subject().is_some();
        match self {
            Self::Registry(client, repository) if refers => client.put_referrer(repository, manifest).await.map(drop),
            Self::Registry(client, repository) => {
                client.put_manifest(&repository.by_digest(manifest.digest), manifest).await.map(drop)
            }
            Self::Layout(layout) => {
                let write = || {
                    layout.put_manifest(manifest)?;
                    if refers { layout.list(manifest.descriptor(), None) } else { Ok(()) }
                };
                write().map_err(|cause| cause.of(format!("write manifest {} into the layout", manifest.digest)))
            }
        }
    }

    /// Returns the referrers of a manifest.
    pub async fn referrers(&self, subject: Digest) -> Result<Vec<Descriptor>, RegistryError> {
        match self {
            Self::Registry(client, repository) => client.referrers(repository, subject, None).await,
            Self::Layout(layout) => layout
                .referrers(subject)
                .map_err(|cause| cause.of(format!("list what belongs to {subject} in the layout"))),
        }
    }
}

/// Runs work on a layout on a separate thread, because hashing a large file must not block the
/// async runtime.
async fn in_layout<T: Send + 'static>(
    layout: &Layout,
    what: String,
    wanted: &Descriptor,
    work: impl FnOnce(&Layout, &Descriptor) -> Result<T, Cause> + Send + 'static,
) -> Result<T, RegistryError> {
    let (inner, wanted) = (layout.clone(), wanted.clone());
    let what = format!("{what} in layout `{}`", layout.dir().display());
    match tokio::task::spawn_blocking(move || work(&inner, &wanted)).await {
        Ok(result) => result.map_err(|cause| cause.of(what)),
        Err(error) => Err(Cause::Malformed(error.to_string()).of(what)),
    }
}
