//! Sends HTTP requests.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use plumbline_core::{Host, Rights, WebTarget, chain};
use plumbline_sandbox::{NetworkFailure, RequestLimits, Trust, WebRequest, WebResponse};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use reqwest::tls::TlsInfo;
use reqwest::{Certificate, Client, Method, Response, Url, redirect};

use super::resolve::{Resolver, admitted, as_written, denied, not_granted};

/// Header fields that belong to the connection and its target. The host sets them.
const OF_THE_CONNECTION: [HeaderName; 9] =
    [CONNECTION, CONTENT_LENGTH, EXPECT, HOST, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// Sends a request to a granted host and reads the response. Redirects are not followed.
pub(super) async fn send(
    rights: &Rights,
    resolver: &Resolver,
    request: WebRequest,
    limits: RequestLimits,
) -> Result<WebResponse, NetworkFailure> {
    let target: WebTarget = request.url.parse().map_err(denied)?;
    let allows = |host: &Host| rights.allows_http(&target, host);
    if !allows(&target.host) {
        return Err(not_granted("http", &target.url.origin().ascii_serialization()));
    }
    let url = &target.url;
    let (method, headers) = (method(&request.method)?, headers(&request.headers)?);
    let resolver = as_written(resolver, url.host_str().unwrap_or_default());
    let exchange = async {
        let addresses = admitted(&resolver, &target.host, target.port, allows).await?;
        let client = client(target.https, &request.trust, addresses)?;
        let sent = client.request(method, url.clone()).headers(headers).body(request.body).send().await;
        read(sent.map_err(|error| failure(url, &error))?, url, limits.body).await
    };
    let late = || NetworkFailure::Timeout(format!("`{url}` did not answer in {} ms", limits.timeout.as_millis()));
    tokio::time::timeout(limits.timeout, exchange).await.unwrap_or_else(|_| Err(late()))
}

fn method(text: &str) -> Result<Method, NetworkFailure> {
    match Method::from_bytes(text.as_bytes()) {
        Ok(method) if method != Method::CONNECT => Ok(method),
        _ => Err(NetworkFailure::Denied(format!("invalid method `{}`", text.escape_debug()))),
    }
}

fn headers(fields: &[(String, String)]) -> Result<HeaderMap, NetworkFailure> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let wrong =
            |why: &str| NetworkFailure::Denied(format!("invalid header field `{}`: {why}", name.escape_debug()));
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("not a name"))?;
        if OF_THE_CONNECTION.contains(&parsed) {
            return Err(wrong("the host sets it"));
        }
        headers.append(parsed, HeaderValue::from_str(value).map_err(|_| wrong("not a value"))?);
    }
    Ok(headers)
}

/// Creates a client that connects to these addresses only, and directly.
fn client(https: bool, trust: &Trust, addresses: Vec<SocketAddr>) -> Result<Client, NetworkFailure> {
    // Fails if this process has installed a provider of cryptography already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("plumbline/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .no_proxy()
        .http1_only()
        .tls_info(true)
        .dns_resolver(Arc::new(Pinned(addresses)));
    let builder = match trust {
        // Plain HTTP needs no CA certificates, and loading them fails on systems that have none.
        _ if !https => builder.tls_certs_only([]),
        Trust::System => builder,
        Trust::Any => builder.tls_certs_only([]).tls_danger_accept_invalid_certs(true),
        Trust::Certificates(pem) => {
            let certificates = Certificate::from_pem_bundle(pem.as_bytes())
                .map_err(|error| NetworkFailure::Denied(format!("invalid certificates: {}", chain(&error))))?;
            if certificates.is_empty() {
                return Err(NetworkFailure::Denied("`certificates` contains no certificate".to_owned()));
            }
            builder.tls_certs_only(certificates)
        }
    };
    builder.build().map_err(|error| NetworkFailure::Other(format!("failed to set up TLS: {}", chain(&error))))
}

/// Resolves every name to addresses that were checked before.
struct Pinned(Vec<SocketAddr>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

async fn read(mut response: Response, url: &Url, limit: u64) -> Result<WebResponse, NetworkFailure> {
    let certificate = response.extensions().get::<TlsInfo>().and_then(TlsInfo::peer_certificate).map(<[u8]>::to_vec);
    let headers = response.headers().iter();
    let headers = headers.map(|(name, value)| (name.to_string(), readable(value))).collect();
    let (status, address) = (response.status().as_u16(), response.remote_addr());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failure(url, &error))? {
        if (body.len() + chunk.len()) as u64 > limit {
            return Err(NetworkFailure::Other(format!("the body of `{url}` has more than {limit} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    let address = address.map(|address| address.to_string()).unwrap_or_default();
    Ok(WebResponse { status, headers, body, certificate, address })
}

fn readable(value: &HeaderValue) -> String {
    let ascii = |b: &u8| if b.is_ascii() { char::from(*b) } else { char::REPLACEMENT_CHARACTER };
    value.as_bytes().iter().map(ascii).collect()
}

/// Names the cause of a failed request by the errors behind it.
fn failure(url: &Url, error: &reqwest::Error) -> NetworkFailure {
    let reason = format!("request to `{url}` failed: {}", chain(error));
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<rustls::Error>() {
            return NetworkFailure::Tls(reason);
        }
        let Some(error) = error.downcast_ref::<io::Error>() else {
            cause = error.source();
            continue;
        };
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => {
                return NetworkFailure::Refused(reason);
            }
            io::ErrorKind::TimedOut => return NetworkFailure::Timeout(reason),
            // `source` would skip the error inside.
            _ => cause = error.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        }
    }
    NetworkFailure::Other(reason)
}
