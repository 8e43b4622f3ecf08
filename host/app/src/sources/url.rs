//! Definitions, packed bundles and lists behind URLs.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::time::Duration;

use plumbline_bundle::limits::MAX_SIGNATURE_BYTES;
use plumbline_core::chain;
use plumbline_core::definition::MAX_YAML_BYTES;
use reqwest::{Client, Response, StatusCode, Url, redirect};
use tempfile::NamedTempFile;
use tokio::time::timeout;

use crate::context::Context;
use crate::error::AppError;
use crate::report::text::size;
use crate::runtime::one_thread;
use crate::sources::named::{MAGIC_BYTES, SIGNATURES, is_tar, unpacked};
use crate::sources::registry::LARGEST_TAR;
use crate::sources::resolved::{ResolvedPlugin, SourceKind, parse};

/// How long a server may take to send a definition. Sonobuoy has the same limit.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server may take to send a packed bundle: the largest at about 4 Mbit/s.
const BUNDLE_TIMEOUT: Duration = Duration::from_secs(600);
const MAX_REDIRECTS: usize = 5;
/// The answers of servers if a file does not exist. Some answer 403 to clients that may not list
/// files.
const NOT_FOUND: [StatusCode; 3] = [StatusCode::NOT_FOUND, StatusCode::GONE, StatusCode::FORBIDDEN];

/// Whether `reference` is a URL rather than a path.
pub fn is_url(reference: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| reference.get(..scheme.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(scheme)))
}

/// A URL without user information and query, which can hold credentials: for messages, archives and
/// lock files. Other references stay as they are.
#[must_use]
pub fn without_credentials(reference: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = reference.split_once("://").filter(|_| is_url(reference)) else {
        return Cow::Borrowed(reference);
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    // As in browsers, more slashes before the host have no meaning, and a backslash is a slash.
    let rest = rest.trim_start_matches(['/', '\\']);
    let (authority, path) = rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Cow::Owned(format!("{scheme}://{host}{path}"))
}

enum Content {
    /// A definition, of at most one chunk more than the limit.
    Definition(Vec<u8>),
    /// A tar, positioned at its start.
    Bundle(File),
}

/// Fetches the plugin behind `address`: a definition or a packed bundle, distinguished by the content.
pub(super) fn found(context: &Context, address: &str) -> Result<ResolvedPlugin, AppError> {
    let secure = is_secure(context, address);
    let url = &*without_credentials(address);
    let content = wait(plugin(address, secure))?.map_err(|cause| {
        AppError::usage(format!("failed to download plugin `{url}`: {cause}"))
            .hint("download it with another tool, and pass the file: `--plugin FILE`")
    })?;
    match content {
        Content::Definition(text) => parse(text, url, None),
        Content::Bundle(tar) => {
            let found = unpacked(&tar, url, SourceKind::Url)?;
            Ok(ResolvedPlugin { signatures: signatures(context, address, secure)?, ..found })
        }
    }
}

/// Fetches the content behind `url`, of at most one chunk more than `limit` bytes. The inner error
/// says why the server did not send it.
pub fn get(context: &Context, url: &str, limit: usize) -> Result<Result<Vec<u8>, String>, AppError> {
    let secure = is_secure(context, url);
    wait(async {
        let answer = open(url, secure, TIMEOUT).await?;
        if answer.status() != StatusCode::OK {
            return Err(refused(answer.status()));
        }
        rest(answer, Vec::new(), limit).await
    })
}

/// Whether `url` is fetched over HTTPS. Warns about plain HTTP.
fn is_secure(context: &Context, url: &str) -> bool {
    let secure = url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
    if !secure {
        let url = without_credentials(url);
        context
            .reporter
            .warning(&format!("`{url}` is fetched over plain HTTP: anyone on the network path can change it"));
    }
    secure
}

fn wait<T>(work: impl Future<Output = T>) -> Result<T, AppError> {
    let runtime = one_thread()?;
    Ok(runtime.block_on(work))
}

fn refused(status: StatusCode) -> String {
    format!("the server responded with {status}")
}

/// Opens `url`. The whole answer must arrive within `timeout`.
async fn open(url: &str, secure: bool, timeout: Duration) -> Result<Response, String> {
    // Fails if this process has installed a provider of cryptography already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .timeout(timeout)
        .connect_timeout(TIMEOUT)
        .read_timeout(TIMEOUT)
        // A redirect must not lead from HTTPS to plain HTTP.
        .https_only(secure)
        .redirect(redirect::Policy::limited(MAX_REDIRECTS));
    // Plain HTTP needs no CA certificates, and loading them fails on systems that have none.
    let builder = if secure { builder } else { builder.tls_certs_only([]) };
    let client = builder.build().map_err(|error| chain(&error))?;
    client.get(url).send().await.map_err(failure)
}

/// Why a request failed, without its URL or the target of a redirect, which can hold credentials.
fn failure(error: reqwest::Error) -> String {
    chain(&error.without_url())
}

/// `text` and the rest of the answer, of at most one chunk more than `limit` bytes.
async fn rest(mut answer: Response, mut text: Vec<u8>, limit: usize) -> Result<Vec<u8>, String> {
    while text.len() <= limit {
        let Some(piece) = answer.chunk().await.map_err(failure)? else { break };
        text.extend_from_slice(&piece);
    }
    Ok(text)
}

async fn plugin(url: &str, secure: bool) -> Result<Content, String> {
    let late = |_| format!("timed out after {} s", TIMEOUT.as_secs());
    let begun = async {
        let mut answer = open(url, secure, BUNDLE_TIMEOUT).await?;
        if answer.status() != StatusCode::OK {
            return Err(refused(answer.status()));
        }
        let mut beginning = Vec::new();
        while beginning.len() < MAGIC_BYTES {
            let Some(piece) = answer.chunk().await.map_err(failure)? else { break };
            beginning.extend_from_slice(&piece);
        }
        Ok((answer, beginning))
    };
    let (mut answer, beginning) = timeout(TIMEOUT, begun).await.map_err(late)??;
    if !is_tar(&beginning) {
        let text = timeout(TIMEOUT, rest(answer, beginning, MAX_YAML_BYTES)).await.map_err(late)??;
        return Ok(Content::Definition(text));
    }
    let too_large = || format!("it is too large for a bundle: more than {}", size(LARGEST_TAR));
    // Fails before the whole tar is downloaded.
    if answer.content_length().is_some_and(|said| said > LARGEST_TAR) {
        return Err(too_large());
    }
    let kept = |error: std::io::Error| format!("failed to write it to a temporary file: {error}");
    let mut tar = NamedTempFile::new().map_err(kept)?.into_file();
    tar.write_all(&beginning).map_err(kept)?;
    let mut bytes = beginning.len() as u64;
    while let Some(piece) = answer.chunk().await.map_err(failure)? {
        bytes = bytes.saturating_add(piece.len() as u64);
        if bytes > LARGEST_TAR {
            return Err(too_large());
        }
        tar.write_all(&piece).map_err(kept)?;
    }
    tar.rewind().map_err(kept)?;
    Ok(Content::Bundle(tar))
}

/// Fetches the signatures next to the tar at `address`. If that fails, it warns, and runs that require
/// signatures report that they are missing.
fn signatures(context: &Context, address: &str, secure: bool) -> Result<Option<Vec<u8>>, AppError> {
    let mut text = Vec::new();
    for suffix in SIGNATURES {
        let Ok(mut signature_url) = Url::parse(address) else { return Ok(None) };
        signature_url.set_path(&format!("{}{suffix}", signature_url.path()));
        let fetched = wait(async {
            let answer = open(signature_url.as_str(), secure, TIMEOUT).await?;
            match answer.status() {
                StatusCode::OK => {}
                status if NOT_FOUND.contains(&status) => return Ok(Vec::new()),
                status => return Err(refused(status)),
            }
            // The reader rejects longer texts.
            let limit = usize::try_from(MAX_SIGNATURE_BYTES).unwrap_or(usize::MAX);
            rest(answer, Vec::new(), limit).await
        })?;
        match fetched {
            Ok(more) => text.extend(more),
            Err(cause) => {
                let url = without_credentials(address);
                context.reporter.warning(&format!("failed to read signatures of `{url}`: {cause}"));
            }
        }
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_distinguished_from_paths() {
        assert!(is_url("https://h/p.yaml") && is_url("HTTP://h") && is_url("http://"));
        assert!(!is_url("https.yaml") && !is_url("ä") && !is_url("http:/p.yaml"));
    }

    #[test]
    fn credentials_in_urls_are_not_shown() {
        for (reference, shown) in [
            ("https://h/p.tar", "https://h/p.tar"),
            ("https://h:1/p.tar@name", "https://h:1/p.tar@name"),
            ("https://user:pass@h:1/p.tar@name", "https://h:1/p.tar@name"),
            ("HTTP://token@h", "HTTP://h"),
            ("https://a@b:c@h/p", "https://h/p"),
            ("https:////user:pass@h/p", "https://h/p"),
            ("https://user:pass@h\\p", "https://h\\p"),
            ("https://h/p.tar?sig=secret#x", "https://h/p.tar"),
            ("https://h?sig=a@b", "https://h"),
            ("dir/p@2.yaml?", "dir/p@2.yaml?"),
            ("oci://h/p@sha256:1", "oci://h/p@sha256:1"),
        ] {
            assert_eq!(without_credentials(reference), shown, "{reference}");
        }
    }
}
