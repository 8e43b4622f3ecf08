//! Reads certificates of PEM files and kubeconfigs.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use x509_parser::pem::Pem;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The keys of a kubeconfig whose values are PEM files in Base64.
const KEYS: [&str; 2] = ["client-certificate-data", "certificate-authority-data"];

/// A certificate. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificate {
    pub(crate) subject: String,
    pub(crate) not_before: i64,
    pub(crate) not_after: i64,
}

/// Returns the certificates in a PEM file or in a kubeconfig. A PEM file that has none may be empty or
/// cut off, so that is an error. It may have a key instead, unless its name ends with `.crt`.
pub(crate) fn certificates(path: &str, text: &str) -> Result<Vec<Certificate>, String> {
    let mut found = of_pem(text.as_bytes())?;
    let needs_one = path.ends_with(".crt") || (path.ends_with(".pem") && !text.contains("-----BEGIN "));
    if found.is_empty() && needs_one {
        return Err("it has no certificate".to_owned());
    }
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        for key in KEYS {
            for (at, _) in line.match_indices(key) {
                let pem = data(line.get(at + key.len()..).unwrap_or_default())
                    .ok_or_else(|| format!("it has a value of `{key}` that is not Base64 on the same line"))?;
                found.extend(of_pem(&pem)?);
            }
        }
    }
    Ok(found)
}

/// Decodes the value after a key, in YAML or JSON, in the block or flow style.
fn data(rest: &str) -> Option<Vec<u8>> {
    let value = rest.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?;
    let value = value.trim_start().trim_start_matches(['"', '\'']);
    let is_data = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let end = value.find(|c| !is_data(c)).unwrap_or(value.len());
    let (data, rest) = value.split_at(end);
    let is_whole = rest.is_empty() || rest.starts_with(['"', '\'', ',', '}', ' ', '\t', '\r']);
    (is_whole && !data.is_empty()).then(|| BASE64_STANDARD.decode(data).ok()).flatten()
}

fn of_pem(bytes: &[u8]) -> Result<Vec<Certificate>, String> {
    let mut found = Vec::new();
    for block in Pem::iter_from_buffer(bytes) {
        let block = block.map_err(|error| format!("invalid PEM: {error}"))?;
        if block.label != "CERTIFICATE" {
            continue;
        }
        let (_, certificate) =
            X509Certificate::from_der(&block.contents).map_err(|error| format!("invalid certificate: {error}"))?;
        let validity = certificate.validity();
        let subject = match certificate.subject().to_string() {
            empty if empty.is_empty() => "(no subject)".to_owned(),
            subject => subject,
        };
        let (not_before, not_after) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        found.push(Certificate { subject, not_before, not_after });
    }
    Ok(found)
}
