//! Destinations of archives.

use std::collections::BTreeMap;

use http::Uri;

use crate::deliver::archive::Archive;
use crate::deliver::error::DeliverError;
use crate::deliver::put::HttpPut;
use crate::deliver::s3::Bucket;

/// A destination of archives.
#[derive(Debug)]
pub struct Destination(Kind);

#[derive(Debug)]
enum Kind {
    S3(Bucket),
    Put(HttpPut),
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
    ///
    /// # Errors
    /// [`DeliverError::Address`].
    pub fn parse(url: &str, settings: &BTreeMap<String, String>) -> Result<Self, DeliverError> {
        let wrong = |why: String| DeliverError::Address { url: without_credentials(url), why };
        let uri: Uri = url.parse().map_err(|error| wrong(format!("it is not a URL ({error})")))?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(wrong("credentials do not belong into an address: put them into the Secret".to_owned()));
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| wrong("it names no host".to_owned()))?;
        match uri.scheme_str() {
            Some("s3") => {
                let prefix = uri.path().trim_matches('/');
                Bucket::new(host, prefix, settings).map(|bucket| Self(Kind::S3(bucket))).map_err(wrong)
            }
            Some(scheme @ ("http" | "https")) => {
                let authorization = settings.get("HTTP_AUTHORIZATION").map(String::as_str);
                let allowed = settings.get("HTTP_ALLOW_HTTP").is_some_and(|value| value == "true");
                if scheme == "http" && authorization.is_some() && !allowed {
                    return Err(wrong(
                        "`HTTP_AUTHORIZATION` would be sent over plain HTTP: use `https://`, or add `HTTP_ALLOW_HTTP=true` to the Secret"
                            .to_owned(),
                    ));
                }
                HttpPut::new(url, authorization).map(|put| Self(Kind::Put(put))).map_err(wrong)
            }
            _ => Err(wrong("write it as `s3://BUCKET/PREFIX` or `https://HOST/PATH/`".to_owned())),
        }
    }

    /// Uploads the archive and returns its URL. Transient failures are retried for some minutes.
    ///
    /// # Errors
    /// [`DeliverError::Read`] and [`DeliverError::Refused`].
    pub async fn deliver(&self, archive: &Archive) -> Result<String, DeliverError> {
        match &self.0 {
            Kind::S3(bucket) => bucket.deliver(archive).await,
            Kind::Put(put) => put.deliver(archive).await,
        }
    }
}

/// Removes the credentials from a rejected URL for a message.
fn without_credentials(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => {
            let (head, tail) = (url.get(..scheme + 3).unwrap_or_default(), url.get(at + 1..).unwrap_or_default());
            format!("{head}{tail}")
        }
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
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
