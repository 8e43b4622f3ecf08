//! Contents of a registry.

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
use crate::kept::Kept;
use crate::limits::{MAX_CONFIG_BYTES, SLOWEST_BYTES_PER_SECOND};
use crate::manifest::Descriptor;
use crate::reference::Reference;

/// A content that has been checked, in a file that goes away with this.
#[derive(Debug)]
pub struct TempBlob {
    file: NamedTempFile,
    descriptor: Descriptor,
}

impl TempBlob {
    pub(crate) fn new(file: NamedTempFile, descriptor: Descriptor) -> Self {
        Self { file, descriptor }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// What it is.
    #[must_use]
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// The file itself, to be kept under a name.
    #[must_use]
    pub fn into_file(self) -> NamedTempFile {
        self.file
    }
}

impl Client {
    /// Downloads a content into a temporary file, and checks size and digest while it comes. One that was kept
    /// ([`crate::Settings::downloads`]) is checked all the same, and does not come again.
    ///
    /// # Errors
    ///
    /// It is not there, larger than is taken, or not what the descriptor says; or the connection breaks more often than is tried again.
    pub async fn blob(&self, repository: &Reference, wanted: &Descriptor) -> Result<TempBlob, RegistryError> {
        let kept = Kept::of(self.settings(), repository).filter(|_| wanted.size <= self.settings().largest_blob);
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

    /// A small content, in memory.
    ///
    /// # Errors
    ///
    /// As [`Client::blob`]; or it is larger than a configuration is.
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

    /// Whether the registry has a content.
    ///
    /// # Errors
    ///
    /// The registry cannot be asked.
    pub async fn has_blob(&self, repository: &Reference, wanted: &Descriptor) -> Result<bool, RegistryError> {
        // To be written there: the right to write is asked for once, and not first the one to read.
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
        // Seen before a byte is written.
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
                // Into the page cache, in pieces of some KiB: shorter than a switch to another thread.
                file.write_all(&piece).map_err(Cause::file(&scratch))?;
            }
        };
        let seconds = wanted.size / SLOWEST_BYTES_PER_SECOND;
        let patience = self.settings().patience.answer.saturating_add(Duration::from_secs(seconds));
        tokio::time::timeout(patience, write).await.unwrap_or(Err(Cause::Slow(patience.as_secs()).into()))?;
        // To its beginning: whoever gets the file reads it from where it stands.
        file.rewind().map_err(Cause::file(&scratch))?;
        checker.finish()?;
        Ok(TempBlob::new(file, wanted.clone()))
    }
}

/// A repository, for messages.
pub(super) fn place(reference: &Reference) -> String {
    format!("{}/{}", reference.registry(), reference.repository())
}

/// Why a transfer failed.
pub(super) struct Broken {
    pub(super) cause: Cause,
    /// Whether another attempt may bring it.
    pub(super) again: bool,
}

impl From<Cause> for Broken {
    fn from(cause: Cause) -> Self {
        Self { cause, again: false }
    }
}
