//! Trusted CA certificates.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use reqwest::Certificate;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use crate::error::Cause;
use crate::limits::MAX_AUTHORITIES_BYTES;

/// Reads CA certificates from PEM files. A file without a certificate is an error, because the user
/// expects it to have one.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Certificate>, Cause> {
    let mut all = Vec::new();
    for path in files {
        let wrong = |why: String| Cause::Setting(format!("invalid CA file `{}`: {why}", path.display()));
        let text = read_bounded(path).map_err(|error| wrong(error.to_string()))?;
        let before = all.len();
        for certificate in CertificateDer::pem_slice_iter(&text) {
            let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
            all.push(Certificate::from_der(&certificate).map_err(|error| wrong(error.to_string()))?);
        }
        if all.len() == before {
            return Err(wrong("it has no certificate in PEM form".into()));
        }
    }
    Ok(all)
}

fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(MAX_AUTHORITIES_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_AUTHORITIES_BYTES {
        return Err(std::io::Error::other(format!("it has more than {MAX_AUTHORITIES_BYTES} bytes")));
    }
    Ok(text)
}
