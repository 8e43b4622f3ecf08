//! Where manifests and contents are: a repository of a registry, or a layout.

use std::path::{Path, PathBuf};

use crate::client::{Client, TempBlob};
use crate::digest::Digest;
use crate::error::{Cause, RegistryError};
use crate::layout::Layout;
use crate::manifest::{Descriptor, Manifest, RawManifest};
use crate::reference::Reference;

/// Something that can be copied from and to.
#[derive(Debug, Clone)]
pub enum Place {
    /// A repository; tag and digest of the reference do not matter.
    Registry(Client, Reference),
    /// A layout.
    Layout(Layout),
}

/// A content in a file, for as long as this lives.
pub(crate) enum Fetched {
    Temporary(TempBlob),
    There(PathBuf),
}

impl Fetched {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Temporary(blob) => blob.path(),
            Self::There(path) => path,
        }
    }
}

impl Place {
    /// A manifest, checked against its descriptor.
    ///
    /// # Errors
    ///
    /// It is not there, or not what the descriptor says.
    pub async fn manifest(&self, wanted: &Descriptor) -> Result<RawManifest, RegistryError> {
        match self {
            Self::Registry(client, repository) => {
                let found = client.manifest(&repository.by_digest(wanted.digest)).await?;
                found
                    .must_be(wanted)
                    .map_err(|cause| cause.of(format!("pull manifest {} of `{repository}`", wanted.digest)))?;
                Ok(found)
            }
            Self::Layout(layout) => {
                let digest = wanted.digest;
                in_layout(layout, format!("read manifest {digest}"), wanted, Layout::manifest).await
            }
        }
    }

    /// What tells it from other places.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Registry(_, repository) => format!("{}/{}", repository.registry(), repository.repository()),
            Self::Layout(layout) => layout.dir().display().to_string(),
        }
    }

    /// A content, checked against its descriptor.
    pub(crate) async fn fetch(&self, wanted: &Descriptor) -> Result<Fetched, RegistryError> {
        match self {
            Self::Registry(client, repository) => Ok(Fetched::Temporary(client.blob(repository, wanted).await?)),
            Self::Layout(layout) => {
                let what = format!("read blob {}", wanted.digest);
                Ok(Fetched::There(in_layout(layout, what, wanted, Layout::blob).await?))
            }
        }
    }

    /// Whether a content is there already.
    pub(crate) async fn has(&self, wanted: &Descriptor) -> Result<bool, RegistryError> {
        match self {
            Self::Registry(client, repository) => client.has_blob(repository, wanted).await,
            // By digest, and not by its presence: a layout that is extended may have been damaged since.
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
                in_layout(layout, format!("write blob {}", what.digest), what, move |layout, what| {
                    layout.put_blob(what, &from)
                })
                .await
            }
        }
    }

    /// Writes a manifest without a name. One that belongs to another is listed as such.
    pub(crate) async fn put(&self, manifest: &RawManifest) -> Result<(), RegistryError> {
        let belongs = matches!(&manifest.manifest, Manifest::Image(image) if image.subject.is_some());
        match self {
            Self::Registry(client, repository) if belongs => client.put_referrer(repository, manifest).await.map(drop),
            Self::Registry(client, repository) => {
                client.put_manifest(&repository.by_digest(manifest.digest), manifest).await.map(drop)
            }
            Self::Layout(layout) => {
                let write = || {
                    layout.put_manifest(manifest)?;
                    if belongs { layout.list(manifest.descriptor(), None) } else { Ok(()) }
                };
                write().map_err(|cause| cause.of(format!("write manifest {} into the layout", manifest.digest)))
            }
        }
    }

    /// What belongs to a manifest.
    ///
    /// # Errors
    ///
    /// The list cannot be had.
    pub async fn referrers(&self, subject: Digest) -> Result<Vec<Descriptor>, RegistryError> {
        match self {
            Self::Registry(client, repository) => client.referrers(repository, subject, None).await,
            Self::Layout(layout) => layout
                .referrers(subject)
                .map_err(|cause| cause.of(format!("list what belongs to {subject} in the layout"))),
        }
    }
}

/// Reading and hashing a large file is no work for a thread that has connections to serve.
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
