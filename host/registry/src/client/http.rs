//! HTTP without authentication: connections, which hosts may be accessed, retries, and bounded
//! responses of untrusted servers.

use std::error::Error;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::PathBuf;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Certificate, Response, StatusCode, Url, redirect};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde::Deserialize;
use tokio::sync::{OnceCell, watch};

use crate::error::{Cause, server_message};
use crate::limits::{MAX_AUTHORITIES_BYTES, MAX_TOKEN_BYTES, SLOWEST_BYTES_PER_SECOND};
use crate::settings::{Settings, Timeouts, split_port};

/// Value of the `User-Agent` header.
const USER_AGENT: &str = concat!("plumbline/", env!("CARGO_PKG_VERSION"));
/// Actual host of Docker Hub, which references call `docker.io`.
const DOCKER_HUB: &str = "registry-1.docker.io";

#[derive(Debug)]
pub(super) struct Http {
    pub(super) settings: Settings,
    /// Client for plain HTTP. It does not load CA certificates, which a small image may not have.
    plain: reqwest::Client,
    secure: OnceCell<reqwest::Client>,
}

impl Http {
    pub(super) fn new(settings: Settings) -> Result<Self, Cause> {
        settings.check()?;
        // A process has only one crypto provider. An error means that it is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let plain = builder(&settings).tls_certs_only([]).build().map_err(|error| cause(&error))?;
        Ok(Self { settings, plain, secure: OnceCell::new() })
    }

    /// Returns the URL of `path` in the API of a registry.
    pub(super) fn url(&self, registry: &str, path: &str) -> Result<Url, Cause> {
        let (host, port) = split_port(registry);
        // A setting is `HOST:PORT`, or `HOST` with the default port of HTTP.
        let scheme = if self.settings.is_insecure(host, port.unwrap_or(80)) { "http" } else { "https" };
        let registry = if matches!(registry, "docker.io" | "index.docker.io") { DOCKER_HUB } else { registry };
        let text = format!("{scheme}://{registry}/v2/{path}");
        text.parse().map_err(|_| Cause::Malformed(format!("invalid URL `{text}`")))
    }

    /// Returns whether a URL has the scheme, host and port of the registry. Only such a URL may
    /// receive the credentials of the registry.
    pub(super) fn is_of_registry(&self, url: &Url, registry: &str) -> Result<bool, Cause> {
        Ok(self.url(registry, "")?.origin() == url.origin())
    }

    /// Returns the client for a URL. Plain HTTP is rejected except to hosts that the user has
    /// listed.
    pub(super) async fn client(&self, url: &Url) -> Result<&reqwest::Client, Cause> {
        let port = url.port_or_known_default().unwrap_or_default();
        let why = match url.scheme() {
            "https" => {
                let build = || async {
                    let client = builder(&self.settings).tls_certs_merge(certificates(&self.settings.ca_files)?);
                    client.build().map_err(|error| Cause::Tls(plumbline_core::chain(&error)))
                };
                return self.secure.get_or_try_init(build).await;
            }
            "http" if url.host_str().is_some_and(|host| self.settings.is_insecure(host, port)) => {
                return Ok(&self.plain);
            }
            "http" => "which is plain HTTP",
            _ => "which is not an HTTP URL",
        };
        Err(Cause::Redirect { to: without_query(url), why })
    }

    /// Reads the whole body, with limits on its size and on the time.
    pub(super) async fn read(&self, mut response: Response, limit: u64) -> Result<Bytes, Cause> {
        if response.content_length().is_some_and(|length| length > limit) {
            return Err(Cause::TooLarge(limit));
        }
        let read = async {
            let mut bytes = BytesMut::new();
            while let Some(piece) = self.chunk(&mut response).await.map_err(|failure| failure.cause)? {
                if (bytes.len() + piece.len()) as u64 > limit {
                    return Err(Cause::TooLarge(limit));
                }
                bytes.extend_from_slice(&piece);
            }
            Ok(bytes.freeze())
        };
        // Without this timeout, a server could send a byte per minute.
        let limit = self.settings.patience.answer;
        tokio::time::timeout(limit, read).await.unwrap_or(Err(Cause::Slow(limit.as_secs())))
    }

    pub(super) async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>, Failure> {
        let limit = self.settings.patience.read;
        match tokio::time::timeout(limit, response.chunk()).await {
            Ok(chunk) => chunk.map_err(|error| {
                let is_of_body = error.is_decode() || error.is_body();
                let failure = Failure::from(error);
                Failure { again: failure.again || is_of_body, ..failure }
            }),
            Err(_) => Err(silent(limit)),
        }
    }

    /// Returns the message of an error response on one line. An HTML page is ignored, because it
    /// adds nothing to the status.
    pub(super) async fn message(&self, response: Response) -> String {
        let Ok(body) = self.read(response, MAX_TOKEN_BYTES).await else { return String::new() };
        let Ok(answer) = serde_json::from_slice::<ErrorAnswer>(&body) else { return String::new() };
        let errors = answer.errors.into_iter();
        let mut lines: Vec<String> =
            errors.filter_map(|error| error.message.filter(|text| !text.is_empty()).or(error.code)).collect();
        lines.extend(answer.details);
        server_message(&lines.join("; "))
    }

    pub(super) async fn failure(&self, response: Response) -> Cause {
        let status = response.status();
        let message = self.message(response).await;
        match status {
            StatusCode::FORBIDDEN => Cause::Denied(message),
            StatusCode::NOT_FOUND => Cause::NotFound(message),
            _ => Cause::Status { status: status.as_u16(), message },
        }
    }
}

/// Error response of a registry (OCI distribution specification, "Error codes").
#[derive(Deserialize)]
struct ErrorAnswer {
    #[serde(default)]
    errors: Vec<ServerError>,
    /// Field that token servers use instead.
    details: Option<String>,
}

#[derive(Deserialize)]
struct ServerError {
    code: Option<String>,
    message: Option<String>,
}

fn builder(settings: &Settings) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(settings.patience.connect)
        // The caller follows redirects, because it knows which credentials may be sent along.
        .redirect(redirect::Policy::none())
        // Sizes and digests of responses are verified, so nothing may change them in transit.
        .http1_only();
    if settings.proxies { builder } else { builder.no_proxy() }
}

/// Reads CA certificates from PEM files. A file without a certificate is an error, because the user
/// expects it to have one.
fn certificates(files: &[PathBuf]) -> Result<Vec<Certificate>, Cause> {
    let mut all = Vec::new();
    for path in files {
        let wrong = |why: String| Cause::Setting(format!("invalid CA file `{}`: {why}", path.display()));
        let mut text = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_AUTHORITIES_BYTES + 1).read_to_end(&mut text))
            .map_err(|error| wrong(error.to_string()))?;
        if text.len() as u64 > MAX_AUTHORITIES_BYTES {
            return Err(wrong(format!("it has more than {MAX_AUTHORITIES_BYTES} bytes")));
        }
        let before = all.len();
        for certificate in CertificateDer::pem_slice_iter(&text) {
            let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
            all.push(Certificate::from_der(&certificate).map_err(|error| wrong(error.to_string()))?);
        }
        if all.len() == before {
            return Err(wrong("it has no certificate in PEM form".into()));
        }
    }
    Ok(all)
}

/// Error of one attempt.
pub(super) struct Failure {
    pub(super) cause: Cause,
    /// Whether another attempt may succeed.
    pub(super) again: bool,
}

impl From<Cause> for Failure {
    fn from(cause: Cause) -> Self {
        Self { cause, again: false }
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        Self { again: is_interruption(&error), cause: cause(&error) }
    }
}

/// Waits for the response to a request. Its body has `bytes` bytes, and `sent` counts those that
/// were taken from it.
///
/// The client's own `read_timeout` starts with the request, and would end an upload that takes
/// longer although it makes progress.
pub(super) async fn exchange(
    response: impl Future<Output = reqwest::Result<Response>>,
    sent: watch::Receiver<u64>,
    bytes: u64,
    limits: &Timeouts,
) -> Result<Response, Failure> {
    tokio::select! {
        biased;
        response = response => Ok(response?),
        limit = stalled(sent, bytes, limits) => Err(silent(limit)),
    }
}

/// Returns once nothing was sent for too long, or the response to a completely sent request takes
/// too long. The server may have to read all of the body again before it responds.
async fn stalled(mut sent: watch::Receiver<u64>, bytes: u64, limits: &Timeouts) -> Duration {
    let answer = match bytes {
        0 => limits.read,
        _ => limits.answer.saturating_add(Duration::from_secs(bytes / SLOWEST_BYTES_PER_SECOND)),
    };
    loop {
        let limit = if *sent.borrow_and_update() < bytes { limits.read } else { answer };
        let progress = async {
            // The body was sent, or is not needed any more.
            if sent.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        if tokio::time::timeout(limit, progress).await.is_err() {
            return limit;
        }
    }
}

fn silent(limit: Duration) -> Failure {
    let text = format!("the server did not respond in time: no data for {} s", limit.as_secs());
    Failure { cause: Cause::Connection(text), again: true }
}

/// Repeats `attempt` until it succeeds, fails for good, or reaches the limit of attempts. `busy`
/// tells whether a successful attempt should also be repeated, and the delay that the server asks
/// for. `log` describes the repetition.
pub(super) async fn retry<T, F: Future<Output = Result<T, Failure>>>(
    limits: &Timeouts,
    log: &str,
    busy: impl Fn(&T) -> Option<Option<Duration>>,
    attempt: impl Fn() -> F,
) -> Result<T, Cause> {
    let mut count = 1;
    loop {
        let result = attempt().await;
        let again = match &result {
            Ok(done) => busy(done),
            Err(failure) => failure.again.then_some(None),
        };
        let Some(asked) = again.filter(|_| count < limits.attempts) else {
            return result.map_err(|failure| failure.cause);
        };
        let cause = result.err().map_or_else(|| "the server is busy".to_owned(), |failure| failure.cause.to_string());
        tracing::debug!(attempt = count, %cause, "{log}");
        tokio::time::sleep(limits.pause(count, asked)).await;
        count += 1;
    }
}

/// Sends a request repeatedly while the server is busy or the connection fails. The response may
/// have an error status.
pub(super) async fn send<F: Future<Output = Result<Response, Failure>>>(
    limits: &Timeouts,
    url: &Url,
    attempt: impl Fn() -> F,
) -> Result<Response, Cause> {
    let busy = |response: &Response| is_busy(response.status()).then(|| asked_pause(response.headers()));
    retry(limits, &format!("asked {} again", without_query(url)), busy, attempt).await
}

pub(super) fn is_busy(status: StatusCode) -> bool {
    // 501 and 505 are permanent.
    matches!(status.as_u16(), 429 | 408 | 500 | 502 | 503 | 504)
}

/// Returns the delay in seconds that the server asks for. The date form is rare, and then the
/// default delay is used.
fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// Returns whether a new connection may avoid the error.
fn is_interruption(error: &reqwest::Error) -> bool {
    if tls(error).is_some() {
        return false;
    }
    let kind = find(error, |inner| inner.downcast_ref::<io::Error>().map(io::Error::kind));
    let reset = matches!(
        kind,
        Some(
            ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof
                | ErrorKind::TimedOut
        )
    );
    reset || error.is_timeout() || (error.is_request() || error.is_body()) && !error.is_connect() && kind.is_none()
}

pub(super) fn cause(error: &reqwest::Error) -> Cause {
    if let Some(why) = tls(error) {
        return Cause::Tls(format!("the TLS connection is not trusted: {why}"));
    }
    // Skip the outermost message: it contains the URL, which is already in the context, and its
    // query may contain secrets.
    let mut text: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(inner) = next {
        let message = inner.to_string();
        if !text.iter().any(|before| before.contains(&message)) {
            text.push(message);
        }
        next = inner.source();
    }
    if text.is_empty() {
        text.push(plumbline_core::chain(error));
    }
    let plain = if error.is_timeout() { "the server did not respond in time: " } else { "" };
    Cause::Connection(format!("{plain}{}", text.join(": ")))
}

fn tls(error: &reqwest::Error) -> Option<String> {
    find(error, |inner| inner.downcast_ref::<rustls::Error>().map(ToString::to_string))
}

/// Returns the first match in the chain of an error and its sources. `io::Error` does not expose
/// the error that it wraps as its source, so it is unwrapped.
fn find<T>(error: &(dyn Error + 'static), matches: impl Fn(&(dyn Error + 'static)) -> Option<T>) -> Option<T> {
    let mut next = Some(error);
    while let Some(inner) = next {
        if let Some(found) = matches(inner) {
            return Some(found);
        }
        next = match inner.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => inner.source(),
        };
    }
    None
}

/// Returns a URL for messages without its query, which may contain a signature or a password.
pub(super) fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_upload_may_take_long_as_long_as_it_makes_progress() {
        let limits = Timeouts::default();
        let (progress, sent) = watch::channel(0);
        let uploading = async {
            for at in 1..=100 {
                tokio::time::sleep(limits.read / 2).await;
                progress.send_replace(at);
            }
            // The server stores it, and then responds.
            tokio::time::sleep(limits.answer / 2).await;
        };
        tokio::select! {
            () = uploading => {}
            limit = stalled(sent, 100, &limits) => panic!("no progress for {limit:?}"),
        }
        for (before, limit) in [(99, limits.read), (100, limits.answer)] {
            let (_progress, sent) = watch::channel(before);
            assert_eq!(stalled(sent, 100, &limits).await, limit);
        }
    }

    #[test]
    fn only_seconds_are_waited_for() {
        let asked = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            asked_pause(&headers)
        };
        assert_eq!(asked("7"), Some(Duration::from_secs(7)));
        assert_eq!(asked("Wed, 21 Oct 2026 07:28:00 GMT"), None);
        assert_eq!(asked("-1"), None);
        assert_eq!(asked_pause(&HeaderMap::new()), None);
    }
}
