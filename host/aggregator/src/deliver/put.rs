//! Uploads an archive to an HTTP server with `PUT`.

use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use plumbline_core::chain;
use plumbline_core::text::excerpt;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use reqwest::{Body, Client, Response, StatusCode};
use tokio::fs::File;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::io::ReaderStream;

use super::{Archive, AttemptError, GZIP};

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
}
