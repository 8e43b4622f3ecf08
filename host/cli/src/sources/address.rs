//! What stands behind an address: definitions, packed bundles, lists.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::time::Duration;

use plumbline_bundle::limits::MAX_SIGNATURE_BYTES;
use plumbline_core::chain;
use plumbline_core::definition::MAX_YAML_BYTES;
use reqwest::{Client, Response, StatusCode, Url, redirect};
use tempfile::NamedTempFile;
use tokio::time::timeout;

use super::definition::parse;
use super::packed::{MAGIC_BYTES, SIGNATURES, is_tar, unpacked};
use super::remote::LARGEST_TAR;
use super::{Found, Where};
use crate::error::CliError;
use crate::output::size;
use crate::runtime::one_thread;
use crate::ui::say;

/// How long an address may take to give a definition: the number that users of Sonobuoy know.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take to give a packed bundle, 10 min: the largest at some 4 Mbit/s.
const BUNDLE_PATIENCE: Duration = Duration::from_secs(600);
/// How often an address may send to another.
const MAX_REDIRECTS: usize = 5;
/// What servers answer where there is nothing: some of them, to whoever may not list what there is.
const NOTHING_THERE: [StatusCode; 3] = [StatusCode::NOT_FOUND, StatusCode::GONE, StatusCode::FORBIDDEN];

/// Whether somebody means an address, and not a path.
pub(crate) fn is_address(reference: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| reference.get(..scheme.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(scheme)))
}

/// What an address may give.
enum Content {
    /// At most one piece more than a definition may have.
    Definition(Vec<u8>),
    /// A tar, at its beginning.
    Bundle(File),
}

/// The plugin that the address gives: a definition or a packed bundle, told apart by what comes.
pub(super) fn found(address: &str) -> Result<Found, CliError> {
    let secure = told_secure(address);
    let content = wait(plugin(address, secure))?.map_err(|cause| {
        CliError::usage(format!("failed to fetch plugin `{address}`: {cause}"))
            .hint("fetch it by other means and name the file: `--plugin FILE`")
    })?;
    match content {
        Content::Definition(text) => parse(text, address, None),
        Content::Bundle(tar) => {
            let found = unpacked(&tar, address, Where::Address)?;
            Ok(Found { signatures: signatures(address, secure)?, ..found })
        }
    }
}

/// What the address gives, up to a piece more than `limit` bytes; inside, why it gives nothing.
pub(crate) fn get(address: &str, limit: usize) -> Result<Result<Vec<u8>, String>, CliError> {
    let secure = told_secure(address);
    wait(async {
        let answer = open(address, secure, PATIENCE).await?;
        if answer.status() != StatusCode::OK {
            return Err(refused(answer.status()));
        }
        rest(answer, Vec::new(), limit).await
    })
}

/// Whether it is fetched with encryption; otherwise it is told that it is not.
fn told_secure(address: &str) -> bool {
    let secure = address.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
    if !secure {
        say(&format!("warning: `{address}` is fetched over plain HTTP: anyone on the network path can change it"));
    }
    secure
}

fn wait<T>(work: impl Future<Output = T>) -> Result<T, CliError> {
    let runtime = one_thread()?;
    Ok(runtime.block_on(work))
}

fn refused(status: StatusCode) -> String {
    format!("the server answers {status}")
}

/// The answer of the address, whose end must have come after `patience`.
async fn open(address: &str, secure: bool, patience: Duration) -> Result<Response, String> {
    // One process has one provider of cryptography; an error means that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .timeout(patience)
        .connect_timeout(PATIENCE)
        .read_timeout(PATIENCE)
        // What began with encryption is not continued without.
        .https_only(secure)
        .redirect(redirect::Policy::limited(MAX_REDIRECTS));
    // Nobody shows a certificate there. Looked for all the same, the authorities of a system that has none would be an error.
    let builder = if secure { builder } else { builder.tls_certs_only([]) };
    let client = builder.build().map_err(|error| chain(&error))?;
    client.get(address).send().await.map_err(|error| chain(&error))
}

/// `text` and what follows it, up to a piece more than `limit` bytes.
async fn rest(mut answer: Response, mut text: Vec<u8>, limit: usize) -> Result<Vec<u8>, String> {
    while text.len() <= limit {
        let Some(piece) = answer.chunk().await.map_err(|error| chain(&error))? else { break };
        text.extend_from_slice(&piece);
    }
    Ok(text)
}

async fn plugin(address: &str, secure: bool) -> Result<Content, String> {
    let late = |_| format!("it is not there after {} s", PATIENCE.as_secs());
    let begun = async {
        let mut answer = open(address, secure, BUNDLE_PATIENCE).await?;
        if answer.status() != StatusCode::OK {
            return Err(refused(answer.status()));
        }
        let mut beginning = Vec::new();
        while beginning.len() < MAGIC_BYTES {
            let Some(piece) = answer.chunk().await.map_err(|error| chain(&error))? else { break };
            beginning.extend_from_slice(&piece);
        }
        Ok((answer, beginning))
    };
    let (mut answer, beginning) = timeout(PATIENCE, begun).await.map_err(late)??;
    if !is_tar(&beginning) {
        let text = timeout(PATIENCE, rest(answer, beginning, MAX_YAML_BYTES)).await.map_err(late)??;
        return Ok(Content::Definition(text));
    }
    let too_large = || format!("it has more than {}, and no bundle has", size(LARGEST_TAR));
    // Seen before all of it is there.
    if answer.content_length().is_some_and(|said| said > LARGEST_TAR) {
        return Err(too_large());
    }
    let kept = |error: std::io::Error| format!("it cannot be kept in a temporary file: {error}");
    let mut tar = NamedTempFile::new().map_err(kept)?.into_file();
    tar.write_all(&beginning).map_err(kept)?;
    let mut bytes = beginning.len() as u64;
    while let Some(piece) = answer.chunk().await.map_err(|error| chain(&error))? {
        bytes = bytes.saturating_add(piece.len() as u64);
        if bytes > LARGEST_TAR {
            return Err(too_large());
        }
        tar.write_all(&piece).map_err(kept)?;
    }
    tar.rewind().map_err(kept)?;
    Ok(Content::Bundle(tar))
}

/// The signatures that stand beside the tar: at its address with the ending that they have beside a file. What cannot be read is told and
/// left out: whoever asks for signatures then finds that they are missing.
fn signatures(address: &str, secure: bool) -> Result<Option<Vec<u8>>, CliError> {
    let Ok(mut beside) = Url::parse(address) else { return Ok(None) };
    beside.set_path(&format!("{}{SIGNATURES}", beside.path()));
    let fetched = wait(async {
        let answer = open(beside.as_str(), secure, PATIENCE).await?;
        match answer.status() {
            StatusCode::OK => {}
            status if NOTHING_THERE.contains(&status) => return Ok(None),
            status => return Err(refused(status)),
        }
        // No room for more than is taken: what is longer is refused where it is read.
        let limit = usize::try_from(MAX_SIGNATURE_BYTES).unwrap_or(usize::MAX);
        rest(answer, Vec::new(), limit).await.map(Some)
    })?;
    Ok(fetched.unwrap_or_else(|cause| {
        say(&format!("warning: failed to read signatures of `{address}`: {cause}"));
        None
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_paths() {
        assert!(is_address("https://h/p.yaml") && is_address("HTTP://h") && is_address("http://"));
        assert!(!is_address("https.yaml") && !is_address("ä") && !is_address("http:/p.yaml"));
    }
}
