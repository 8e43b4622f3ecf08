//! Client for registries (OCI distribution specification): requests with authentication and
//! redirects.

mod auth;
mod blobs;
mod http;
mod manifests;
mod referrers;
mod tags;

pub(crate) use referrers::fallback_tag;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderName, LOCATION};
use reqwest::{Body, Method, Response, StatusCode, Url};
use tokio::sync::watch;
use tokio_util::io::ReaderStream;

use self::auth::{Auth, Scope};
use self::http::{Failure, Http, without_query};
use crate::error::{Cause, RegistryError};
use crate::limits::MAX_REDIRECTS;
use crate::reference::Reference;
use crate::settings::{Mirrors, Settings, TokenServers};

/// Client for registries. It is cheap to clone, and clones share connections and tokens.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    http: Http,
    auth: Auth,
    mirrors: Mirrors,
}

#[derive(Debug, Clone)]
struct Call {
    method: Method,
    url: Url,
    headers: HeaderMap,
    content: Content,
    scope: Scope,
}

#[derive(Debug, Clone)]
enum Content {
    Nothing,
    Bytes(Bytes),
    /// A file, opened again for every attempt, and its size.
    File(PathBuf, u64),
}

impl Content {
    fn bytes(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(_, bytes) => *bytes,
        }
    }
}

impl Call {
    fn header(mut self, name: HeaderName, value: &str) -> Result<Self, Cause> {
        let value = value.parse().map_err(|_| Cause::Malformed(format!("failed to send `{name}`")))?;
        self.headers.append(name, value);
        Ok(self)
    }
}

impl Client {
    /// Creates a client with these settings. It does not send anything yet.
    pub fn new(settings: Settings) -> Result<Self, RegistryError> {
        let create = || {
            let mirrors = Mirrors::parse(&settings.mirrors)?;
            let auth = Auth::new(TokenServers::parse(&settings.token_servers)?);
            Ok(Inner { http: Http::new(settings)?, auth, mirrors })
        };
        let inner = create().map_err(|cause: Cause| cause.of("set up the client of registries"))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.inner.http.settings
    }

    /// Returns the location from which `reference` is read: at a mirror, if one is configured for
    /// it.
    pub fn mirrored(&self, reference: &Reference) -> Reference {
        self.inner.mirrors.locate(reference)
    }

    fn http(&self) -> &Http {
        &self.inner.http
    }

    /// Returns a request for `path` in a repository. All methods but GET request the right to push.
    fn call(&self, method: Method, repository: &Reference, path: &str) -> Result<Call, Cause> {
        let url = self.http().url(repository.registry(), &format!("{}/{path}", repository.repository()))?;
        let scope = Scope::new(repository, method != Method::GET);
        Ok(Call { method, url, headers: HeaderMap::new(), content: Content::Nothing, scope })
    }

    /// Sends a request, and retries it if the registry is busy or the connection fails. The
    /// response may have an error status.
    async fn send(&self, call: &Call) -> Result<Response, Cause> {
        http::send(&self.settings().patience, &call.url, || self.send_once(call)).await
    }

    /// Sends a request like [`Client::send`]. Any other status than `wanted` is an error.
    async fn expect(&self, call: &Call, wanted: StatusCode) -> Result<Response, Cause> {
        let response = self.send(call).await?;
        if response.status() == wanted { Ok(response) } else { Err(self.http().failure(response).await) }
    }

    /// Sends a request once: authenticates if the registry requires it, and follows redirects.
    async fn send_once(&self, call: &Call) -> Result<Response, Failure> {
        let Inner { http, auth, .. } = self.inner.as_ref();
        let mut url = call.url.clone();
        let mut redirects = 0;
        let mut renewed = false;
        loop {
            let client = http.client(&url).await?;
            // Credentials are sent only to the registry itself, never to another host.
            let of_registry = http.is_of_registry(&url, &call.scope.registry)?;
            let mut request = client.request(call.method.clone(), url.clone()).headers(call.headers.clone());
            if of_registry && let Some(value) = auth.header(&call.scope).await {
                request = request.header(AUTHORIZATION, value);
            }
            let bytes = call.content.bytes();
            let (progress, sent) = watch::channel(0_u64);
            request = match &call.content {
                Content::Nothing => request,
                Content::Bytes(content) => {
                    // The connection takes it as a whole.
                    progress.send_replace(bytes);
                    request.body(content.clone())
                }
                Content::File(path, _) => {
                    let file = tokio::fs::File::open(path).await.map_err(Cause::file(path))?;
                    let count = move |piece: &Bytes| progress.send_modify(|sent| *sent += piece.len() as u64);
                    let content = Body::wrap_stream(ReaderStream::new(file).inspect_ok(count));
                    // Set the length, because some registries reject a body of unknown length.
                    request.header(CONTENT_LENGTH, bytes).body(content)
                }
            };
            let response = http::exchange(request.send(), sent, bytes, &http.settings.patience).await?;
            match response.status() {
                StatusCode::UNAUTHORIZED if of_registry && !renewed => {
                    auth.renew(http, &response, &call.scope).await?;
                    renewed = true;
                }
                StatusCode::UNAUTHORIZED if of_registry => {
                    return Err(auth.rejected(http, response, &call.scope).await.into());
                }
                status if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
                    redirects += 1;
                    url = redirected(&url, &response, &call.method, redirects)?;
                }
                _ => return Ok(response),
            }
        }
    }
}

fn redirected(url: &Url, response: &Response, method: &Method, count: usize) -> Result<Url, Cause> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let Some(next) = location.and_then(|location| url.join(location).ok()) else {
        return Err(Cause::Malformed(format!(
            "the server redirects ({}) without a valid `Location` header",
            response.status().as_u16()
        )));
    };
    let why = if count > MAX_REDIRECTS {
        "after too many redirects"
    } else if *method != Method::GET && *method != Method::HEAD {
        "which is not allowed for uploads"
    } else {
        return Ok(next);
    };
    Err(Cause::Redirect { to: without_query(&next), why })
}
