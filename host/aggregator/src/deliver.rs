//! Uploads a finished archive to S3-compatible storage (`s3://BUCKET/PREFIX`), or to an HTTP server
//! with `PUT`.
//!
//! ```no_run
//! use plumbline_aggregator::deliver::{Archive, Destination};
//!
//! # async fn send() -> Result<(), plumbline_aggregator::deliver::DeliverError> {
//! let destination = Destination::parse("s3://audits/nightly/", &std::env::vars().collect())?;
//! let archive = Archive { path: "/tmp/run.tar.gz".into(), name: "run.tar.gz".into(), bytes: 4711, sha256: "…".into() };
//! let address = destination.deliver(&archive).await?;
//! # drop(address); Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use http::Uri;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use plumbline_core::chain;
use reqwest::Client;
use reqwest::header::HeaderValue;

mod put;

pub use put::Archive;
use put::AttemptError;

/// Maximum number of attempts with `PUT`.
const HTTP_ATTEMPTS: u32 = 6;
/// Maximum number of attempts for a whole archive with S3. Single requests are retried before that.
const S3_ATTEMPTS: u32 = 3;

/// Error while uploading an archive. The local archive is not affected.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The URL is not a valid destination.
    #[error("invalid destination for an archive `{url}`: {why}")]
    Address {
        /// The URL, without credentials.
        url: String,
        /// What is wrong with the URL.
        why: String,
    },
    /// The archive is not readable.
    #[error("failed to read `{path}`: {source}")]
    Read {
        /// Path of the archive.
        path: String,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The upload failed after all attempts.
    #[error("failed to send the archive to `{address}` ({attempts} attempt{}): {cause}", if *attempts == 1 { "" } else { "s" })]
    Refused {
        /// URL of the destination.
        address: String,
        /// Number of attempts so far.
        attempts: u32,
        /// Last error of the server or connection.
        cause: String,
    },
}

/// A destination of archives.
#[derive(Debug)]
pub struct Destination(Target);

#[derive(Debug)]
enum Target {
    /// A bucket of S3-compatible storage, and a prefix without slashes around it.
    S3 { bucket: String, prefix: String, store: Arc<dyn ObjectStore> },
    /// The URL of a file on an HTTP server, or of its directory if it ends with `/`.
    Http { url: String, authorization: Option<HeaderValue>, client: Client },
}

impl Destination {
    /// Parses a URL: `s3://BUCKET/PREFIX`, `https://HOST/PATH`, or `http://HOST/PATH`. The
    /// archive's name is appended to a prefix, and to a path that ends with `/`. Any other path is
    /// used as it is.
    ///
    /// `settings` are the environment variables of other tools for the same storage:
    ///
    /// * For S3: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`,
    ///   `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`, ...
    /// * For HTTP: `HTTP_AUTHORIZATION` (the value of the header `Authorization`). It is sent over
    ///   plain HTTP only with `HTTP_ALLOW_HTTP=true`.
    pub fn parse(url: &str, settings: &BTreeMap<String, String>) -> Result<Self, DeliverError> {
        parse(url, settings).map(Self).map_err(|why| DeliverError::Address { url: without_credentials(url), why })
    }

    /// Uploads the archive and returns its URL. Transient failures are retried for some minutes.
    pub async fn deliver(&self, archive: &Archive) -> Result<String, DeliverError> {
        let (address, max_attempts) = match &self.0 {
            Target::S3 { bucket, prefix, .. } => (format!("s3://{bucket}/{}", key(prefix, archive)), S3_ATTEMPTS),
            Target::Http { url, .. } if url.ends_with('/') => (format!("{url}{}", archive.name), HTTP_ATTEMPTS),
            Target::Http { url, .. } => (url.clone(), HTTP_ATTEMPTS),
        };
        let mut pauses = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_secs(1))
            .with_max_delay(Duration::from_secs(60))
            .without_max_times()
            .build();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let sent = match &self.0 {
                Target::S3 { prefix, store, .. } => put::put_object(store, &key(prefix, archive), archive).await,
                Target::Http { authorization, client, .. } => {
                    put::send(client, &address, authorization.as_ref(), archive).await
                }
            };
            let (cause, transient) = match sent {
                Ok(()) => return Ok(address),
                Err(AttemptError::Read(source)) => {
                    return Err(DeliverError::Read { path: archive.path.display().to_string(), source });
                }
                Err(AttemptError::Refused { cause, transient }) => (cause, transient),
            };
            let error = DeliverError::Refused { address: address.clone(), attempts, cause };
            match pauses.next().filter(|_| transient && attempts < max_attempts) {
                Some(pause) => {
                    tracing::warn!("{error}; trying again in {} s", pause.as_secs());
                    tokio::time::sleep(pause).await;
                }
                None => return Err(error),
            }
        }
    }
}

fn parse(url: &str, settings: &BTreeMap<String, String>) -> Result<Target, String> {
    let uri: Uri = url.parse().map_err(|error| format!("it is not a URL ({error})"))?;
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("it has credentials: put them into the Secret".to_owned());
    }
    let host = uri.host().filter(|host| !host.is_empty()).ok_or("it has no host")?;
    // An error means that the process already has a crypto provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match uri.scheme_str() {
        Some("s3") => {
            let store = s3(host, settings).map_err(|error| chain(&error))?;
            Ok(Target::S3 { bucket: host.to_owned(), prefix: uri.path().trim_matches('/').to_owned(), store })
        }
        Some(scheme @ ("http" | "https")) => {
            let is_plain = scheme == "http";
            let allowed = settings.get("HTTP_ALLOW_HTTP").is_some_and(|value| value == "true");
            let authorization = settings.get("HTTP_AUTHORIZATION");
            if is_plain && authorization.is_some() && !allowed {
                return Err(
                    "`HTTP_AUTHORIZATION` would be sent over plain HTTP: use `https://`, or add `HTTP_ALLOW_HTTP=true` to the Secret"
                        .to_owned(),
                );
            }
            let mut authorization = authorization
                .map(HeaderValue::try_from)
                .transpose()
                .map_err(|_| "`HTTP_AUTHORIZATION` is not a header value")?;
            if let Some(value) = &mut authorization {
                value.set_sensitive(true);
            }
            let client = put::client(is_plain).map_err(|error| chain(&error))?;
            Ok(Target::Http { url: url.to_owned(), authorization, client })
        }
        _ => Err("write it as `s3://BUCKET/PREFIX` or `https://HOST/PATH/`".to_owned()),
    }
}

/// Parses a URL `s3://BUCKET/PREFIX` to the bucket, the prefix and the client of the storage.
pub(crate) fn bucket_and_prefix(
    url: &str,
    settings: &BTreeMap<String, String>,
) -> Result<(String, String, Arc<dyn ObjectStore>), DeliverError> {
    let invalid = |why: String| DeliverError::Address { url: without_credentials(url), why };
    match parse(url, settings).map_err(invalid)? {
        Target::S3 { bucket, prefix, store } => Ok((bucket, prefix, store)),
        Target::Http { .. } => Err(invalid("write it as `s3://BUCKET/PREFIX`".to_owned())),
    }
}

/// Removes the credentials from a rejected URL for a message.
fn without_credentials(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, rest)), Some((_, tail))) if rest.contains('@') => format!("{scheme}://{tail}"),
        _ => url.to_owned(),
    }
}

fn s3(bucket: &str, settings: &BTreeMap<String, String>) -> object_store::Result<Arc<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::new().with_bucket_name(bucket).with_checksum_algorithm(Checksum::SHA256);
    for (key, value) in settings {
        // Other settings in a Secret or environment are for other programs.
        if key.starts_with("AWS_")
            && let Ok(key) = key.to_ascii_lowercase().parse::<AmazonS3ConfigKey>()
        {
            builder = builder.with_config(key, value);
        }
    }
    let retry =
        RetryConfig { backoff: BackoffConfig::default(), max_retries: 8, retry_timeout: Duration::from_secs(180) };
    Ok(Arc::new(builder.with_retry(retry).build()?))
}

/// Returns the key of the object in the bucket.
fn key(prefix: &str, archive: &Archive) -> String {
    if prefix.is_empty() { archive.name.clone() } else { format!("{prefix}/{}", archive.name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_url_is_rejected_with_the_reason() {
        let none = BTreeMap::new();
        for (url, why) in [
            ("ftp://host/x", "s3://BUCKET"),
            ("bucket/prefix", "no"),
            ("https://user:secret@host/x", "Secret"),
            ("s3://", "no"),
            ("", "no"),
        ] {
            let error = Destination::parse(url, &none).unwrap_err().to_string();
            assert!(error.contains(why), "{url}: {error}");
            assert!(!error.contains("secret@"), "{error}");
        }
        for url in ["s3://bucket", "s3://bucket/a/b/", "https://host/path/", "http://127.0.0.1:9000/x.tar.gz"] {
            Destination::parse(url, &none).unwrap();
        }
    }
}
