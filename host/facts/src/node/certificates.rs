//! The certificates of a node, with their expiry.

use serde_json::{Value, json};
use x509_parser::pem::Pem;
use x509_parser::time::ASN1Time;

use crate::collector::Collector;
use crate::source::{Source, Unreadable};

/// Directories with certificates of a node. Kubeconfigs hold certificates too, but next to private
/// keys, so they are not opened.
const DIRECTORIES: [&str; 8] = [
    "/etc/kubernetes/pki",
    "/etc/kubernetes/pki/etcd",
    "/var/lib/kubelet/pki",
    "/etc/etcd/pki",
    "/etc/ssl/etcd/ssl",
    "/var/lib/rancher/k3s/agent",
    "/var/lib/rancher/k3s/server/tls",
    "/var/lib/rancher/rke2/server/tls",
];

/// Maximum number of files to open, maximum size of each in bytes, and maximum number of
/// certificates per file. A CA bundle has several.
const MAX_FILES: usize = 200;
const MAX_BYTES: u64 = 256 << 10;
const MAX_PER_FILE: usize = 10;

pub(super) fn gather(collector: &mut Collector<'_>) {
    let source = collector.source;
    let mut found = Vec::new();
    let mut files = Vec::new();
    for directory in DIRECTORIES {
        let names = source.names(directory);
        let names = collector.keep_if_there("plumbline_facts.certificates", names).unwrap_or_default();
        files.extend(names.into_iter().filter(|name| may_hold(name)).map(|name| format!("{directory}/{name}")));
    }
    if files.len() > MAX_FILES {
        collector.miss(
            "plumbline_facts.certificates",
            format!("only the first {MAX_FILES} of {} files are read", files.len()),
        );
    }
    for path in files.iter().take(MAX_FILES) {
        let key = format!("plumbline_facts.certificates.{path}");
        if let Some((certificates, rest)) = collector.keep(&key, certificates(source, path)) {
            found.extend(certificates);
            if let Some(why) = rest {
                collector.miss(&key, why.to_string());
            }
        }
    }
    collector.own("certificates", found);
}

/// Returns true if a file may hold certificates. Key files are never opened.
///
/// `kubelet-client-current.pem` holds both. Only its certificate blocks are read.
fn may_hold(name: &str) -> bool {
    let dated = |prefix: &str| name.starts_with(prefix) && !name.contains("current");
    // The kubelet keeps every earlier pair next to the link to the current one.
    !dated("kubelet-client-2")
        && !dated("kubelet-server-2")
        && (name.ends_with(".crt") || (name.ends_with(".pem") && !name.contains("key")))
}

/// Returns the certificates of a file, and why further ones are missing.
fn certificates(source: &Source, path: &str) -> Result<(Vec<Value>, Option<Unreadable>), Unreadable> {
    let bytes = source.bytes(path, MAX_BYTES)?;
    let wrong = |what: &str| Unreadable::malformed(path, what);
    let (mut found, mut rest) = (Vec::new(), None);
    for block in Pem::iter_from_buffer(&bytes) {
        let Ok(block) = block else {
            rest = Some(wrong("has a damaged block, which was not read"));
            continue;
        };
        if block.label != "CERTIFICATE" {
            continue;
        }
        if found.len() == MAX_PER_FILE {
            rest = Some(wrong(&format!("has more than {MAX_PER_FILE} certificates, and only these were read")));
            break;
        }
        let certificate = block.parse_x509().map_err(|_| wrong("has an unreadable certificate"))?;
        let validity = certificate.validity();
        // Times are in UTC according to RFC 3339.
        let time = |time: &ASN1Time| match jiff::Timestamp::from_second(time.timestamp()) {
            Ok(time) => Ok(time.to_string()),
            Err(_) => Err(wrong("has a certificate with an invalid time")),
        };
        found.push(json!({
            "path": path,
            "subject": certificate.subject().to_string(),
            "issuer": certificate.issuer().to_string(),
            "not_before": time(&validity.not_before)?,
            "not_after": time(&validity.not_after)?,
        }));
    }
    if found.is_empty() { Err(rest.unwrap_or_else(|| wrong("has no certificate"))) } else { Ok((found, rest)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn only_the_certificate_of_a_file_with_a_key_is_reported() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(vec!["node".to_owned()]).unwrap();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, "system:node:n1");
        parameters.not_before = rcgen::date_time_ymd(2024, 1, 2);
        parameters.not_after = rcgen::date_time_ymd(2025, 1, 2);
        let certificate = parameters.self_signed(&key).unwrap();
        let tree = Tree::new();
        let secret = key.serialize_pem();
        tree.file("/both.pem", &format!("{secret}{}", certificate.pem()));
        tree.file("/empty.pem", &secret);
        let source = Source::new(tree.root());
        let (found, rest) = certificates(&source, "/both.pem").unwrap();
        assert!(rest.is_none());
        assert_eq!(
            Value::from(found),
            json!([{
                "path": "/both.pem", "subject": "CN=system:node:n1", "issuer": "CN=system:node:n1",
                "not_before": "2024-01-02T00:00:00Z", "not_after": "2025-01-02T00:00:00Z",
            }])
        );
        assert_eq!(certificates(&source, "/empty.pem").unwrap_err().to_string(), "/empty.pem: has no certificate");
    }

    #[test]
    fn certificates_that_are_not_read_are_reported() {
        let key = rcgen::KeyPair::generate().unwrap();
        let one = rcgen::CertificateParams::new(vec!["node".to_owned()]).unwrap().self_signed(&key).unwrap().pem();
        let tree = Tree::new();
        let cut = one.get(..one.len() / 2).unwrap();
        tree.file("/cut.pem", cut);
        tree.file("/chain.pem", &format!("{one}{cut}"));
        tree.file("/bundle.pem", &one.repeat(MAX_PER_FILE + 1));
        let source = Source::new(tree.root());
        let of = |path: &str| {
            let (found, rest) = certificates(&source, path).unwrap();
            (found.len(), rest.unwrap().to_string())
        };
        let damaged = "has a damaged block, which was not read";
        assert_eq!(of("/chain.pem"), (1, format!("/chain.pem: {damaged}")));
        let more = "/bundle.pem: has more than 10 certificates, and only these were read".to_owned();
        assert_eq!(of("/bundle.pem"), (MAX_PER_FILE, more));
        assert_eq!(certificates(&source, "/cut.pem").unwrap_err().to_string(), format!("/cut.pem: {damaged}"));
    }

    #[test]
    fn files_of_keys_and_of_the_past_are_not_opened() {
        for (name, want) in [
            ("ca.crt", true),
            ("kubelet-client-current.pem", true),
            ("kubelet-client-2024-01-02-03-04-05.pem", false),
            ("admin-key.pem", false),
            ("sa.key", false),
            ("sa.pub", false),
        ] {
            assert_eq!(may_hold(name), want, "{name}");
        }
    }
}
