//! Blobs of a registry.

use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Method, Response, StatusCode};
use tempfile::NamedTempFile;

use super::session::{Call, Client, Scope};
use super::{answer, retry};
use crate::check::Checker;
use crate::error::{Cause, RegistryError};
use crate::kept::DownloadCache;
use crate::limits::{MAX_CONFIG_BYTES, SLOWEST_BYTES_PER_SECOND};
use crate::manifest::Descriptor;
use crate::reference::Reference;

/// A verified blob in a temporary file, which is deleted when this value is dropped.
#[derive(Debug)]
pub struct TempBlob {
    file: NamedTempFile,
    descriptor: Descriptor,
}

impl TempBlob {
    pub(crate) fn new(file: NamedTempFile, descriptor: Descriptor) -> Self {
        Self { file, descriptor }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the descriptor of the blob.
    #[must_use]
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Returns the file itself, so that it can be persisted under a name.
    #[must_use]
    pub fn into_file(self) -> NamedTempFile {
        self.file
    }
}

impl Client {
    /// Downloads a blob to a temporary file and verifies its size and digest. A copy from the
    /// download cache ([`crate::Settings::downloads`]) is also verified, and saves the download.
    ///
    /// # Errors
    ///
    /// The blob does not exist, is too large, or does not match its descriptor, or the connection
    /// fails more often than the retry limit.
    pub async fn blob(&self, repository: &Reference, wanted: &Descriptor) -> Result<TempBlob, RegistryError> {
        let kept =
            DownloadCache::of(self.settings(), repository).filter(|_| wanted.size <= self.settings().largest_blob);
        if let Some(kept) = &kept
            && let Some(file) = kept.content(wanted).await
        {
            return Ok(TempBlob::new(file, wanted.clone()));
        }
        let blob = self.whole_blob(repository, wanted).await?;
        if let Some(kept) = kept {
            kept.keep(wanted.digest, blob.path()).await;
        }
        Ok(blob)
    }

    async fn whole_blob(&self, repository: &Reference, wanted: &Descriptor) -> Result<TempBlob, RegistryError> {
        let repository = &self.mirrored(repository);
        let what = || format!("pull blob {} of `{}`", wanted.digest, place(repository));
        let limit = self.settings().largest_blob;
        if wanted.size > limit {
            return Err(Cause::TooLarge { limit }.of(what()));
        }
        let patience = self.settings().patience;
        let mut attempt = 1;
        loop {
            match self.download(repository, wanted).await {
                Ok(blob) => return Ok(blob),
                Err(Broken { cause, again: true }) if attempt < patience.attempts => {
                    tracing::debug!(digest = %wanted.digest, %cause, attempt, "downloaded again");
                    tokio::time::sleep(patience.pause(attempt, None)).await;
                    attempt += 1;
                }
                Err(Broken { cause, .. }) => return Err(cause.of(what())),
            }
        }
    }

    /// Downloads a small blob to memory.
    ///
    /// # Errors
    ///
    /// Same as [`Client::blob`], or the blob is larger than [`crate::MAX_CONFIG_BYTES`].
    pub async fn small_blob(&self, repository: &Reference, wanted: &Descriptor) -> Result<Bytes, RegistryError> {
        let repository = &self.mirrored(repository);
        let read = async {
            if wanted.size > MAX_CONFIG_BYTES {
                return Err(Cause::TooLarge { limit: MAX_CONFIG_BYTES });
            }
            let answer = self.open(repository, wanted).await?;
            let bytes = answer::bounded(answer, MAX_CONFIG_BYTES, self.settings().patience.answer).await?;
            let mut checker = Checker::new(wanted);
            checker.take(&bytes)?;
            checker.finish()?;
            Ok(bytes)
        };
        read.await.map_err(|cause| cause.of(format!("pull blob {} of `{}`", wanted.digest, place(repository))))
    }

    /// Returns whether the registry has a blob.
    ///
    /// # Errors
    ///
    /// The request fails.
    pub async fn has_blob(&self, repository: &Reference, wanted: &Descriptor) -> Result<bool, RegistryError> {
        // The blob is about to be pushed, so request the push right once, instead of the pull right
        // first.
        self.head(repository, wanted, Scope::push(repository))
            .await
            .map_err(|cause| cause.of(format!("look for blob {} in `{}`", wanted.digest, place(repository))))
    }

    async fn head(&self, repository: &Reference, wanted: &Descriptor, scope: Scope) -> Result<bool, Cause> {
        let url = self.address(repository, &format!("blobs/{}", wanted.digest))?;
        let answer = self.send(&Call::new(Method::HEAD, url, scope)).await?;
        match answer.status() {
            StatusCode::OK => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            _ => Err(answer::refusal(answer, self.settings().patience.answer).await),
        }
    }

    async fn open(&self, repository: &Reference, wanted: &Descriptor) -> Result<Response, Cause> {
        let url = self.address(repository, &format!("blobs/{}", wanted.digest))?;
        let answer = self.send(&Call::new(Method::GET, url, Scope::pull(repository))).await?;
        if answer.status() != StatusCode::OK {
            return Err(answer::refusal(answer, self.settings().patience.answer).await);
        }
        // Check the announced size before any byte is written.
        match answer.content_length() {
            Some(got) if got != wanted.size => Err(Cause::Size { said: wanted.size, got, more: got > wanted.size }),
            _ => Ok(answer),
        }
    }

    async fn download(&self, repository: &Reference, wanted: &Descriptor) -> Result<TempBlob, Broken> {
        let mut answer = self.open(repository, wanted).await?;
        let scratch = self.settings().scratch.clone().unwrap_or_else(std::env::temp_dir);
        let mut file = NamedTempFile::new_in(&scratch).map_err(Cause::file(&scratch))?;
        let mut checker = Checker::new(wanted);
        let write = async {
            loop {
                let piece = answer.chunk().await.map_err(|error| Broken {
                    again: retry::is_broken(&error) || error.is_decode() || error.is_body(),
                    cause: retry::cause(&error),
                })?;
                let Some(piece) = piece else { return Ok::<(), Broken>(()) };
                checker.take(&piece)?;
                // A write of some KiB to the page cache takes less time than a switch to another
                // thread.
                file.write_all(&piece).map_err(Cause::file(&scratch))?;
            }
        };
        let seconds = wanted.size / SLOWEST_BYTES_PER_SECOND;
        let patience = self.settings().patience.answer.saturating_add(Duration::from_secs(seconds));
        tokio::time::timeout(patience, write).await.unwrap_or(Err(Cause::Slow(patience.as_secs()).into()))?;
        // Rewind, because the caller reads from the current position.
        file.rewind().map_err(Cause::file(&scratch))?;
        checker.finish()?;
        Ok(TempBlob::new(file, wanted.clone()))
    }
}

/// Returns the name of a repository for messages.
pub(super) fn place(reference: &Reference) -> String {
    format!("{}/{}", reference.registry(), reference.repository())
}

/// Error of a transfer.
pub(super) struct Broken {
    pub(super) cause: Cause,
    /// Whether the transfer can be retried.
    pub(super) again: bool,
}

impl From<Cause> for Broken {
    fn from(cause: Cause) -> Self {
        Self { cause, again: false }
    }
}
