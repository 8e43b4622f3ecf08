//! Reads certificates of PEM files and kubeconfigs.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use x509_parser::pem::Pem;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The keys of a kubeconfig whose values are PEM files in Base64.
const KEYS: [&str; 2] = ["client-certificate-data:", "certificate-authority-data:"];

/// A certificate. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificate {
    pub(crate) subject: String,
    pub(crate) not_before: i64,
    pub(crate) not_after: i64,
}

/// Returns the certificates in a PEM file or in a kubeconfig.
pub(crate) fn certificates(text: &str) -> Result<Vec<Certificate>, String> {
    let mut found = of_pem(text.as_bytes())?;
    for line in text.lines() {
        let line = line.trim_start().trim_start_matches("- ");
        let Some(value) = KEYS.iter().find_map(|key| line.strip_prefix(key)) else { continue };
        let value = value.trim().trim_matches(['"', '\'']);
        let pem = BASE64_STANDARD.decode(value).map_err(|error| format!("invalid Base64 in a kubeconfig: {error}"))?;
        found.extend(of_pem(&pem)?);
    }
    Ok(found)
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
