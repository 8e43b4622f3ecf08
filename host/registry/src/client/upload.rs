//! Monolithic uploads of blobs (OCI distribution specification, "Pushing a blob monolithically",
//! POST then PUT).

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use reqwest::{Method, StatusCode, Url};
use sha2::{Digest as _, Sha256};

use super::blobs::Broken;
use super::session::{Call, Client, Content, Scope};
use super::{answer, blobs, retry};
use crate::digest::Digest;
use crate::error::{Cause, RegistryError};
use crate::manifest::Descriptor;
use crate::reference::Reference;

/// Content type of a blob while it is uploaded.
const OCTETS: &str = "application/octet-stream";

/// Returns the descriptor of a file. It reads the whole file once.
///
/// # Errors
///
/// The file is not readable.
pub(crate) fn describe(path: &Path, media_type: &str) -> Result<Descriptor, Cause> {
    let mut file = File::open(path).map_err(Cause::file(path))?;
    let mut hash = Sha256::new();
    let mut size = 0;
    let mut piece = vec![0; 256 << 10];
    loop {
        match file.read(&mut piece).map_err(Cause::file(path))? {
            0 => return Ok(Descriptor::new(media_type, Digest::finished(hash), size)),
            read => {
                hash.update(piece.get(..read).unwrap_or_default());
                size += read as u64;
            }
        }
    }
}

impl Client {
    /// Uploads a file as a blob, unless the registry already has it. Returns whether it was
    /// uploaded.
    ///
    /// # Errors
    ///
    /// The registry rejects the blob, the connection fails, or the file no longer matches the
    /// descriptor, which the registry verifies.
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
    ///
    /// # Errors
    ///
    /// Same as [`Client::push_blob`].
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
        let failed = |cause: Cause| cause.of(format!("push blob {} to `{}`", what.digest, blobs::place(repository)));
        let patience = self.settings().patience;
        let mut attempt = 1;
        loop {
            match self.upload(repository, what, content.clone()).await {
                Ok(()) => return Ok(true),
                Err(Broken { cause, again: true }) if attempt < patience.attempts => {
                    tracing::debug!(digest = %what.digest, %cause, attempt, "uploaded again");
                    tokio::time::sleep(patience.pause(attempt, None)).await;
                    attempt += 1;
                }
                Err(Broken { cause, .. }) => return Err(failed(cause)),
            }
        }
    }

    async fn upload(&self, repository: &Reference, what: &Descriptor, content: Content) -> Result<(), Broken> {
        let begin = self.address(repository, "blobs/uploads/")?;
        let call = Call::new(Method::POST, begin.clone(), Scope::push(repository)).header(CONTENT_LENGTH, "0")?;
        let answer = self.send(&call).await?;
        let patience = self.settings().patience.answer;
        if answer.status() != StatusCode::ACCEPTED {
            return Err(answer::refusal(answer, patience).await.into());
        }
        let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let mut to: Url = location
            .and_then(|location| begin.join(location).ok())
            .ok_or_else(|| Cause::Malformed("the registry does not say where to upload to".into()))?;
        to.query_pairs_mut().append_pair("digest", &what.digest.to_string());
        let mut call = Call::new(Method::PUT, to, Scope::push(repository)).header(CONTENT_TYPE, OCTETS)?;
        call.content = content;
        // The state of an interrupted upload is unknown, so the next attempt starts a new upload.
        call.repeatable = false;
        let answer = match self.send(&call).await {
            Ok(answer) => answer,
            Err(cause) => return Err(Broken { again: matches!(cause, Cause::Connection(_)), cause }),
        };
        let again = retry::is_passing(answer.status());
        match answer.status() {
            StatusCode::CREATED => Ok(()),
            _ => Err(Broken { cause: answer::refusal(answer, patience).await, again }),
        }
    }
}
