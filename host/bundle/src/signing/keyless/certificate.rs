//! Certificates: the identity in them, and the chain to a trusted authority.

use jiff::Timestamp;
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert, ring as algorithms};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;

use super::super::key::PublicKey;
use super::super::statement::shown;
use super::trusted_root::Authority;

/// Extended key usage of certificates that sign code, 1.3.6.1.5.5.7.3.3 (RFC 5280), in DER.
pub(super) const CODE_SIGNING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03];
/// Extended key usage of timestamp authorities, 1.3.6.1.5.5.7.3.8 (RFC 3161), in DER.
pub(super) const TIME_STAMPING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08];
/// Extension with the OIDC issuer as a string in DER.
const ISSUER: &str = "1.3.6.1.4.1.57264.1.8";
/// Older extension with the OIDC issuer as plain text.
const OLD_ISSUER: &str = "1.3.6.1.4.1.57264.1.1";
/// First bytes of a short UTF-8 string in DER: its tag. The length follows.
const UTF8_STRING: u8 = 0x0c;

/// Algorithms of signatures in certificates and timestamps.
pub(super) const ALGORITHMS: &[&dyn SignatureVerificationAlgorithm] = &[
    algorithms::ECDSA_P256_SHA256,
    algorithms::ECDSA_P256_SHA384,
    algorithms::ECDSA_P384_SHA256,
    algorithms::ECDSA_P384_SHA384,
    algorithms::ED25519,
    algorithms::RSA_PKCS1_2048_8192_SHA256,
    algorithms::RSA_PKCS1_2048_8192_SHA384,
    algorithms::RSA_PKCS1_2048_8192_SHA512,
];

/// A certificate that was parsed, and not verified.
pub(super) struct Certificate {
    pub(super) key: PublicKey,
    identities: Vec<String>,
    issuer: Option<String>,
}

impl Certificate {
    pub(super) fn parse(der: &[u8]) -> Result<Self, String> {
        let invalid = |what: &str| format!("its certificate is invalid: {what}");
        let (rest, parsed) = X509Certificate::from_der(der).map_err(|error| invalid(&error.to_string()))?;
        if !rest.is_empty() {
            return Err(invalid("bytes follow its end"));
        }
        let key = PublicKey::from_der(parsed.public_key().raw).map_err(|error| invalid(&error.to_string()))?;
        let names = parsed.subject_alternative_name().map_err(|error| invalid(&error.to_string()))?;
        let names = names.iter().flat_map(|names| &names.value.general_names);
        let identities = names.filter_map(|name| match name {
            GeneralName::URI(text) | GeneralName::RFC822Name(text) => Some((*text).to_owned()),
            _ => None,
        });
        let extension =
            |oid: &str| parsed.extensions().iter().find(|it| it.oid.to_id_string() == oid).map(|it| it.value);
        let issuer = match extension(ISSUER) {
            Some(value) => der_text(value),
            None => extension(OLD_ISSUER).and_then(|text| String::from_utf8(text.to_vec()).ok()),
        };
        Ok(Self { key, identities: identities.collect(), issuer })
    }

    /// Checks that the certificate is for exactly this identity, authenticated by this issuer.
    pub(super) fn check_identity(&self, identity: &str, issuer: &str) -> Result<(), String> {
        if !self.identities.iter().any(|found| found == identity) {
            let found: Vec<String> =
                self.identities.iter().take(4).map(|found| format!("`{}`", shown(found))).collect();
            let found = if found.is_empty() { "nobody".to_owned() } else { found.join(", ") };
            return Err(format!("its certificate is for {found}, expected `{identity}`"));
        }
        match &self.issuer {
            Some(found) if found == issuer => Ok(()),
            Some(found) => Err(format!("its certificate has the issuer `{}`, expected `{issuer}`", shown(found))),
            None => Err(format!("its certificate has no issuer, expected `{issuer}`")),
        }
    }
}

/// Returns the text of a UTF-8 string in DER.
fn der_text(der: &[u8]) -> Option<String> {
    let (rest, any) = x509_parser::asn1_rs::Any::from_der(der).ok()?;
    let is_text = rest.is_empty() && der.first() == Some(&UTF8_STRING);
    is_text.then(|| String::from_utf8(any.data.to_vec()).ok()).flatten()
}

/// Verifies that `leaf` was valid for `usage` at a time, and was issued by one of the
/// `authorities`. The error says why not.
pub(super) fn verify_chain(
    leaf: &[u8],
    intermediates: &[Vec<u8>],
    authorities: &[Authority],
    usage: &'static [u8],
    at: Timestamp,
) -> Result<(), String> {
    let mut reason = format!("no CA of the trusted root was valid at {at}");
    for authority in authorities.iter().filter(|authority| authority.validity.contains(at)) {
        match issued_by(leaf, intermediates, authority, usage, at) {
            Ok(()) => return Ok(()),
            Err(error) => reason = format!("{} (at {at})", sentence(&error)),
        }
    }
    Err(reason)
}

fn sentence(error: &webpki::Error) -> String {
    match error {
        webpki::Error::CertExpired { .. } => "it had expired".to_owned(),
        webpki::Error::CertNotValidYet { .. } => "it was not valid yet".to_owned(),
        webpki::Error::UnknownIssuer => "no CA of the trusted root has issued it".to_owned(),
        other => other.to_string(),
    }
}

fn issued_by(
    leaf: &[u8],
    intermediates: &[Vec<u8>],
    authority: &Authority,
    usage: &'static [u8],
    at: Timestamp,
) -> Result<(), webpki::Error> {
    let Some((root, below)) = authority.chain.split_last() else { return Err(webpki::Error::UnknownIssuer) };
    let root = CertificateDer::from(root.as_slice());
    let anchor = anchor_from_trusted_cert(&root)?;
    // The first certificate of a timestamp authority is its own, which is no intermediate.
    let more = intermediates.iter().chain(below).filter(|certificate| certificate.as_slice() != leaf);
    let more: Vec<CertificateDer<'_>> = more.map(|certificate| CertificateDer::from(certificate.as_slice())).collect();
    let leaf = CertificateDer::from(leaf);
    let seconds = u64::try_from(at.as_second()).unwrap_or_default();
    let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
    let usage = KeyUsage::required(usage);
    EndEntityCert::try_from(&leaf)?.verify_for_usage(ALGORITHMS, &[anchor], &more, time, usage, None, None)?;
    Ok(())
}
