//! The check on generated certificates.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use plumbline_module_node_certificates::NodeCertificates;
use plumbline_sdk::testing::{Case, Run};
use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};

/// Returns a certificate that is valid in the year 2026.
fn certificate(name: &str) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    (params.not_before, params.not_after) = (date_time_ymd(2026, 1, 1), date_time_ymd(2027, 1, 1));
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}

/// Runs the check on a day of 2026, counted from 1 January.
fn on_day(case: Case, day: u64) -> Run {
    const START: u64 = 1_767_225_600;
    case.now(Duration::from_secs(START + day * 86_400)).check::<NodeCertificates>()
}

fn node(files: &[(&str, &str)]) -> (tempfile::TempDir, Case) {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let file = dir.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }
    let case = Case::new().node_directory("/etc/kubernetes", dir.path());
    (dir, case)
}

#[test]
fn certificates_fail_before_they_expire() {
    let both = format!("{}{}", certificate("server"), certificate("ca"));
    let config =
        format!("users:\n- user:\n    client-certificate-data: {}\n", BASE64_STANDARD.encode(certificate("kubelet")));
    let (_dir, case) = node(&[("pki/server.crt", &both), ("kubelet.conf", &config), ("note.txt", "x")]);
    let outline = |status: &str| {
        format!(
            "/etc/kubernetes/kubelet.conf: -\n  CN=kubelet: {status}\n\
             /etc/kubernetes/pki/server.crt: -\n  CN=server: {status}\n  CN=ca: {status}\n"
        )
    };
    assert_eq!(on_day(case.clone(), 100).outline(), outline("passed"));
    assert_eq!(on_day(case.clone(), 340).outline(), outline("failed"));
    assert_eq!(on_day(case.clone(), 400).outline(), outline("failed"));
    assert_eq!(on_day(case.option("days", 10), 340).outline(), outline("passed"));
}

#[test]
fn an_unreadable_certificate_does_not_pass() {
    let damaged = certificate("x").replacen("MI", "XX", 1);
    let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let (_dir, case) = node(&[
        ("a.crt", &damaged),
        ("b.conf", "client-certificate-data: ???\n"),
        ("c.pem", "cut off"),
        ("d.crt", ""),
        ("e.conf", "certificate-authority-data: |\n  AAAA\n"),
        ("key.pem", key),
        ("other.conf", "[Global]\n# client-certificate-data: x\n"),
    ]);
    let unknown =
        ["a.crt", "b.conf", "c.pem", "d.crt", "e.conf"].map(|name| format!("/etc/kubernetes/{name}: unknown\n"));
    assert_eq!(on_day(case, 1).outline(), unknown.concat());
    let (_dir, empty) = node(&[]);
    assert_eq!(on_day(empty, 1).outline(), "certificates: skipped\n");
}

#[test]
fn kubeconfigs_may_be_json_or_in_the_flow_style() {
    let data = BASE64_STANDARD.encode(certificate("x"));
    for config in [
        format!(
            "{{\"users\": [{{\"user\": {{\"client-certificate-data\": \"{data}\", \"client-key-data\": \"AAAA\"}}}}]}}"
        ),
        format!("{{\"client-certificate-data\":\"{data}\"}}"),
        format!("users: [{{user: {{client-certificate-data: {data}}}}}]\n"),
        format!("- 'client-certificate-data' : '{data}'\r\n"),
    ] {
        let (_dir, case) = node(&[("a.conf", &config)]);
        assert_eq!(on_day(case, 1).outline(), "/etc/kubernetes/a.conf: -\n  CN=x: passed\n", "{config}");
    }
}

#[test]
fn a_link_to_a_directory_is_reported() {
    let (dir, case) = node(&[("real/a.crt", &certificate("a")), ("note.txt", "x")]);
    let elsewhere = tempfile::tempdir().unwrap();
    let link = |to: &std::path::Path, name: &str| std::os::unix::fs::symlink(to, dir.path().join(name)).unwrap();
    link(elsewhere.path(), "out");
    for (to, name) in [("real", "alias"), ("note.txt", "note"), ("gone", "nothing")] {
        link(std::path::Path::new(to), name);
    }
    let run = on_day(case, 1);
    let unread = "directories: unknown\n".repeat(2);
    assert_eq!(run.outline(), format!("{unread}/etc/kubernetes/real/a.crt: -\n  CN=a: passed\n"));
    let items = format!("{:?}", run.items);
    for path in ["`/etc/kubernetes/out`", "`/etc/kubernetes/alias` is a link to a directory"] {
        assert!(items.contains(path), "{items}");
    }
}

#[test]
fn of_the_certificates_of_the_kubelet_the_latest_counts() {
    let (name, old, new) = ("kubelet-client", "kubelet-client-2025-01-01.pem", "kubelet-client-2026-01-01.pem");
    let (dir, case) =
        node(&[(&format!("pki/{old}"), &certificate("old")), (&format!("pki/{new}"), &certificate(name))]);
    std::os::unix::fs::symlink(format!("/etc/kubernetes/pki/{new}"), dir.path().join("pki/kubelet-client-current.pem"))
        .unwrap();
    assert_eq!(on_day(case, 1).outline(), format!("/etc/kubernetes/pki/{new}: -\n  CN=kubelet-client: passed\n"));
}

#[test]
fn copies_that_somebody_made_do_not_hide_the_certificate_of_the_kubelet() {
    let new = "kubelet-client-2026-01-01.pem";
    let (dir, case) = node(&[
        (&format!("pki/{new}"), &certificate("current")),
        ("pki/kubelet-client-copy.pem", &certificate("copy")),
        ("pki/kubelet-client-current.pem.bak", "x"),
    ]);
    std::os::unix::fs::symlink(format!("/etc/kubernetes/pki/{new}"), dir.path().join("pki/kubelet-client-current.pem"))
        .unwrap();
    let of = |file: &str, name: &str| format!("/etc/kubernetes/pki/{file}: -\n  CN={name}: failed\n");
    let both = of(new, "current") + &of("kubelet-client-copy.pem", "copy");
    assert_eq!(on_day(case, 400).outline(), both);
}
