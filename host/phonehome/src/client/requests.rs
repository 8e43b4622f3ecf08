//! The client for workers.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, USER_AGENT};
use http::{HeaderValue, Request, StatusCode};
use jiff::Timestamp;
use plumbline_core::{ResultKey, chain};
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsConnector;

use super::body::{GoAhead, RequestBody, Transfer};
use super::config::{Answer, ClientConfig, Endpoint, Outcome, Source, Timeouts, Upload};
use super::connection::{Connector, Reply};
use super::error::ClientError;
use super::retry::{RetryPolicy, retry_after};
use crate::file_name::SafeFileName;
use crate::messages::{CONTENT_TYPE_JSON, HEADER_ERROR, Heartbeat, Hello};
use crate::routes::{Route, RouteKind};
use crate::{content_disposition, tls};

const AGENT: &str = concat!("plumbline-phonehome/", env!("CARGO_PKG_VERSION"));

/// The worker's side of the protocol. Clones are cheap and share their TLS sessions.
#[derive(Clone)]
pub struct Client {
    wire: Arc<Connector>,
}

impl Client {
    /// Creates a client for the aggregator in `config`. Nothing is sent yet.
    ///
    /// # Errors
    /// Returns [`ClientError::Url`] or [`ClientError::Certificates`] if the configuration is
    /// invalid.
    pub fn new(config: &ClientConfig) -> Result<Self, ClientError> {
        Self::with_timeouts(config, Timeouts::default())
    }

    /// Creates a client with other timeouts.
    ///
    /// # Errors
    /// Returns the same errors as [`Client::new`].
    pub fn with_timeouts(config: &ClientConfig, timeouts: Timeouts) -> Result<Self, ClientError> {
        let endpoint = Endpoint::parse(&config.aggregator_url)?;
        let tls = tls::client_config(&config.ca_cert, &config.client_cert, &config.client_key)?;
        let tls = TlsConnector::from(Arc::new(tls));
        Ok(Self { wire: Arc::new(Connector { endpoint, tls, timeouts }) })
    }

    /// Sends the result of `key` (docs/protocol.md, "Results"), with retries. The body is held back
    /// until the aggregator asks for it, so a rejected upload costs one small request.
    ///
    /// Dropping the future aborts the attempt, and no incomplete body becomes a result.
    ///
    /// # Errors
    /// Returns [`ClientError::Refused`] or [`ClientError::Source`] at once if a retry is pointless.
    /// Returns [`ClientError::GaveUp`] with the last error after the deadline of `retry`. With
    /// [`RetryPolicy::never`], returns that error itself.
    pub async fn put_result(
        &self,
        key: &ResultKey,
        upload: &Upload,
        retry: &RetryPolicy,
    ) -> Result<Outcome, ClientError> {
        self.put_until_stored(&Route::new(RouteKind::Results, key.clone()), upload, retry).await
    }

    /// Sends a progress update as the plugin wrote it (docs/protocol.md, "Progress"), in one
    /// attempt.
    ///
    /// # Errors
    /// Returns an error if there was no response. Responses with any status are an [`Answer`].
    pub async fn post_progress(&self, key: &ResultKey, body: Bytes) -> Result<Answer, ClientError> {
        self.post(RouteKind::Progress, key, body).await
    }

    /// Reports that the worker has started (docs/protocol.md, "Hello and heartbeat"), in one
    /// attempt. Aggregators other than Plumbline's respond with 404.
    ///
    /// # Errors
    /// Returns an error if there was no response. Responses with any status are an [`Answer`].
    pub async fn hello(&self, key: &ResultKey, hello: &Hello) -> Result<Answer, ClientError> {
        self.post(RouteKind::Hello, key, hello.to_json()).await
    }

    /// Reports that the worker is alive (docs/protocol.md, "Hello and heartbeat"), in one attempt.
    /// Aggregators other than Plumbline's respond with 404.
    ///
    /// # Errors
    /// Returns an error if there was no response. Responses with any status are an [`Answer`].
    pub async fn heartbeat(&self, key: &ResultKey, heartbeat: &Heartbeat) -> Result<Answer, ClientError> {
        self.post(RouteKind::Heartbeat, key, heartbeat.to_json()).await
    }

    /// Sends the partial result of a plugin (docs/protocol.md, "Partial results"), with retries. An
    /// aggregator that does not want it any more rejects it without an error.
    ///
    /// # Errors
    /// Returns the same errors as [`Client::put_result`].
    pub async fn put_partial(
        &self,
        key: &ResultKey,
        upload: &Upload,
        retry: &RetryPolicy,
    ) -> Result<Outcome, ClientError> {
        self.put_until_stored(&Route::new(RouteKind::Partial, key.clone()), upload, retry).await
    }

    async fn put_until_stored(
        &self,
        route: &Route,
        upload: &Upload,
        retry: &RetryPolicy,
    ) -> Result<Outcome, ClientError> {
        let started = Instant::now();
        let mut schedule = retry.schedule();
        let mut attempts: u32 = 0;
        let mut was_sent = false;
        loop {
            attempts = attempts.saturating_add(1);
            let mut is_sent = false;
            let error = match Box::pin(self.put_once(route, upload, &mut is_sent)).await {
                Ok(Outcome::AlreadyReceived) if !was_sent => return Ok(Outcome::OtherReceived),
                Ok(outcome) => return Ok(outcome),
                Err(error) => error,
            };
            was_sent |= is_sent;
            if !error.is_temporary() {
                return Err(error);
            }
            let elapsed = started.elapsed();
            match schedule.next(elapsed, error.retry_after()) {
                Some(pause) => {
                    let (cause, key) = (chain(&error), &route.key);
                    tracing::warn!(
                        attempts,
                        "result {key} was not accepted, next attempt in {pause:.1?}: failed to {cause}"
                    );
                    sleep(pause).await;
                }
                None if attempts == 1 => return Err(error),
                None => return Err(ClientError::GaveUp { attempts, elapsed, last: Box::new(error) }),
            }
        }
    }

    /// Makes one attempt. `is_sent` is set if the aggregator may have stored the whole body.
    async fn put_once(&self, route: &Route, upload: &Upload, is_sent: &mut bool) -> Result<Outcome, ClientError> {
        let mut reply = self.put(route, upload, true, is_sent).await?;
        if reply.0.status() == StatusCode::EXPECTATION_FAILED {
            // RFC 9110, section 15.5.18: an intermediary does not support waiting.
            reply = self.put(route, upload, false, is_sent).await?;
        }
        let (reply, transfer) = reply;
        if reply.status() == StatusCode::CONFLICT {
            return Ok(Outcome::AlreadyReceived);
        }
        if !reply.status().is_success() {
            return Err(self.refused(route, &reply));
        }
        if !transfer.is_complete() {
            return Err(ClientError::AnsweredTooEarly {
                endpoint: self.wire.endpoint.authority.clone(),
                status: reply.status(),
                sent: transfer.handed(),
                length: transfer.length,
            });
        }
        Ok(Outcome::Stored)
    }

    async fn put(
        &self,
        route: &Route,
        upload: &Upload,
        wait: bool,
        is_sent: &mut bool,
    ) -> Result<(Reply, Arc<Transfer>), ClientError> {
        let (mut body, transfer) = RequestBody::open(&upload.source).await?;
        let wait = (wait && transfer.length > 0).then(GoAhead::new);
        if let Some(go_ahead) = &wait {
            body = body.hold_back(go_ahead.clone(), self.wire.timeouts.go_ahead);
        }

        let mut request = self.request(route, body, &transfer);
        let headers = request.headers_mut();
        if !upload.content_type.is_empty() {
            let content_type = HeaderValue::try_from(&upload.content_type)
                .map_err(|_| ClientError::ContentType(upload.content_type.clone()))?;
            headers.insert(CONTENT_TYPE, content_type);
        }
        match upload.filename.as_deref().map(str::parse::<SafeFileName>) {
            Some(Ok(name)) => {
                headers.insert(CONTENT_DISPOSITION, content_disposition(&name));
            }
            Some(Err(error)) => tracing::debug!("result {} is sent without a file name: {error}", route.key),
            None => {}
        }
        if upload.error {
            headers.insert(HEADER_ERROR, HeaderValue::from_static("true"));
        }
        if let Some(go_ahead) = wait {
            headers.insert(EXPECT, HeaderValue::from_static("100-continue"));
            hyper::ext::on_informational(&mut request, move |interim| {
                if interim.status() == StatusCode::CONTINUE {
                    go_ahead.cancel();
                }
            });
        }
        let reply = self.wire.exchange(request, &transfer, self.wire.timeouts.upload_answer).await;
        *is_sent |= transfer.is_complete();
        Ok((reply?, transfer))
    }

    async fn post(&self, kind: RouteKind, key: &ResultKey, body: Bytes) -> Result<Answer, ClientError> {
        let (body, transfer) = RequestBody::open(&Source::Bytes(body)).await?;
        let mut request = self.request(&Route::new(kind, key.clone()), body, &transfer);
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE_JSON));
        let exchange = self.wire.exchange(request, &transfer, self.wire.timeouts.message_answer);
        let reply = Box::pin(exchange).await?;
        Ok(Answer { status: reply.status(), body: reply.into_body() })
    }

    fn request(&self, route: &Route, body: RequestBody, transfer: &Transfer) -> Request<RequestBody> {
        let mut request = Request::new(body);
        *request.method_mut() = route.kind.method();
        // Both parse: the path of a route only contains names, and the authority was parsed before.
        *request.uri_mut() = route.path().parse().unwrap_or_default();
        let headers = request.headers_mut();
        if let Ok(host) = HeaderValue::try_from(&self.wire.endpoint.authority) {
            headers.insert(HOST, host);
        }
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(transfer.length));
        request
    }

    fn refused(&self, route: &Route, reply: &Reply) -> ClientError {
        ClientError::Refused {
            endpoint: self.wire.endpoint.authority.clone(),
            request: format!("{} {}", route.kind.method(), route.path()),
            status: reply.status(),
            body: String::from_utf8_lossy(reply.body()).into_owned(),
            retry_after: retry_after(reply.headers(), Timestamp::now()),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoint", &self.wire.endpoint.authority).finish_non_exhaustive()
    }
}
