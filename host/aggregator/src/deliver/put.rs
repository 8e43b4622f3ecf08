//! Upload to an HTTP server with `PUT`.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use reqwest::{Body, Client, StatusCode};
use tokio_util::io::ReaderStream;

use crate::deliver::again::again;
use crate::deliver::archive::Archive;
use crate::deliver::error::{DeliverError, chain};

/// Maximum number of attempts.
const ATTEMPTS: usize = 6;
/// Maximum length of a response in a message, in characters.
const SHOWN: usize = 300;
/// Timeout without data from the server. It may have to write gigabytes before it responds.
const SILENCE: Duration = Duration::from_secs(300);

/// Installs the crypto provider of the process, unless there is one.
pub(crate) fn install_crypto() {
    // An error means that one is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A URL for uploads with `PUT`.
#[derive(Debug)]
pub(crate) struct HttpPut {
    url: String,
    authorization: Option<HeaderValue>,
    client: Client,
}

impl HttpPut {
    pub(crate) fn new(url: &str, authorization: Option<&str>) -> Result<Self, String> {
        install_crypto();
        let authorization = authorization
            .map(|value| {
                HeaderValue::try_from(value).map_err(|_| "`HTTP_AUTHORIZATION` is not a header value".to_owned())
            })
            .transpose()?
            .map(|mut value| {
                value.set_sensitive(true);
                value
            });
        let builder = match url.split_once("://") {
            // Plain HTTP needs no CA certificates. Loading them would fail on a system that has
            // none.
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") => Client::builder().tls_certs_only([]),
            _ => Client::builder(),
        };
        let client = builder
            .connect_timeout(Duration::from_secs(30))
            .read_timeout(SILENCE)
            // A redirect would need the body a second time, and could lead to a host that must not
            // get the credentials.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| chain(&error))?;
        Ok(Self { url: url.to_owned(), authorization, client })
    }

    pub(crate) async fn deliver(&self, archive: &Archive) -> Result<String, DeliverError> {
        let address = if self.url.ends_with('/') { format!("{}{}", self.url, archive.name) } else { self.url.clone() };
        again(ATTEMPTS, || self.attempt(archive, &address)).await?;
        Ok(address)
    }

    async fn attempt(&self, archive: &Archive, address: &str) -> Result<(), DeliverError> {
        let unreadable = |source| DeliverError::Read { path: archive.path.display().to_string(), source };
        let refused = |cause: String, transient| DeliverError::Refused {
            address: address.to_owned(),
            attempts: ATTEMPTS,
            cause,
            transient,
        };
        let file = tokio::fs::File::open(&archive.path).await.map_err(unreadable)?;
        let mut request = self
            .client
            .put(address)
            .header(CONTENT_TYPE, "application/gzip")
            .header(CONTENT_LENGTH, archive.bytes)
            .header("x-checksum-sha256", &archive.sha256)
            .body(Body::wrap_stream(ReaderStream::with_capacity(file, 64 << 10)));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let answer = request.send().await.map_err(|error| refused(chain(&error), true))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let text = answer.text().await.unwrap_or_default();
        let text: String = text.trim().chars().take(SHOWN).collect();
        let transient = status.is_server_error()
            || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT);
        Err(refused(format!("the server answered {status} {text}"), transient))
    }
}
