//! Small files behind addresses.

use std::time::Duration;

use plumbline_core::chain;
use reqwest::{Client, StatusCode};

/// How long an answer may take: what is fetched is small.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the address gives; `None`: it gives nothing there. More than `limit` bytes are an error.
pub(super) async fn fetch(address: &str, limit: u64) -> Result<Option<Vec<u8>>, String> {
    // One process has one provider of cryptography; an error means that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // What begins with encryption is not continued without.
    let secure = address.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
    let builder = Client::builder().timeout(PATIENCE).https_only(secure);
    // Nobody shows a certificate there. Looked for all the same, the authorities of a system that has none would be an error.
    let builder = if secure { builder } else { builder.tls_certs_only([]) };
    let client = builder.build().map_err(|error| chain(&error))?;
    let mut answer = client.get(address).send().await.map_err(|error| chain(&error))?;
    match answer.status() {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Ok(None),
        other => return Err(format!("the server answers {other}")),
    }
    let mut bytes = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|error| chain(&error))? {
        bytes.extend_from_slice(&piece);
        if bytes.len() as u64 > limit {
            return Err(format!("it has more than {limit} bytes"));
        }
    }
    Ok(Some(bytes))
}
