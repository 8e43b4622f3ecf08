//! Blobs of a registry. Uploads are monolithic (OCI distribution specification, "Pushing a blob
//! monolithically", POST then PUT).

use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use plumbline_core::DigestWriter;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use reqwest::{Method, StatusCode};
use tempfile::NamedTempFile;

use super::http::{Failure, is_busy, retry};
use super::{Client, Content};
use crate::cache::DownloadCache;
use crate::error::{Cause, RegistryError};
use crate::limits::SLOWEST_BYTES_PER_SECOND;
use crate::manifest::Descriptor;
use crate::reference::Reference;

impl Client {
    /// Downloads a blob to a temporary file and verifies its size and digest. The file is positioned
    /// at its start, and is deleted when the result is dropped. A copy from the download cache
    /// ([`crate::Settings::downloads`]) is also verified, and saves the download.
    pub async fn blob(&self, repository: &Reference, wanted: &Descriptor) -> Result<NamedTempFile, RegistryError> {
        let location = self.mirrored(repository);
        let what = || format!("pull blob {} of `{}`", wanted.digest, location.name());
        let settings = self.settings();
        let limit = settings.largest_blob;
        if wanted.size > limit {
            return Err(Cause::TooLarge(limit).of(what()));
        }
        let cache = DownloadCache::of(settings, repository);
        if let Some(cache) = &cache
            && let Some(file) = cache.blob(wanted).await
        {
            return Ok(file);
        }
        let download = || self.download(&location, wanted);
        let log = format!("downloaded {} again", wanted.digest);
        let file = retry(&settings.patience, &log, |_| None, download).await.map_err(|cause| cause.of(what()))?;
        if let Some(cache) = cache {
            cache.keep(wanted.digest, file.path()).await;
        }
        Ok(file)
    }

    async fn download(&self, repository: &Reference, wanted: &Descriptor) -> Result<NamedTempFile, Failure> {
        let call = self.call(Method::GET, repository, &format!("blobs/{}", wanted.digest))?;
        let mut response = self.expect(&call, StatusCode::OK).await?;
        // Check the announced size before any byte is written.
        if let Some(got) = response.content_length().filter(|got| *got != wanted.size) {
            return Err(Cause::Size { said: wanted.size, got, more: got > wanted.size }.into());
        }
        let scratch = self.settings().scratch();
        let file = NamedTempFile::new_in(&scratch).map_err(Cause::file(&scratch))?;
        let mut writer = DigestWriter::new(file);
        let write = async {
            // Stop as soon as there are more bytes than expected, because a blob may be endless.
            while writer.bytes() <= wanted.size {
                let Some(piece) = self.http().chunk(&mut response).await? else { break };
                // A write of some KiB to the page cache takes less time than a switch to another
                // thread.
                writer.write_all(&piece).map_err(Cause::file(&scratch))?;
            }
            Ok::<(), Failure>(())
        };
        let seconds = wanted.size / SLOWEST_BYTES_PER_SECOND;
        let limit = self.settings().patience.answer.saturating_add(Duration::from_secs(seconds));
        tokio::time::timeout(limit, write).await.unwrap_or(Err(Cause::Slow(limit.as_secs()).into()))?;
        wanted.verify(writer.bytes(), writer.digest())?;
        let mut file = writer.into_inner();
        // The caller reads from the current position.
        file.rewind().map_err(Cause::file(&scratch))?;
        Ok(file)
    }

    /// Returns whether the registry has a blob. It requests the right to push, because the blob is
    /// about to be pushed.
    pub async fn has_blob(&self, repository: &Reference, wanted: &Descriptor) -> Result<bool, RegistryError> {
        let head = async {
            let call = self.call(Method::HEAD, repository, &format!("blobs/{}", wanted.digest))?;
            let response = self.send(&call).await?;
            match response.status() {
                StatusCode::OK => Ok(true),
                StatusCode::NOT_FOUND => Ok(false),
                _ => Err(self.http().failure(response).await),
            }
        };
        head.await.map_err(|cause| cause.of(format!("look for blob {} in `{}`", wanted.digest, repository.name())))
    }

    /// Uploads a file as a blob, unless the registry already has it. Returns whether it was
    /// uploaded.
    pub async fn push_blob(
        &self,
        repository: &Reference,
        what: &Descriptor,
        file: &Path,
    ) -> Result<bool, RegistryError> {
        self.push_content(repository, what, Content::File(file.into(), what.size)).await
    }

    /// Uploads bytes as a blob, unless the registry already has it. Returns whether it was
    /// uploaded.
    pub async fn push_bytes(
        &self,
        repository: &Reference,
        what: &Descriptor,
        bytes: Bytes,
    ) -> Result<bool, RegistryError> {
        self.push_content(repository, what, Content::Bytes(bytes)).await
    }

    async fn push_content(
        &self,
        repository: &Reference,
        what: &Descriptor,
        content: Content,
    ) -> Result<bool, RegistryError> {
        if self.has_blob(repository, what).await? {
            return Ok(false);
        }
        let upload = || self.upload(repository, what, content.clone());
        let log = format!("uploaded {} again", what.digest);
        let uploaded = retry(&self.settings().patience, &log, |()| None, upload).await;
        uploaded
            .map(|()| true)
            .map_err(|cause| cause.of(format!("push blob {} to `{}`", what.digest, repository.name())))
    }

    async fn upload(&self, repository: &Reference, what: &Descriptor, content: Content) -> Result<(), Failure> {
        let mut call = self.call(Method::POST, repository, "blobs/uploads/")?.header(CONTENT_LENGTH, "0")?;
        let response = self.expect(&call, StatusCode::ACCEPTED).await?;
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let mut url = location
            .and_then(|location| call.url.join(location).ok())
            .ok_or_else(|| Cause::Malformed("the registry sent no upload URL".into()))?;
        url.query_pairs_mut().append_pair("digest", &what.digest.to_string());
        call = self.call(Method::PUT, repository, "")?.header(CONTENT_TYPE, "application/octet-stream")?;
        (call.url, call.content) = (url, content);
        // The state of an interrupted upload is unknown, so the next attempt starts a new upload.
        let again = |failure: Failure| Failure { again: matches!(failure.cause, Cause::Connection(_)), ..failure };
        let response = self.send_once(&call).await.map_err(again)?;
        match response.status() {
            StatusCode::CREATED => Ok(()),
            status => Err(Failure { again: is_busy(status), cause: self.http().failure(response).await }),
        }
    }
}
