//! Sends requests to the API server, with limits on number, time and size. The client itself
//! retries when the server is overloaded (429, 503, 504).

use std::time::Duration;

use futures_util::AsyncReadExt;
use futures_util::io::AsyncBufRead;
use kube::Client;
use serde_json::Value;
use tokio::sync::SemaphorePermit;

use super::throttle::Throttle;
use crate::error::{ClusterError, chain};

/// Timeout of a whole request. The server itself gives up after 60 s.
const WITHIN: Duration = Duration::from_secs(90);

/// Maximum size in bytes of a response that is kept in memory and is not a list.
const MAX_DOCUMENT: usize = 16 << 20;

/// A request without a body.
pub(crate) type Request = http::Request<Vec<u8>>;

/// Error while fetching.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    /// The server returned an error, or no response.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The response exceeds the size limit.
    #[error("the answer is larger than {0} MiB")]
    TooLarge(usize),
}

impl FetchError {
    /// Converts the error into a cluster error.
    pub(crate) fn told(self, what: &str) -> ClusterError {
        match self {
            Self::Cluster(error) => error,
            Self::TooLarge(_) => ClusterError::new(what, self.to_string()),
        }
    }
}

/// Sends requests to the API server.
pub(crate) struct Fetch {
    client: Client,
    throttle: Throttle,
}

impl Fetch {
    pub(crate) fn new(client: Client, throttle: Throttle) -> Self {
        Self { client, throttle }
    }

    /// Returns the whole response of at most `limit` bytes. `what` completes the message "failed to
    /// …".
    pub(crate) async fn bytes(&self, what: &str, request: Request, limit: usize) -> Result<Vec<u8>, FetchError> {
        self.bytes_within(what, request, limit, WITHIN).await
    }

    /// Returns the whole response, with another timeout.
    pub(crate) async fn bytes_within(
        &self,
        what: &str,
        request: Request,
        limit: usize,
        within: Duration,
    ) -> Result<Vec<u8>, FetchError> {
        let _seat = self.throttle.enter().await;
        let answer = async {
            let stream = self.client.request_stream(request).await.map_err(|error| ClusterError::api(what, &error))?;
            read(what, stream, limit).await
        };
        tokio::time::timeout(within, answer).await.unwrap_or_else(|_| Err(silent(what, within).into()))
    }

    /// Returns the JSON document at a path.
    pub(crate) async fn json(&self, what: &str, path: &str) -> Result<Value, ClusterError> {
        let bytes = self.bytes(what, get(what, path)?, MAX_DOCUMENT).await.map_err(|error| error.told(what))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| ClusterError::new(what, format!("the answer is not JSON: {error}")))
    }

    /// Returns the response as a stream. The caller must keep the permit while it reads.
    pub(crate) async fn stream(
        &self,
        what: &str,
        request: Request,
    ) -> Result<(Option<SemaphorePermit<'_>>, impl AsyncBufRead + Unpin + Send + use<>), ClusterError> {
        let seat = self.throttle.enter().await;
        let asked = tokio::time::timeout(WITHIN, self.client.request_stream(request)).await;
        let stream = asked.map_err(|_| silent(what, WITHIN))?.map_err(|error| ClusterError::api(what, &error))?;
        Ok((seat, stream))
    }
}

/// Builds a GET request.
pub(crate) fn get(what: &str, path: &str) -> Result<Request, ClusterError> {
    http::Request::get(path)
        .body(Vec::new())
        .map_err(|error| ClusterError::new(what, format!("`{path}` is not a path: {error}")))
}

async fn read(what: &str, stream: impl AsyncBufRead + Unpin, limit: usize) -> Result<Vec<u8>, FetchError> {
    // One byte more distinguishes a response that fits from one that does not.
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    stream.take(bound).read_to_end(&mut bytes).await.map_err(|error| ClusterError::new(what, chain(&error)))?;
    if bytes.len() > limit { Err(FetchError::TooLarge(limit >> 20)) } else { Ok(bytes) }
}

fn silent(what: &str, within: Duration) -> ClusterError {
    ClusterError::new(what, format!("no complete answer within {} s", within.as_secs()))
}
