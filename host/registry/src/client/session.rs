//! HTTP requests with authentication, redirects and retries.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap, LOCATION};
use reqwest::{Body, Method, RequestBuilder, Response, StatusCode, Url, redirect};
use tokio::sync::OnceCell;
use tokio_util::io::ReaderStream;

use super::auth::Auth;
use super::{retry, roots};
use crate::error::{Cause, RegistryError};
use crate::limits::MAX_REDIRECTS;
use crate::mirror::{self, Mirror};
use crate::reference::Reference;
use crate::settings::{Settings, split_port};
use crate::token_server::{self, TokenServer};

/// Value of the `User-Agent` header.
const USER_AGENT: &str = concat!("plumbline/", env!("CARGO_PKG_VERSION"));
/// Actual host of Docker Hub, which references call `docker.io`.
const DOCKER_HUB: &str = "registry-1.docker.io";

/// Client for registries. It is cheap to clone, and clones share connections and tokens.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: Settings,
    mirrors: Vec<Mirror>,
    token_servers: Vec<TokenServer>,
    auth: Auth,
    /// Client for plain HTTP. It does not load CA certificates, which a small image may not have.
    plain: reqwest::Client,
    secure: OnceCell<reqwest::Client>,
}

/// Registry, repository and right that a token is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    pub(super) registry: String,
    pub(super) repository: String,
    pub(super) push: bool,
}

impl Scope {
    pub(super) fn pull(reference: &Reference) -> Self {
        Self { registry: reference.registry().into(), repository: reference.repository().into(), push: false }
    }

    pub(super) fn push(reference: &Reference) -> Self {
        Self { push: true, ..Self::pull(reference) }
    }
}

/// Body of a request.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Nothing,
    Bytes(Bytes),
    /// A file, opened again for every attempt.
    File(PathBuf, u64),
}

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) content: Content,
    pub(super) scope: Scope,
    /// Whether the same request can be sent again.
    pub(super) repeatable: bool,
}

impl Call {
    pub(super) fn new(method: Method, url: Url, scope: Scope) -> Self {
        Self { method, url, headers: HeaderMap::new(), content: Content::Nothing, scope, repeatable: true }
    }

    pub(super) fn header(mut self, name: reqwest::header::HeaderName, value: &str) -> Result<Self, Cause> {
        let value = value.parse().map_err(|_| Cause::Malformed(format!("failed to send `{name}`")))?;
        self.headers.append(name, value);
        Ok(self)
    }
}

impl Client {
    /// Creates a client with these settings. It does not send anything yet.
    ///
    /// # Errors
    ///
    /// A setting is invalid, such as an insecure registry that is not a host.
    pub fn new(settings: Settings) -> Result<Self, RegistryError> {
        let what = "set up the client of registries";
        settings.check().map_err(|cause| cause.of(what))?;
        let mirrors = settings.mirrors.iter().map(|text| Mirror::parse(text)).collect::<Result<_, _>>();
        let mirrors = mirrors.map_err(|cause| cause.of(what))?;
        let token_servers =
            settings.token_servers.iter().map(|text| TokenServer::parse(text)).collect::<Result<_, _>>();
        let token_servers = token_servers.map_err(|cause| cause.of(what))?;
        // A process has only one crypto provider. An error means that it is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let plain = builder(&settings).tls_certs_only([]).build().map_err(|error| retry::cause(&error).of(what))?;
        let (auth, secure) = (Auth::default(), OnceCell::new());
        Ok(Self { inner: Arc::new(Inner { settings, mirrors, token_servers, auth, plain, secure }) })
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// Returns the location from which `reference` is read: at a mirror, if one is configured for
    /// it.
    #[must_use]
    pub fn mirrored(&self, reference: &Reference) -> Reference {
        mirror::mirrored(&self.inner.mirrors, reference)
    }

    /// Returns a reference for messages, with the mirror that it is read from.
    pub(super) fn told(&self, reference: &Reference) -> String {
        let at = self.mirrored(reference);
        if at == *reference { format!("`{reference}`") } else { format!("`{reference}` from the mirror `{at}`") }
    }

    /// Returns the URL of `rest` in a repository.
    pub(super) fn address(&self, reference: &Reference, rest: &str) -> Result<Url, Cause> {
        let registry = reference.registry();
        let (host, port) = split_port(registry);
        // A setting is `HOST:PORT`, or `HOST` with the default port of HTTP.
        let scheme = if self.settings().is_insecure(host, port.unwrap_or(80)) { "http" } else { "https" };
        let registry = if matches!(registry, "docker.io" | "index.docker.io") { DOCKER_HUB } else { registry };
        let text = format!("{scheme}://{registry}/v2/{}/{rest}", reference.repository());
        text.parse().map_err(|_| Cause::Malformed(format!("`{text}` is not an address")))
    }

    /// Returns the HTTP client for a URL.
    pub(super) async fn http(&self, url: &Url) -> Result<&reqwest::Client, Cause> {
        if url.scheme() == "http" {
            return Ok(&self.inner.plain);
        }
        let secure = self.inner.secure.get_or_try_init(|| async {
            let authorities = roots::read(&self.settings().authorities)?;
            let client = builder(self.settings()).tls_certs_merge(authorities).build();
            client.map_err(|error| Cause::Tls(plumbline_core::chain(&error)))
        });
        secure.await
    }

    /// Rejects plain HTTP except to hosts that the user has listed.
    pub(super) fn must_be_safe(&self, url: &Url) -> Result<(), Cause> {
        let port = url.port_or_known_default().unwrap_or_default();
        let why = match url.scheme() {
            "https" => return Ok(()),
            "http" if url.host_str().is_some_and(|host| self.settings().is_insecure(host, port)) => return Ok(()),
            "http" => "which has no encryption",
            _ => "which is not a web address",
        };
        Err(Cause::Redirect { to: without_query(url), why })
    }

    /// Sends a request, and retries it if the registry is busy or the connection fails. The
    /// response may have an error status.
    pub(super) async fn send(&self, call: &Call) -> Result<Response, Cause> {
        let patience = self.settings().patience;
        let mut attempt = 1;
        loop {
            let last = !call.repeatable || attempt >= patience.attempts;
            let asked = match self.once(call).await {
                Ok(answer) if !last && retry::is_passing(answer.status()) => {
                    tracing::debug!(url = %without_query(&call.url), status = answer.status().as_u16(), attempt, "asked again");
                    retry::asked_pause(answer.headers())
                }
                Ok(answer) => return Ok(answer),
                Err(Failure::Broken(cause)) if !last => {
                    tracing::debug!(url = %without_query(&call.url), %cause, attempt, "asked again");
                    None
                }
                Err(Failure::Broken(cause) | Failure::Final(cause)) => return Err(cause),
            };
            tokio::time::sleep(patience.pause(attempt, asked)).await;
            attempt += 1;
        }
    }

    /// Sends a request without the registry's authorization header, with the same retries.
    pub(super) async fn again(&self, request: impl Fn() -> Option<RequestBuilder>) -> Result<Response, Cause> {
        let patience = self.settings().patience;
        let mut attempt = 1;
        loop {
            let last = attempt >= patience.attempts;
            let request =
                request().ok_or_else(|| Cause::Malformed("the request cannot be sent a second time".into()))?;
            let asked = match request.send().await {
                Ok(answer) if !last && retry::is_passing(answer.status()) => retry::asked_pause(answer.headers()),
                Ok(answer) => return Ok(answer),
                Err(error) if !last && retry::is_broken(&error) => None,
                Err(error) => return Err(retry::cause(&error)),
            };
            tokio::time::sleep(patience.pause(attempt, asked)).await;
            attempt += 1;
        }
    }

    /// Sends a request once: authenticates if the registry requires it, and follows redirects.
    async fn once(&self, call: &Call) -> Result<Response, Failure> {
        let mut url = call.url.clone();
        let mut redirects = 0;
        let mut renewed = false;
        loop {
            self.must_be_safe(&url)?;
            // Credentials are sent only to the registry itself, never to another host.
            let at_home = self.is_home(&url, &call.scope)?;
            let mut request =
                self.http(&url).await?.request(call.method.clone(), url.clone()).headers(call.headers.clone());
            if at_home && let Some(value) = self.inner.auth.shown(&call.scope).await {
                request = request.header(AUTHORIZATION, value);
            }
            request = match &call.content {
                Content::Nothing => request,
                Content::Bytes(bytes) => request.body(bytes.clone()),
                Content::File(path, bytes) => {
                    let file = tokio::fs::File::open(path).await.map_err(Cause::file(path))?;
                    // Set the length, because some registries reject a body of unknown length.
                    request.header(CONTENT_LENGTH, *bytes).body(Body::wrap_stream(ReaderStream::new(file)))
                }
            };
            let answer = request.send().await.map_err(|error| {
                let cause = retry::cause(&error);
                if retry::is_broken(&error) { Failure::Broken(cause) } else { Failure::Final(cause) }
            })?;
            match answer.status() {
                StatusCode::UNAUTHORIZED if at_home && !renewed => {
                    self.inner.auth.renew(self, &answer, &call.scope).await?;
                    renewed = true;
                }
                StatusCode::UNAUTHORIZED if at_home => {
                    return Err(self.inner.auth.refused(self, answer, &call.scope).await.into());
                }
                status if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
                    redirects += 1;
                    url = self.next(&url, &answer, call, redirects)?;
                }
                _ => return Ok(answer),
            }
        }
    }

    /// Returns whether a URL has the scheme, host and port of the registry.
    fn is_home(&self, url: &Url, scope: &Scope) -> Result<bool, Cause> {
        let home: Reference = format!("oci://{}/{}", scope.registry, scope.repository).parse()?;
        Ok(self.address(&home, "")?.origin() == url.origin())
    }

    /// Rejects a token server unless it is the registry itself, well known, or configured by the
    /// user. The registry chooses the token server, so a hostile one could have credentials sent to
    /// any host.
    pub(super) fn must_be_token_server(&self, url: &Url, scope: &Scope) -> Result<(), Cause> {
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let registry = scope.registry.to_ascii_lowercase();
        if self.is_home(url, scope)? || token_server::is_allowed(&self.inner.token_servers, &registry, &host) {
            return Ok(());
        }
        Err(Cause::TokenServer { registry, host })
    }

    fn next(&self, url: &Url, answer: &Response, call: &Call, redirects: usize) -> Result<Url, Cause> {
        let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let next = location.and_then(|location| url.join(location).ok());
        let Some(next) = next else {
            return Err(Cause::Malformed(format!(
                "the server redirects ({}) without a valid `Location` header",
                answer.status().as_u16()
            )));
        };
        let refused = |why| Err(Cause::Redirect { to: without_query(&next), why });
        if redirects > MAX_REDIRECTS {
            return refused("after having sent elsewhere too often");
        }
        if call.method != Method::GET && call.method != Method::HEAD {
            return refused("and what is written is not sent to where a server sends");
        }
        Ok(next)
    }
}

/// Error of one attempt.
enum Failure {
    /// The connection failed, and another attempt may succeed.
    Broken(Cause),
    Final(Cause),
}

impl From<Cause> for Failure {
    fn from(cause: Cause) -> Self {
        Self::Final(cause)
    }
}

fn builder(settings: &Settings) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(settings.patience.connect)
        .read_timeout(settings.patience.read)
        // Redirects are followed in `once`, which knows which credentials may be sent along.
        .redirect(redirect::Policy::none())
        // Sizes and digests of responses are verified, so nothing may change them in transit.
        .http1_only();
    if settings.proxies { builder } else { builder.no_proxy() }
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
