//! Requests to the API server, bounded in number, time and bytes. The client itself asks again when the server is overloaded (429, 503, 504).

use std::time::Duration;

use futures_util::AsyncReadExt;
use futures_util::io::AsyncBufRead;
use kube::Client;
use serde_json::Value;
use tokio::sync::SemaphorePermit;

use super::throttle::Throttle;
use crate::error::{ClusterError, chain};

/// How long an answer may take from the first byte of the request to the last of the answer. The server gives up after 60 s by itself.
const WITHIN: Duration = Duration::from_secs(90);

/// The largest answer that is no list, and that is kept in memory.
const MAX_DOCUMENT: usize = 16 << 20;

/// A request without a body.
pub(crate) type Request = http::Request<Vec<u8>>;

/// A request that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    /// The server said no, or nothing.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The answer has more bytes than it may have.
    #[error("the answer is larger than {0} MiB")]
    TooLarge(usize),
}

impl FetchError {
    /// As an error of the cluster.
    pub(crate) fn told(self, what: &str) -> ClusterError {
        match self {
            Self::Cluster(error) => error,
            Self::TooLarge(_) => ClusterError::new(what, self.to_string()),
        }
    }
}

/// Asks the API server.
pub(crate) struct Fetch {
    client: Client,
    throttle: Throttle,
}

impl Fetch {
    pub(crate) fn new(client: Client, throttle: Throttle) -> Self {
        Self { client, throttle }
    }

    /// The whole answer, of at most `limit` bytes. `what` reads after «failed to».
    pub(crate) async fn bytes(&self, what: &str, request: Request, limit: usize) -> Result<Vec<u8>, FetchError> {
        self.bytes_within(what, request, limit, WITHIN).await
    }

    /// The same within another time.
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

    /// The document at a path.
    pub(crate) async fn json(&self, what: &str, path: &str) -> Result<Value, ClusterError> {
        let bytes = self.bytes(what, get(what, path)?, MAX_DOCUMENT).await.map_err(|error| error.told(what))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| ClusterError::new(what, format!("the answer is not JSON: {error}")))
    }

    /// The answer as a stream. The seat is to be kept for as long as it is read.
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

/// A request for what is at a path.
pub(crate) fn get(what: &str, path: &str) -> Result<Request, ClusterError> {
    http::Request::get(path)
        .body(Vec::new())
        .map_err(|error| ClusterError::new(what, format!("`{path}` is not a path: {error}")))
}

async fn read(what: &str, stream: impl AsyncBufRead + Unpin, limit: usize) -> Result<Vec<u8>, FetchError> {
    // One byte more tells an answer that fits from one that does not.
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    stream.take(bound).read_to_end(&mut bytes).await.map_err(|error| ClusterError::new(what, chain(&error)))?;
    if bytes.len() > limit { Err(FetchError::TooLarge(limit >> 20)) } else { Ok(bytes) }
}

fn silent(what: &str, within: Duration) -> ClusterError {
    ClusterError::new(what, format!("no complete answer within {} s", within.as_secs()))
}
