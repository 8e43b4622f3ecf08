//! One attempt to upload an archive: with `PUT` to an HTTP server, or to S3-compatible storage.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::buffered::BufWriter;
use object_store::{Attribute, Attributes, ObjectStore, ObjectStoreExt};
use plumbline_core::chain;
use plumbline_core::text::excerpt;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use reqwest::{Body, Client, Response, StatusCode};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::io::ReaderStream;

/// Size of one part of a large archive in S3, in bytes. The upload needs twice as much memory.
const PART: usize = 8 << 20;
/// Number of concurrent parts in S3.
const PARALLEL: usize = 2;
/// Key of the digest in the metadata of an object in S3.
const DIGEST: &str = "sha256";
/// Content type of an archive.
const GZIP: &str = "application/gzip";

/// Timeout without a part of the archive that an HTTP server accepts.
const IDLE: Duration = Duration::from_secs(120);
/// Timeout of the response of an HTTP server to the whole archive. It may have to write gigabytes
/// before it responds.
const SILENCE: Duration = Duration::from_secs(300);
/// Maximum size of an error response, in bytes. The rest is not read.
const MAX_ANSWER: usize = 4 << 10;
/// Maximum time to read an error response.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Maximum length of a response in a message, in characters.
const SHOWN: usize = 300;

/// A finished archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Path of the file.
    pub path: PathBuf,
    /// Name at the destination.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 as 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// The error of one attempt.
pub(super) enum AttemptError {
    Read(io::Error),
    Refused { cause: String, transient: bool },
}

impl AttemptError {
    /// Returns an error that another attempt may not have.
    fn transient(cause: String) -> Self {
        Self::Refused { cause, transient: true }
    }
}

impl From<object_store::Error> for AttemptError {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error::{NotFound, PermissionDenied, Unauthenticated};
        // Retries help neither against wrong credentials nor against a missing bucket.
        let transient = !matches!(error, NotFound { .. } | PermissionDenied { .. } | Unauthenticated { .. });
        Self::Refused { cause: chain(&error), transient }
    }
}

/// Returns a client for uploads, over plain HTTP or over TLS.
pub(super) fn client(is_plain: bool) -> reqwest::Result<Client> {
    let builder = match is_plain {
        // Plain HTTP needs no CA certificates. Loading them would fail on a system that has none.
        true => Client::builder().tls_certs_only([]),
        false => Client::builder(),
    };
    builder
        .connect_timeout(Duration::from_secs(30))
        // A redirect would need the body a second time, and could lead to a host that must not get
        // the credentials.
        .redirect(reqwest::redirect::Policy::none())
        .build()
}

/// Makes one attempt to upload the archive.
pub(super) async fn send(
    client: &Client,
    url: &str,
    authorization: Option<&HeaderValue>,
    archive: &Archive,
) -> Result<(), AttemptError> {
    let file = File::open(&archive.path).await.map_err(AttemptError::Read)?;
    let (progress, sent) = watch::channel(0_u64);
    let taken = sent.clone();
    let count = move |piece: &Bytes| progress.send_modify(|sent| *sent += piece.len() as u64);
    let content = ReaderStream::with_capacity(file, 64 << 10).inspect_ok(count);
    let mut request = client
        .put(url)
        .header(CONTENT_TYPE, GZIP)
        .header(CONTENT_LENGTH, archive.bytes)
        .header("x-checksum-sha256", &archive.sha256)
        .body(Body::wrap_stream(content));
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    let answer = tokio::select! {
        answer = request.send() => answer.map_err(|error| AttemptError::transient(chain(&error)))?,
        cause = stalled(sent, archive.bytes) => return Err(AttemptError::transient(cause)),
    };
    let status = answer.status();
    if status.is_success() {
        let (taken, bytes) = (*taken.borrow(), archive.bytes);
        if taken < bytes {
            // Such as a proxy that answers everything with a page of its own.
            let cause = format!("the server answered {status} after {taken} of {bytes} bytes");
            return Err(AttemptError::transient(cause));
        }
        return Ok(());
    }
    let text = beginning(answer).await;
    let transient = status.is_server_error()
        || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT);
    Err(AttemptError::Refused { cause: format!("the server answered {status} {text}"), transient })
}

/// Returns the cause once the server accepts nothing for too long, or its response to the whole
/// archive takes too long. `sent` counts the bytes of the archive that were taken to be sent.
///
/// The client's own `read_timeout` starts with the request, and would end an upload that takes
/// longer although it makes progress.
async fn stalled(mut sent: watch::Receiver<u64>, bytes: u64) -> String {
    loop {
        let now = *sent.borrow_and_update();
        let limit = if now < bytes { IDLE } else { SILENCE };
        let progress = async {
            // The archive was sent, or is not needed any more.
            if sent.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        if timeout(limit, progress).await.is_err() {
            let seconds = limit.as_secs();
            return if now < bytes {
                format!("the server accepted no data for {seconds} s, after {now} of {bytes} bytes")
            } else {
                format!("the server did not answer within {seconds} s after the last byte")
            };
        }
    }
}

/// Returns the beginning of an error response as one line.
async fn beginning(mut answer: Response) -> String {
    let mut text: Vec<u8> = Vec::new();
    let read = async {
        while text.len() < MAX_ANSWER
            && let Ok(Some(piece)) = answer.chunk().await
        {
            text.extend_from_slice(&piece);
        }
    };
    // What has arrived by then is enough for a message.
    let _ = timeout(ANSWER_TIME, read).await;
    excerpt(String::from_utf8_lossy(&text).trim(), SHOWN)
}

/// Makes one attempt to upload the archive to storage.
pub(super) async fn put_object(store: &Arc<dyn ObjectStore>, key: &str, archive: &Archive) -> Result<(), AttemptError> {
    let path = object_store::path::Path::from(key);
    let file = File::open(&archive.path).await.map_err(AttemptError::Read)?;
    let mut file = tokio::io::BufReader::with_capacity(1 << 20, file);
    let attributes = Attributes::from_iter([
        (Attribute::ContentType, GZIP.to_owned()),
        (Attribute::Metadata(DIGEST.into()), archive.sha256.clone()),
    ]);
    let mut writer = BufWriter::with_capacity(Arc::clone(store), path.clone(), PART)
        .with_max_concurrency(PARALLEL)
        .with_attributes(attributes);
    let sent = match tokio::io::copy_buf(&mut file, &mut writer).await {
        Ok(_) => writer.shutdown().await,
        Err(error) => {
            // Abort while the writer has not been shut down. Parts that remain are removed by the
            // storage's own rules.
            if let Err(error) = writer.abort().await {
                tracing::debug!("an unfinished upload may be left at `{path}`: {error}");
            }
            Err(error)
        }
    };
    // Reading is local, so an error comes from the server.
    sent.map_err(|error| match error.downcast::<object_store::Error>() {
        Ok(error) => error.into(),
        Err(error) => AttemptError::transient(chain(&error)),
    })?;
    // The server has verified each part. Verify that all of them are there.
    let stored = store.head(&path).await.map_err(|error| AttemptError::transient(chain(&error)))?;
    if stored.size != archive.bytes {
        return Err(AttemptError::transient(format!("{} of {} bytes arrived", stored.size, archive.bytes)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_upload_may_take_hours_as_long_as_it_makes_progress() {
        let (progress, sent) = watch::channel(0);
        let uploading = async {
            for at in 1..=1_000 {
                tokio::time::sleep(IDLE / 2).await;
                progress.send_replace(at);
            }
            // The server writes it, and then responds.
            tokio::time::sleep(SILENCE / 2).await;
        };
        tokio::select! {
            () = uploading => {}
            cause = stalled(sent, 1_000) => panic!("{cause}"),
        }
        for (before, cause) in [
            (999, "the server accepted no data for 120 s, after 999 of 1000 bytes"),
            (1_000, "the server did not answer within 300 s after the last byte"),
        ] {
            let (_progress, sent) = watch::channel(before);
            assert_eq!(stalled(sent, 1_000).await, cause);
        }
    }

    #[test]
    fn s3_errors_are_classified_by_type_and_not_by_digits_in_their_text() {
        use object_store::Error;
        let is_transient = |error| matches!(AttemptError::from(error), AttemptError::Refused { transient: true, .. });
        let (path, text) = (|| "202611250403_run.tar.gz".to_owned(), || "403 404 AccessDenied".into());
        assert!(is_transient(Error::Generic { store: "S3", source: text() }));
        assert!(!is_transient(Error::NotFound { path: path(), source: text() }));
        assert!(!is_transient(Error::PermissionDenied { path: path(), source: text() }));
        assert!(!is_transient(Error::Unauthenticated { path: path(), source: text() }));
    }
}
