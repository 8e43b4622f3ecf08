//! What stands behind an address: definitions, lists.

use std::time::Duration;

use plumbline_core::chain;
use plumbline_core::definition::MAX_YAML_BYTES;
use reqwest::{Client, StatusCode, redirect};

use crate::error::CliError;
use crate::ui::say;

/// How long an address may take to give a definition: the number that users of the incumbent know.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often an address may send to another.
const MAX_REDIRECTS: usize = 5;

/// Whether somebody means an address, and not a path.
pub(crate) fn is_address(reference: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| reference.get(..scheme.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(scheme)))
}

/// What the address gives, up to one byte more than a definition may have.
pub(super) fn fetch(address: &str) -> Result<Vec<u8>, CliError> {
    get(address, MAX_YAML_BYTES)?.map_err(|cause| {
        CliError::usage(format!("definition `{address}` cannot be fetched: {cause}"))
            .hint("fetch it by other means and name the file: `--plugin FILE`")
    })
}

/// What the address gives, up to a piece more than `limit` bytes; inside, why it gives nothing.
pub(crate) fn get(address: &str, limit: usize) -> Result<Result<Vec<u8>, String>, CliError> {
    let secure = address.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
    if !secure {
        say(&format!("warning: `{address}` is fetched without encryption: whoever is on the way may change it"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::system("nothing can be fetched").because(&error))?;
    Ok(runtime.block_on(download(address, secure, limit)))
}

async fn download(address: &str, secure: bool, limit: usize) -> Result<Vec<u8>, String> {
    // One process has one provider of cryptography; an error means that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .timeout(PATIENCE)
        // What began with encryption is not continued without.
        .https_only(secure)
        .redirect(redirect::Policy::limited(MAX_REDIRECTS));
    // Nobody shows a certificate there. Looked for all the same, the authorities of a system that has none would be an error.
    let builder = if secure { builder } else { builder.tls_certs_only([]) };
    let client = builder.build().map_err(|error| chain(&error))?;
    let mut answer = client.get(address).send().await.map_err(|error| chain(&error))?;
    if answer.status() != StatusCode::OK {
        return Err(format!("the server answers {}", answer.status()));
    }
    let mut text = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|error| chain(&error))? {
        text.extend_from_slice(&piece);
        if text.len() > limit {
            break;
        }
    }
    Ok(text)
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
