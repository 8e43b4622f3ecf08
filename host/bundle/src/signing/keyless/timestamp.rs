//! Timestamps (RFC 3161): a timestamp authority has signed that a signature existed at a time. The
//! response has a signed message (RFC 5652) around the time.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};
use rustls_pki_types::CertificateDer;
use webpki::EndEntityCert;
use x509_parser::asn1_rs::{Any, FromDer as _};

use super::certificate::{ALGORITHMS, TIME_STAMPING, verify_chain};
use super::trusted_root::TrustedRoot;

// Tags of ASN.1 values.
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OID: u8 = 0x06;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const CONTEXT_0: u8 = 0xa0;
const CONTEXT_1: u8 = 0xa1;

// Object identifiers, in DER without tag and length.
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
const TST_INFO: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04];
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];
/// Object identifiers of the hash functions, without their last byte.
const SHA_2: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

/// Maximum number of certificates or attributes in a response.
const MAX_VALUES: usize = 32;

/// Verifies the response of a timestamp authority about `signature`, and returns its time. The
/// error is a sentence.
pub(super) fn verify(response: &[u8], signature: &[u8], root: &TrustedRoot) -> Result<Timestamp, String> {
    let checked = || {
        let token = Token::parse(response).ok_or("it is not a response of RFC 3161")?;
        let info = Info::parse(token.info).ok_or("its content is not a time")?;
        if info.digest != digest(info.algorithm, signature).as_ref() {
            return Err("it is about another signature".to_owned());
        }
        token.check_attributes()?;
        token.check_signer(info.time, root)?;
        Ok(info.time)
    };
    checked().map_err(|reason: String| format!("its timestamp is not valid: {reason}"))
}

/// Reads ASN.1 values in DER, one after the other.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Returns the next value with its tag and length, and its content, if it has this tag.
    fn value(&mut self, tag: u8) -> Option<(&'a [u8], &'a [u8])> {
        if self.0.first() != Some(&tag) {
            return None;
        }
        let (rest, any) = Any::from_der(self.0).ok()?;
        let whole = self.0.get(..self.0.len().checked_sub(rest.len())?)?;
        self.0 = rest;
        Some((whole, any.data))
    }

    /// Returns the content of the next value, if it has this tag.
    fn content(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.value(tag).map(|(_, content)| content)
    }

    /// Returns a reader of the values in the next value, if it has this tag.
    fn inner(&mut self, tag: u8) -> Option<Self> {
        self.content(tag).map(Self)
    }
}

/// Returns the hash function of an algorithm identifier.
fn hash_function(mut identifier: Reader<'_>) -> Option<&'static Algorithm> {
    match identifier.content(OID)?.strip_prefix(SHA_2)? {
        [1] => Some(&SHA256),
        [2] => Some(&SHA384),
        [3] => Some(&SHA512),
        _ => None,
    }
}

struct Token<'a> {
    info: &'a [u8],
    certificates: Vec<&'a [u8]>,
    algorithm: &'static Algorithm,
    /// Signed attributes, as they are encoded in the message.
    attributes: &'a [u8],
    signature: &'a [u8],
}

impl<'a> Token<'a> {
    /// Parses a response: its status, and a message with one signer.
    fn parse(response: &'a [u8]) -> Option<Self> {
        let mut response = Reader(response).inner(SEQUENCE)?;
        response.inner(SEQUENCE)?;
        let mut token = response.inner(SEQUENCE)?;
        if token.content(OID)? != SIGNED_DATA {
            return None;
        }
        let mut signed = token.inner(CONTEXT_0)?.inner(SEQUENCE)?;
        signed.content(INTEGER)?;
        signed.content(SET)?;
        let mut content = signed.inner(SEQUENCE)?;
        if content.content(OID)? != TST_INFO {
            return None;
        }
        let info = content.inner(CONTEXT_0)?.content(OCTET_STRING)?;
        let mut certificates = Vec::new();
        if let Some(mut inner) = signed.inner(CONTEXT_0) {
            while certificates.len() < MAX_VALUES
                && let Some((whole, _)) = inner.value(SEQUENCE)
            {
                certificates.push(whole);
            }
        }
        // Revocation lists.
        signed.content(CONTEXT_1);
        let mut signer = signed.inner(SET)?.inner(SEQUENCE)?;
        signer.content(INTEGER)?;
        // The signer, by the issuer and number of its certificate, or by its key. It is found by
        // trying all certificates.
        signer.content(SEQUENCE).or_else(|| signer.content(CONTEXT_0 & !0x20))?;
        let algorithm = hash_function(signer.inner(SEQUENCE)?)?;
        let (attributes, _) = signer.value(CONTEXT_0)?;
        signer.inner(SEQUENCE)?;
        Some(Self { info, certificates, algorithm, attributes, signature: signer.content(OCTET_STRING)? })
    }

    fn check_attributes(&self) -> Result<(), String> {
        let attribute = |wanted: &[u8], tag: u8| {
            let mut attributes = Reader(self.attributes).inner(CONTEXT_0)?;
            for _ in 0..MAX_VALUES {
                let mut attribute = attributes.inner(SEQUENCE)?;
                if attribute.content(OID)? == wanted {
                    return attribute.inner(SET)?.content(tag);
                }
            }
            None
        };
        if attribute(CONTENT_TYPE, OID) != Some(TST_INFO) {
            return Err("its attributes belong to other content".to_owned());
        }
        match attribute(MESSAGE_DIGEST, OCTET_STRING) {
            Some(found) if found == digest(self.algorithm, self.info).as_ref() => Ok(()),
            _ => Err("its content was changed".to_owned()),
        }
    }

    /// Checks that a trusted timestamp authority has signed the attributes.
    fn check_signer(&self, time: Timestamp, root: &TrustedRoot) -> Result<(), String> {
        // The attributes are signed as a set (RFC 5652, section 5.4).
        let message: Vec<u8> = std::iter::once(SET).chain(self.attributes.iter().skip(1).copied()).collect();
        let authorities = &root.timestamp_authorities;
        let known = authorities.iter().filter_map(|authority| authority.chain.first()).map(Vec::as_slice);
        let mut reason = "no timestamp authority of the trusted root signed it".to_owned();
        for certificate in self.certificates.iter().copied().chain(known) {
            if !signed_by(certificate, &message, self.signature) {
                continue;
            }
            let intermediates: Vec<Vec<u8>> = self.certificates.iter().map(|one| one.to_vec()).collect();
            match verify_chain(certificate, &intermediates, authorities, TIME_STAMPING, time) {
                Ok(()) => return Ok(()),
                Err(error) => reason = error,
            }
        }
        Err(reason)
    }
}

fn signed_by(certificate: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let der = CertificateDer::from(certificate);
    let Ok(certificate) = EndEntityCert::try_from(&der) else { return false };
    ALGORITHMS.iter().any(|algorithm| certificate.verify_signature(*algorithm, message, signature).is_ok())
}

struct Info<'a> {
    algorithm: &'static Algorithm,
    digest: &'a [u8],
    time: Timestamp,
}

impl<'a> Info<'a> {
    fn parse(der: &'a [u8]) -> Option<Self> {
        let mut info = Reader(der).inner(SEQUENCE)?;
        info.content(INTEGER)?;
        info.content(OID)?;
        let mut imprint = info.inner(SEQUENCE)?;
        let algorithm = hash_function(imprint.inner(SEQUENCE)?)?;
        let digest = imprint.content(OCTET_STRING)?;
        info.content(INTEGER)?;
        let time = std::str::from_utf8(info.content(GENERALIZED_TIME)?).ok()?.strip_suffix('Z')?;
        // Parts of a second do not matter.
        let time = time.split_once('.').map_or(time, |(seconds, _)| seconds);
        let time = DateTime::strptime("%Y%m%d%H%M%S", time).ok()?.to_zoned(TimeZone::UTC).ok()?;
        Some(Self { algorithm, digest, time: time.timestamp() })
    }
}
