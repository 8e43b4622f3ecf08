//! The CA of one run and its certificates (docs/protocol.md, "Certificates").

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pem::{EncodeConfig, LineEnding, Pem};
use plumbline_core::{PluginName, RunId};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData as _, SanType, SerialNumber,
};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};

/// How far certificates are backdated, and how much longer than necessary they are valid, for nodes
/// whose clocks are off by up to an hour.
pub const CLOCK_SKEW: Duration = Duration::from_secs(3600);

/// The time that a run may need beyond the timeouts of its plugins.
pub const VALIDITY_MARGIN: Duration = Duration::from_secs(24 * 3600);

/// The validity of certificates for a run without a timeout: a year.
pub const VALIDITY_WITHOUT_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// The maximum length of a common name (RFC 5280, appendix A.1, `ub-common-name`).
const MAX_COMMON_NAME: usize = 64;

/// The start of a P-256 key in PKCS#8 (RFC 5958), before its 32 secret bytes.
const PKCS8_HEAD: &[u8] = &[
    0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08,
    0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x6d, 0x30, 0x6b, 0x02, 0x01, 0x01, 0x04, 0x20,
];
/// The start of the public key after them, before its 65 bytes.
const PUBLIC_KEY_HEAD: &[u8] = &[0xa1, 0x44, 0x03, 0x42, 0x00];
/// The start of the same key in SEC1 (RFC 5915, section 3).
const SEC1_HEAD: &[u8] = &[0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20];
/// Its curve, between the secret bytes and the public key. PKCS#8 has it in the head.
const SEC1_CURVE: &[u8] = &[0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];

/// The CA of one run. It signs the certificate of the aggregator and one for each plugin. No other
/// certificates are accepted during the run, so two concurrent runs cannot take each other's
/// results.
///
/// The CA has a unique distinguished name, and its certificates have key identifiers. Verifiers
/// that use these, such as OpenSSL, find the issuer of a certificate by them.
///
/// Keys are not wiped, since they are also in the environment of workers.
pub struct RunCa {
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
    not_before: Timestamp,
    not_after: Timestamp,
}

impl RunCa {
    /// Creates a CA for `run`. Its certificates are valid for `validity` ([`RunCa::validity_for`])
    /// from `now`, and [`CLOCK_SKEW`] before and after.
    ///
    /// # Errors
    /// Returns an error if the validity cannot be expressed, or if there are no random numbers.
    pub fn generate(run: &RunId, validity: Duration, now: Timestamp) -> Result<Self, CaError> {
        let wrong = || CaError::Validity { from: now, validity };
        let margin = SignedDuration::try_from(CLOCK_SKEW).map_err(|_| wrong())?;
        let lasting = SignedDuration::try_from(validity).map_err(|_| wrong())?;
        let not_before = now.checked_sub(margin).map_err(|_| wrong())?;
        let not_after = now.checked_add(lasting).and_then(|end| end.checked_add(margin)).map_err(|_| wrong())?;

        let mut params = params(not_before, not_after).ok_or_else(wrong)?;
        params.serial_number = Some(random_serial()?);
        params.distinguished_name = distinguished_name(&format!("plumbline run {}", run.short()));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];

        let key = KeyPair::generate().map_err(CaError::Generate)?;
        let certificate = params.self_signed(&key).map_err(CaError::Generate)?;
        Ok(Self {
            certificate_pem: certificate.pem(),
            certificate: certificate.into(),
            issuer: Issuer::new(params, key),
            not_before,
            not_after,
        })
    }

    /// Returns the validity of certificates for a run whose plugins may take `timeout`, if they
    /// have one.
    pub fn validity_for(timeout: Option<Duration>) -> Duration {
        timeout.map_or(VALIDITY_WITHOUT_TIMEOUT, |timeout| timeout.saturating_add(VALIDITY_MARGIN))
    }

    /// Returns the certificate of the CA in PEM, which workers receive as `CA_CERT`.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Returns the certificate of the CA in DER.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Returns the time from which the certificates of this run are valid.
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }

    /// Returns the time until which the certificates of this run are valid.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Issues a certificate for the aggregator that is valid for all `hosts`: DNS names, and IP
    /// addresses with or without brackets.
    ///
    /// # Errors
    /// Returns an error if there is no host, or if one is neither a name nor an address.
    pub fn issue_server(&self, hosts: &[String]) -> Result<Issued, CaError> {
        let mut names: Vec<SanType> = Vec::with_capacity(hosts.len());
        for host in hosts {
            let name = server_name(host)?;
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let first = hosts.first().ok_or(CaError::NoHost)?;
        self.issue(first, names, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// Issues a certificate for the workers of `plugin`, and for no other plugin.
    ///
    /// # Errors
    /// Returns an error if there are no random numbers.
    pub fn issue_client(&self, plugin: &PluginName) -> Result<Issued, CaError> {
        let name = SanType::DnsName(plugin.as_str().try_into().map_err(CaError::Generate)?);
        self.issue(plugin.as_str(), vec![name], ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(
        &self,
        common_name: &str,
        names: Vec<SanType>,
        purpose: ExtendedKeyUsagePurpose,
    ) -> Result<Issued, CaError> {
        let lasting = Duration::try_from(self.not_after.duration_since(self.not_before)).unwrap_or_default();
        let mut params = params(self.not_before, self.not_after)
            .ok_or(CaError::Validity { from: self.not_before, validity: lasting })?;
        params.serial_number = Some(random_serial()?);
        params.distinguished_name = distinguished_name(common_name);
        params.subject_alt_names = names;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];

        let key = KeyPair::generate().map_err(CaError::Generate)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(CaError::Generate)?;
        let sec1 = sec1(key.serialized_der()).ok_or(CaError::Generate(rcgen::Error::CouldNotParseKeyPair))?;
        Ok(Issued {
            certificate_pem: encode_pem("CERTIFICATE", certificate.der()),
            key_pem: encode_pem("EC PRIVATE KEY", &sec1),
        })
    }

    /// Returns certificate and key in PEM, with which a restarted aggregator continues. Keep it
    /// secret.
    pub fn to_pem(&self) -> String {
        format!("{}{}", self.certificate_pem, self.issuer.key().serialize_pem())
    }

    /// Restores a CA from the output of [`RunCa::to_pem`].
    ///
    /// # Errors
    /// Returns an error if the certificate or the key is missing, if they do not match, or if the
    /// certificate is not that of a CA.
    pub fn from_pem(text: &str) -> Result<Self, CaError> {
        let certificate =
            CertificateDer::from_pem_slice(text.as_bytes()).map_err(|_| CaError::Stored("it has no certificate"))?;
        let key = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(|_| CaError::Stored("it has no key"))?;
        let key = KeyPair::from_pkcs8_der_and_sign_algo(&key, &rcgen::PKCS_ECDSA_P256_SHA256)
            .map_err(|_| CaError::Stored("its key is not a P-256 key"))?;

        let unreadable = CaError::Stored("its certificate is damaged");
        let Ok((_, parsed)) = x509_parser::parse_x509_certificate(&certificate) else { return Err(unreadable) };
        if !parsed.is_ca() {
            return Err(CaError::Stored("its certificate is not a CA certificate"));
        }
        if parsed.public_key().raw != key.subject_public_key_info() {
            return Err(CaError::Stored("its key does not match its certificate"));
        }
        let (Ok(not_before), Ok(not_after)) = (
            Timestamp::from_second(parsed.validity().not_before.timestamp()),
            Timestamp::from_second(parsed.validity().not_after.timestamp()),
        ) else {
            return Err(unreadable);
        };
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(|_| unreadable)?;
        Ok(Self {
            certificate_pem: encode_pem("CERTIFICATE", &certificate),
            certificate,
            issuer,
            not_before,
            not_after,
        })
    }
}

/// Formats the validity without the key.
impl fmt::Debug for RunCa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunCa")
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

/// Returns the parameters that all certificates of a run have in common.
fn params(not_before: Timestamp, not_after: Timestamp) -> Option<CertificateParams> {
    // rcgen uses the dates of the `time` crate, on which this crate does not depend.
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let date = |at: Timestamp| {
        let since_epoch = Duration::from_secs(u64::try_from(at.as_second()).ok()?);
        epoch.checked_add(since_epoch.try_into().ok()?)
    };
    let mut params = CertificateParams::default();
    params.not_before = date(not_before)?;
    params.not_after = date(not_after)?;
    params.use_authority_key_identifier_extension = true;
    Some(params)
}

fn distinguished_name(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::OrganizationName, "Plumbline");
    name.push(DnType::CommonName, common_name.chars().take(MAX_COMMON_NAME).collect::<String>());
    name
}

/// Returns 128 random bits, so that no two certificates of any run share a serial number.
fn random_serial() -> Result<SerialNumber, CaError> {
    let mut bytes = [0_u8; 16];
    rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes).map_err(|_| CaError::Random)?;
    Ok(SerialNumber::from_slice(&bytes))
}

fn server_name(host: &str) -> Result<SanType, CaError> {
    let wrong = || CaError::Host(host.chars().take(300).collect());
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    // A trailing dot only concerns resolvers and would never match in a certificate.
    match ServerName::try_from(host.strip_suffix('.').unwrap_or(host)) {
        Ok(ServerName::DnsName(name)) => {
            Ok(SanType::DnsName(name.as_ref().to_ascii_lowercase().try_into().map_err(|_| wrong())?))
        }
        _ => Err(wrong()),
    }
}

/// Converts a P-256 key from PKCS#8 to SEC1, which is the only format that Go workers read.
fn sec1(pkcs8: &[u8]) -> Option<Vec<u8>> {
    let (secret, public) = pkcs8.strip_prefix(PKCS8_HEAD)?.split_first_chunk::<32>()?;
    public.strip_prefix(PUBLIC_KEY_HEAD).filter(|point| point.len() == 65)?;
    Some([SEC1_HEAD, secret, SEC1_CURVE, public].concat())
}

fn encode_pem(label: &str, der: &[u8]) -> String {
    pem::encode_config(&Pem::new(label, der), EncodeConfig::new().set_line_ending(LineEnding::LF))
}

/// A certificate of a run with its key, for a process or a Secret of type `kubernetes.io/tls`.
#[derive(Clone, PartialEq, Eq)]
pub struct Issued {
    /// The certificate in PEM, without its issuer: `CLIENT_CERT`, or `tls.crt` of a Secret.
    pub certificate_pem: String,
    /// The key in PEM, as SEC1 (`EC PRIVATE KEY`): `CLIENT_KEY`, or `tls.key` of a Secret.
    pub key_pem: String,
}

/// Formats the certificate without its key.
impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").field("certificate_pem", &self.certificate_pem).finish_non_exhaustive()
    }
}

/// Error while creating or reading certificates.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// A key or certificate could not be created.
    #[error("make a certificate")]
    Generate(#[source] rcgen::Error),
    /// The system provided no random numbers.
    #[error("get random numbers for a certificate's serial number")]
    Random,
    /// The validity cannot be expressed in a certificate.
    #[error(
        "make a certificate valid from {from} for {validity:?}: it must begin after 1970 and end before the year 10000"
    )]
    Validity {
        /// When the run started.
        from: Timestamp,
        /// The requested validity.
        validity: Duration,
    },
    /// The certificate of the server would have no host.
    #[error("make a certificate for the aggregator: it has no address")]
    NoHost,
    /// A host of the server cannot be part of a certificate.
    #[error("make a certificate for `{0}`: it is neither a DNS name nor an IP address (without a port)")]
    Host(String),
    /// The stored CA cannot be read.
    #[error("read the CA of the run: {0}")]
    Stored(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;
    use x509_parser::extensions::{GeneralName, ParsedExtension};
    use x509_parser::prelude::X509Certificate;

    const HOUR: Duration = Duration::from_secs(3600);

    fn now() -> Timestamp {
        "2026-01-02T12:00:00Z".parse().unwrap()
    }

    fn ca() -> RunCa {
        RunCa::generate(&"7f3a9c00-0000-4000-8000-000000000000".parse().unwrap(), 6 * HOUR, now()).unwrap()
    }

    fn parsed<T>(pem: &str, look: impl FnOnce(&X509Certificate<'_>) -> T) -> T {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let (rest, certificate) = x509_parser::parse_x509_certificate(&der).unwrap();
        assert!(rest.is_empty());
        look(&certificate)
    }

    fn key_ids(certificate: &X509Certificate<'_>) -> (Vec<u8>, Vec<u8>) {
        let (mut subject, mut authority) = (Vec::new(), Vec::new());
        for extension in certificate.extensions() {
            match extension.parsed_extension() {
                ParsedExtension::SubjectKeyIdentifier(id) => subject = id.0.to_vec(),
                ParsedExtension::AuthorityKeyIdentifier(id) => {
                    authority = id.key_identifier.as_ref().unwrap().0.to_vec();
                }
                _ => {}
            }
        }
        (subject, authority)
    }

    #[test]
    fn the_authority_is_recognisable_and_can_do_nothing_else() {
        let ca = ca();
        parsed(ca.certificate_pem(), |certificate| {
            assert_eq!(certificate.subject().to_string(), "O=Plumbline, CN=plumbline run 7f3a9c");
            assert_eq!(certificate.issuer(), certificate.subject());
            let basic = certificate.basic_constraints().unwrap().unwrap();
            assert!(basic.critical && basic.value.ca && basic.value.path_len_constraint == Some(0));
            let usage = certificate.key_usage().unwrap().unwrap();
            assert!(usage.critical && usage.value.key_cert_sign() && usage.value.crl_sign());
            assert!(!usage.value.digital_signature());
            let (subject, authority) = key_ids(certificate);
            assert!(!subject.is_empty() && subject == authority);
            assert_eq!(certificate.validity().not_before.timestamp(), (now() - CLOCK_SKEW).as_second());
            assert_eq!(certificate.validity().not_after.timestamp(), (now() + 7 * HOUR).as_second());
        });
    }

    #[test]
    fn the_aggregator_is_known_by_all_its_addresses() {
        let ca = ca();
        let hosts = ["10.0.0.7", "[fd00::7]", "Aggregator.plumbline.svc.", "localhost", "fd00::7"].map(str::to_owned);
        let server = ca.issue_server(&hosts).unwrap();
        let (ca_id, _) = parsed(ca.certificate_pem(), key_ids);
        parsed(&server.certificate_pem, |certificate| {
            assert_ne!(certificate.issuer(), certificate.subject());
            let names = certificate.subject_alternative_name().unwrap().unwrap().value.general_names.clone();
            assert_eq!(
                names,
                [
                    GeneralName::IPAddress(&[10, 0, 0, 7]),
                    GeneralName::IPAddress(&[0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]),
                    GeneralName::DNSName("aggregator.plumbline.svc"),
                    GeneralName::DNSName("localhost"),
                ]
            );
            let usage = certificate.extended_key_usage().unwrap().unwrap().value;
            assert!(usage.server_auth && !usage.client_auth);
            assert!(!certificate.is_ca());
            let (subject, authority) = key_ids(certificate);
            assert!(!subject.is_empty() && subject != authority);
            assert_eq!(authority, ca_id);
        });
    }

    #[test]
    fn a_plugin_is_known_by_its_name_however_long() {
        let long = format!("{}.{}", "a".repeat(60), "b".repeat(60));
        for name in ["e2e", "10.0.0.1", &long] {
            let client = ca().issue_client(&name.parse().unwrap()).unwrap();
            parsed(&client.certificate_pem, |certificate| {
                let names = certificate.subject_alternative_name().unwrap().unwrap().value.general_names.clone();
                assert_eq!(names, [GeneralName::DNSName(name)]);
                let common = certificate.subject().iter_common_name().next().unwrap().as_str().unwrap();
                assert!(name.starts_with(common) && common.len() <= MAX_COMMON_NAME);
                let usage = certificate.extended_key_usage().unwrap().unwrap().value;
                assert!(usage.client_auth && !usage.server_auth);
            });
        }
    }

    #[test]
    fn serial_numbers_are_positive_and_never_the_same() {
        let ca = ca();
        let plugin = "e2e".parse().unwrap();
        let serials: std::collections::BTreeSet<_> = (0..64)
            .map(|_| {
                parsed(&ca.issue_client(&plugin).unwrap().certificate_pem, |certificate| {
                    let raw = certificate.raw_serial().to_vec();
                    assert!(raw.len() <= 20, "RFC 5280, section 4.1.2.2");
                    assert!(raw.first().is_some_and(|first| first & 0x80 == 0), "negative");
                    raw
                })
            })
            .collect();
        assert_eq!(serials.len(), 64);
    }

    #[test]
    fn a_restarted_aggregator_continues_with_the_same_authority() {
        let before = ca();
        let after = RunCa::from_pem(&before.to_pem()).unwrap();
        assert_eq!(before.certificate(), after.certificate());
        assert_eq!(before.certificate_pem(), after.certificate_pem());
        assert_eq!((before.not_before(), before.not_after()), (after.not_before(), after.not_after()));
        assert_eq!(crate::certificate_start(before.certificate_pem()), Some(now() - HOUR));
        assert_eq!(crate::certificate_start("no certificate"), None);
        assert_eq!(before.to_pem(), after.to_pem());
        let (ca_id, _) = parsed(before.certificate_pem(), key_ids);
        let issued = after.issue_client(&"e2e".parse().unwrap()).unwrap();
        parsed(&issued.certificate_pem, |certificate| {
            assert_eq!(key_ids(certificate).1, ca_id);
            assert_eq!(certificate.validity().not_after.timestamp(), before.not_after().as_second());
            let der = before.certificate();
            let (_, authority) = x509_parser::parse_x509_certificate(der).unwrap();
            assert_eq!(certificate.issuer(), authority.subject());
        });
    }

    #[test]
    fn a_stored_authority_that_cannot_be_right_is_refused() {
        let (one, other) = (ca(), ca());
        let key_of = |ca: &RunCa| ca.issuer.key().serialize_pem();
        let leaf = one.issue_client(&"e2e".parse().unwrap()).unwrap();
        for (text, reason) in [
            (String::new(), "it has no certificate"),
            (one.certificate_pem().to_owned(), "it has no key"),
            (format!("{}{}", one.certificate_pem(), leaf.key_pem), "it has no key"),
            (format!("{}{}", leaf.certificate_pem, key_of(&one)), "its certificate is not a CA certificate"),
            (format!("{}{}", one.certificate_pem(), key_of(&other)), "its key does not match its certificate"),
        ] {
            match RunCa::from_pem(&text) {
                Err(CaError::Stored(found)) => assert_eq!(found, reason),
                other => panic!("{reason}: {other:?}"),
            }
        }
    }

    #[test]
    fn impossible_certificates_are_refused() {
        let ca = ca();
        assert!(matches!(ca.issue_server(&[]), Err(CaError::NoHost)));
        for host in ["", "10.0.0.7:8080", "[fd00::7]:8080", "a b", "https://x", "[localhost]"] {
            assert!(matches!(ca.issue_server(&[host.to_owned()]), Err(CaError::Host(_))), "{host}");
        }
        let run = RunId::random();
        assert!(matches!(RunCa::generate(&run, Duration::MAX, now()), Err(CaError::Validity { .. })));
        assert!(matches!(RunCa::generate(&run, HOUR, Timestamp::MIN), Err(CaError::Validity { .. })));
        assert!(matches!(RunCa::generate(&run, HOUR, Timestamp::MAX), Err(CaError::Validity { .. })));
    }

    #[test]
    fn certificates_outlive_the_timeout() {
        assert_eq!(RunCa::validity_for(Some(6 * HOUR)), 30 * HOUR);
        assert_eq!(RunCa::validity_for(None), VALIDITY_WITHOUT_TIMEOUT);
        assert_eq!(RunCa::validity_for(Some(Duration::MAX)), Duration::MAX);
    }

    #[test]
    fn keys_stay_out_of_logs() {
        let ca = ca();
        let leaf = ca.issue_client(&"e2e".parse().unwrap()).unwrap();
        let shown = format!("{ca:?} {leaf:?}");
        assert!(!shown.contains("PRIVATE") && !shown.contains("key"), "{shown}");
    }

    #[test]
    fn a_key_stays_the_same_key_in_sec1() {
        let pair = KeyPair::generate().unwrap();
        let key = rustls_pki_types::PrivateKeyDer::Sec1(sec1(pair.serialized_der()).unwrap().into());
        let signer = rustls::crypto::ring::sign::any_ecdsa_type(&key).unwrap();
        assert_eq!(signer.public_key().unwrap().as_ref(), pair.subject_public_key_info());
        for other in [&rcgen::PKCS_ED25519, &rcgen::PKCS_ECDSA_P384_SHA384] {
            assert_eq!(sec1(KeyPair::generate_for(other).unwrap().serialized_der()), None);
        }
    }
}
