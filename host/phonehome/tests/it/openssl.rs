//! Tests for the certificates of a run with OpenSSL: `openssl` and everything based on it, such as
//! curl.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use http_body_util::BodyExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{Run, answer, command, has, output, serve, skipped};

struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new(run: &Run) -> Self {
        let client = run.ca.issue_client(&"e2e".parse().unwrap()).unwrap();
        let files = Self { directory: tempfile::tempdir().unwrap() };
        for (name, text) in [
            ("ca.crt", run.ca.certificate_pem()),
            ("server.crt", &run.server.certificate_pem),
            ("server.key", &run.server.key_pem),
            ("client.crt", &client.certificate_pem),
            ("client.key", &client.key_pem),
        ] {
            fs::write(files.path(name), text).unwrap();
        }
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

#[tokio::test]
async fn certificates_are_verified_by_their_issuer_in_strict_mode() {
    if !has("openssl") {
        return skipped("openssl");
    }
    let (run, other) = (Run::new(), Run::new());
    let files = Files::new(&run);
    fs::write(files.path("other.crt"), other.ca.certificate_pem()).unwrap();
    for (authority, purpose, certificate, expected) in [
        ("ca.crt", "sslserver", "server.crt", true),
        ("ca.crt", "sslclient", "client.crt", true),
        ("ca.crt", "sslclient", "server.crt", false),
        ("ca.crt", "sslserver", "client.crt", false),
        ("other.crt", "sslserver", "server.crt", false),
        ("other.crt", "sslclient", "client.crt", false),
    ] {
        let mut verify = command("openssl");
        verify.args(["verify", "-x509_strict", "-purpose", purpose, "-CAfile"]);
        verify.arg(files.path(authority)).arg(files.path(certificate));
        let (verified, said) = output(&mut verify).await;
        assert_eq!(verified, expected, "{certificate} by {authority} as {purpose}: {said}");
    }
    for (option, value, expected) in [
        ("-verify_ip", "127.0.0.1", true),
        ("-verify_hostname", "localhost", true),
        ("-verify_ip", "127.0.0.2", false),
        ("-verify_hostname", "elsewhere", false),
    ] {
        let mut verify = command("openssl");
        verify.args(["verify", "-x509_strict", option, value, "-CAfile"]).arg(files.path("ca.crt"));
        let (verified, said) = output(verify.arg(files.path("server.crt"))).await;
        assert_eq!(verified, expected, "{option} {value}: {said}");
    }
}

#[tokio::test]
async fn keys_are_sound_and_belong_to_their_certificates() {
    if !has("openssl") {
        return skipped("openssl");
    }
    let run = Run::new();
    let files = Files::new(&run);
    for name in ["server", "client"] {
        assert!(
            fs::read_to_string(files.path(&format!("{name}.key")))
                .unwrap()
                .starts_with("-----BEGIN EC PRIVATE KEY-----\n")
        );
        let mut check = command("openssl");
        let (sound, said) =
            output(check.args(["ec", "-check", "-noout", "-in"]).arg(files.path(&format!("{name}.key")))).await;
        assert!(sound && said.contains("EC Key valid"), "{said}");
        let mut of_key = command("openssl");
        let (_, of_key) = output(of_key.args(["pkey", "-pubout", "-in"]).arg(files.path(&format!("{name}.key")))).await;
        let mut of_certificate = command("openssl");
        of_certificate.args(["x509", "-noout", "-pubkey", "-in"]);
        let (_, of_certificate) = output(of_certificate.arg(files.path(&format!("{name}.crt")))).await;
        assert!(
            of_key.starts_with("-----BEGIN PUBLIC KEY-----") && of_key == of_certificate,
            "{of_key}\n{of_certificate}"
        );
    }
}

/// Connects to the server with `openssl s_client`, and returns its output.
async fn s_client(files: &Files, address: std::net::SocketAddr, options: &[&str], certificate: bool) -> String {
    let mut client = command("openssl");
    client.args(["s_client", "-quiet", "-verify_return_error", "-alpn", "http/1.1", "-connect"]);
    client.arg(address.to_string()).arg("-CAfile").arg(files.path("ca.crt")).args(["-verify_ip", "127.0.0.1"]);
    client.args(options);
    if certificate {
        client.arg("-cert").arg(files.path("client.crt")).arg("-key").arg(files.path("client.key"));
    }
    let mut child = client.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let request = "PUT /api/v1/results/global/e2e HTTP/1.1\r\nhost: aggregator\r\ncontent-length: 5\r\n\
                   connection: close\r\n\r\nhello";
    // If it was rejected and has already ended, its output says so.
    let _ = input.write_all(request.as_bytes()).await;
    let (mut text, mut words) = (String::new(), String::new());
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (_, _) = tokio::join!(stdout.read_to_string(&mut text), stderr.read_to_string(&mut words));
    drop(input);
    child.wait().await.unwrap();
    text + &words
}

#[tokio::test]
async fn a_client_on_openssl_gets_in_with_a_certificate_of_the_run_only() {
    if !has("openssl") {
        return skipped("openssl");
    }
    let (run, other) = (Run::new(), Run::new());
    let files = Files::new(&run);
    let server = serve(&run, |_, request, identity| async move {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "hello");
        if identity.may_act_for(&"e2e".parse().unwrap()) { answer(200, "come in") } else { answer(403, "") }
    })
    .await;
    for version in ["-tls1_3", "-tls1_2"] {
        let said = s_client(&files, server.address, &[version], true).await;
        assert!(said.contains("HTTP/1.1 200 OK") && said.contains("come in"), "{version}: {said}");
        let said = s_client(&files, server.address, &[version], false).await;
        assert!(!said.contains("HTTP/1.1") && said.contains("alert"), "{version} without a certificate: {said}");
    }
    let said = s_client(&files, server.address, &["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"], true).await;
    assert!(!said.contains("HTTP/1.1"), "TLS 1.1: {said}");

    let stranger = other.ca.issue_client(&"e2e".parse().unwrap()).unwrap();
    fs::write(files.path("client.crt"), &stranger.certificate_pem).unwrap();
    fs::write(files.path("client.key"), &stranger.key_pem).unwrap();
    let said = s_client(&files, server.address, &[], true).await;
    assert!(!said.contains("HTTP/1.1") && said.contains("alert"), "certificate of another run: {said}");
}
