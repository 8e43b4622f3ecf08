//! Sends messages of OTLP over HTTP, with retries for a limited time.

use std::sync::Arc;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use jiff::Timestamp;
use plumbline_core::chain;
use plumbline_core::text::excerpt;
use reqwest::{Client, Response, StatusCode, Url, redirect};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::settings::Settings;
use super::trace::Span;
use super::{metrics, trace};
use crate::endpoint::Source;
use crate::metric::Family;

/// Maximum size of a message with spans, in bytes. Collectors accept at least 4 MiB.
const MAX_BATCH_BYTES: usize = 1 << 20;
const MAX_BATCH: usize = 512;
/// How long a message is retried. The end of a run waits for the last ones.
const PATIENCE: Duration = Duration::from_secs(15);
/// The longest delay that a server may ask for.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// Maximum size of a response in bytes. A response has counts and a sentence.
const MAX_ANSWER: usize = 64 << 10;
/// The number of characters of a response in a message.
const SHOWN: usize = 300;

/// Error of an export. What was not exported is lost.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There is no client.
    #[error("failed to set up the export of telemetry: {0}")]
    Client(String),
    /// The message could not be written.
    #[error("failed to encode telemetry: {0}")]
    Encode(String),
    /// The endpoint did not accept the message.
    #[error("failed to send telemetry to `{url}`: {why}")]
    Refused {
        /// The URL.
        url: String,
        /// The last error.
        why: String,
    },
    /// The endpoint accepted the message and rejected a part of it.
    #[error("`{url}` rejected {count} spans or points: {why}")]
    Rejected {
        /// The URL.
        url: String,
        /// The number of rejected spans or points.
        count: u64,
        /// Its reason.
        why: String,
    },
}

/// Sends telemetry to one endpoint.
pub struct Exporter {
    client: Client,
    settings: Settings,
    resource: Vec<(String, String)>,
    start: Timestamp,
}

impl Exporter {
    /// Creates an exporter. The attributes in `resource` say what the telemetry is about, and those
    /// of the settings take precedence.
    pub fn new(settings: Settings, resource: Vec<(String, String)>) -> Result<Self, ExportError> {
        // Fails if this process has installed a provider of cryptography already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .user_agent(concat!("plumbline/", env!("CARGO_PKG_VERSION")))
            .timeout(settings.timeout.min(PATIENCE))
            .default_headers(settings.headers.clone())
            // The headers may be credentials, which are for this endpoint only.
            .redirect(redirect::Policy::none())
            .http1_only();
        let secure = [&settings.traces, &settings.metrics].into_iter().flatten().any(|url| url.scheme() == "https");
        // Plain HTTP needs no CA certificates, and loading them fails on systems that have none.
        let builder = if secure { builder } else { builder.tls_certs_only([]) };
        let client = builder.build().map_err(|error| ExportError::Client(chain(&error)))?;
        let is_given = |key: &str| settings.resource.iter().any(|(given, _)| given == key);
        let own = resource.into_iter().filter(|(key, _)| !is_given(key));
        let resource = own.chain(settings.resource.iter().cloned()).collect();
        Ok(Self { client, settings, resource, start: Timestamp::now() })
    }

    /// Returns the interval between exports of metrics, or `None` if they are not exported.
    pub fn interval(&self) -> Option<Duration> {
        self.settings.metrics.as_ref().map(|_| self.settings.interval)
    }

    /// Returns whether spans are exported.
    pub fn has_traces(&self) -> bool {
        self.settings.traces.is_some()
    }

    /// Sends metrics. Without effect if they are not exported.
    pub async fn send_metrics(&self, families: &[Family]) -> Result<(), ExportError> {
        let Some(url) = &self.settings.metrics else { return Ok(()) };
        let message = metrics::request(families, &self.resource, self.start, Timestamp::now());
        self.send(url, &message).await
    }

    /// Sends spans, at most as many as [`Batch`] collects. Without effect if they are not exported.
    pub async fn send_spans(&self, batch: Batch) -> Result<(), ExportError> {
        match &self.settings.traces {
            Some(url) if !batch.spans.is_empty() => self.send(url, &trace::request(&batch.spans, &self.resource)).await,
            _ => Ok(()),
        }
    }

    async fn send(&self, url: &Url, message: &Value) -> Result<(), ExportError> {
        let body = serde_json::to_vec(message).map_err(|error| ExportError::Encode(error.to_string()))?;
        let (body, deadline) = (bytes::Bytes::from(body), Instant::now() + PATIENCE);
        let pauses = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(250))
            .with_max_delay(Duration::from_secs(5))
            .with_jitter()
            .without_max_times();
        let answer = (|| self.attempt(url, body.clone()))
            .retry(pauses)
            .when(|failure: &Failure| failure.transient)
            .adjust(|failure: &Failure, pause: Option<Duration>| {
                let pause = pause?.max(failure.delay.unwrap_or_default());
                (Instant::now() + pause < deadline).then_some(pause)
            })
            .await
            .map_err(|failure| ExportError::Refused { url: without_query(url), why: failure.why })?;
        match answer.partial_success {
            Some(partial) if partial.rejected() > 0 => {
                let (count, why) = (partial.rejected(), excerpt(&partial.error_message, SHOWN));
                Err(ExportError::Rejected { url: without_query(url), count, why })
            }
            _ => Ok(()),
        }
    }

    async fn attempt(&self, url: &Url, body: bytes::Bytes) -> Result<Answer, Failure> {
        let request = self.client.post(url.clone()).header(CONTENT_TYPE, "application/json").body(body);
        let lost = |error: reqwest::Error| Failure { why: chain(&error.without_url()), transient: true, delay: None };
        let response = request.send().await.map_err(lost)?;
        let (status, delay) = (response.status(), retry_after(&response));
        let text = read(response).await.map_err(lost)?;
        if status.is_success() {
            // An unreadable response is still a success: the message was accepted.
            return Ok(serde_json::from_slice(&text).unwrap_or_default());
        }
        let transient = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::BAD_GATEWAY,
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::GATEWAY_TIMEOUT,
        ]
        .contains(&status);
        let text = excerpt(String::from_utf8_lossy(&text).trim(), SHOWN);
        let why = if text.is_empty() { format!("status {status}") } else { format!("status {status}: {text}") };
        Err(Failure { why, transient, delay })
    }
}

/// Returns a URL for messages. Some collectors expect a token in the query, and the log of a run is a part
/// of its archive.
fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// Spans for one message: it has a limited number of spans and bytes.
#[derive(Debug, Default)]
pub struct Batch {
    spans: Vec<Span>,
    bytes: usize,
}

impl Batch {
    /// Adds a span, with its texts within their limits. Returns whether the batch is full.
    pub fn push(&mut self, span: Span) -> bool {
        let span = span.bounded();
        self.bytes += span.size();
        self.spans.push(span);
        self.spans.len() >= MAX_BATCH || self.bytes >= MAX_BATCH_BYTES
    }

    /// Returns whether there are no spans.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
}

#[derive(Debug)]
struct Failure {
    why: String,
    transient: bool,
    delay: Option<Duration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Answer {
    partial_success: Option<PartialSuccess>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PartialSuccess {
    rejected_spans: Value,
    rejected_data_points: Value,
    error_message: String,
}

impl PartialSuccess {
    /// Returns the number of rejected spans or points. Numbers of 64 bits may be text.
    fn rejected(&self) -> u64 {
        let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_default();
        number(&self.rejected_spans).saturating_add(number(&self.rejected_data_points))
    }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_DELAY))
}

async fn read(mut response: Response) -> reqwest::Result<Vec<u8>> {
    let mut text = Vec::new();
    while text.len() < MAX_ANSWER {
        let Some(piece) = response.chunk().await? else { break };
        text.extend_from_slice(&piece);
    }
    Ok(text)
}

/// Exports the metrics of `source` at intervals until `stop` is cancelled, and then once more. A
/// failure is logged once, until an export succeeds again, and has no other effect.
pub async fn push_metrics(exporter: Arc<Exporter>, source: Source, stop: CancellationToken) {
    let Some(interval) = exporter.interval() else { return };
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick is at once, and there is nothing to export yet.
    ticks.tick().await;
    let mut failing = false;
    loop {
        let stopped = stop.run_until_cancelled(ticks.tick()).await.is_none();
        match exporter.send_metrics(&source()).await {
            Ok(()) if failing => {
                tracing::info!("the export of metrics works again");
                failing = false;
            }
            Ok(()) => {}
            Err(error) if failing => tracing::debug!("{error}"),
            Err(error) => {
                tracing::warn!("{error}; the run does not depend on it");
                failing = true;
            }
        }
        if stopped {
            return;
        }
    }
}
