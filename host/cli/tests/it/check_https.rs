//! A check that asks a web server with a certificate of a private CA, from inside its component.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use plumbline_author::Language;
use plumbline_author::build::missing_tool;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, Stream};
use serde_json::Value;

use crate::bed::Bed;

/// Sends one request with each kind of trust, and emits the result.
const CHECK: &str = r#"package main

import (
	"errors"
	"fmt"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

func init() { plumbline.Checker(check) }

func main() {}

type options struct {
	URL string `json:"url"`
	CA  string `json:"ca"`
	// OtherCA did not issue the certificate of the server.
	OtherCA string `json:"other-ca"`
}

func check(plugin plumbline.Plugin, ctx *plumbline.Context, out *plumbline.Output) error {
	var options options
	if err := plugin.Options(&options); err != nil {
		return err
	}
	send := func(name, url string, trust plumbline.Trust) {
		response, err := ctx.Send(plumbline.Request{URL: url, Trust: trust})
		result := fmt.Sprintf("%d %s %t", response.Status, response.Body, len(response.Certificate) > 0)
		var failure *plumbline.NetworkError
		if errors.As(err, &failure) {
			result = string(failure.Kind)
		}
		out.Emit(plumbline.Item{Name: name, Status: plumbline.Passed, Meta: plumbline.Meta{"result": result}})
	}
	send("ca", options.URL, plumbline.TrustCertificates(options.CA))
	send("other CA", options.URL, plumbline.TrustCertificates(options.OtherCA))
	send("other host", "https://example.com/", plumbline.TrustAny)
	return nil
}
"#;

/// Starts a server on this machine with a certificate of a new CA for `localhost`. Returns its port,
/// and the CA in PEM form.
fn server() -> (u16, String) {
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_key = KeyPair::generate().unwrap();
    let pem = ca.self_signed(&ca_key).unwrap().pem();
    let issuer = Issuer::new(ca, ca_key);
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![leaf.der().clone()], key).unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // The thread ends with the process of the tests.
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let (mut connection, mut tls) = (connection.unwrap(), ServerConnection::new(Arc::clone(&config)).unwrap());
            let mut stream = Stream::new(&mut tls, &mut connection);
            // A client that does not trust the certificate closes the connection.
            if stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
                stream.write_all(answer).unwrap();
                tls.send_close_notify();
                let _ = tls.complete_io(&mut connection);
            }
        }
    });
    (port, pem)
}

#[test]
fn a_component_trusts_the_private_ca_that_it_names_and_no_other() {
    let bed = Bed::new();
    if let Some(missing) = missing_tool(Language::Go, bed.root()) {
        eprintln!("SKIPPED: a check in Go: {missing}");
        return;
    }
    bed.plumbline(&["plugin", "new", "my-check", "--world", "check", "--lang", "go"]).expect(0);
    let (port, ca) = server();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap().cert.pem();
    let url = format!("https://localhost:{port}/");
    bed.write("my-check/main.go", CHECK);
    fs::remove_file(bed.path("my-check/options.schema.json")).unwrap();
    bed.write("my-check/module.yaml", "name: my-check\nlanguage: go\nworld: check-module\n");
    let options = serde_json::json!({"url": url, "ca": ca, "other-ca": other});
    bed.write(
        "my-check/plugin.yaml",
        &format!(
            "sonobuoy-config: {{driver: Process, plugin-name: my-check}}\nplumbline:\n  component: my-check.wasm\n  options: {options}\n  grants: {{http: ['https://localhost:{port}']}}\n"
        ),
    );
    let mut build = bed.command(&["plugin", "build", "my-check"]);
    // The compiler keeps its standard library in the cache of the user.
    for name in ["HOME", "XDG_CACHE_HOME"] {
        match std::env::var_os(name) {
            Some(value) => build.env(name, value),
            None => build.env_remove(name),
        };
    }
    crate::bed::Done::of(build).expect(0);
    let done = bed.plumbline(&["plugin", "run", "my-check", "-o", "json"]).expect(0);
    let tree: Value = serde_json::from_str(&done.out).unwrap();
    let mut found = Vec::new();
    leaves(&tree, &mut found);
    let expected = [("ca", "200 hello true"), ("other CA", "tls"), ("other host", "denied")];
    assert_eq!(found, expected.map(|(name, result)| (name.to_owned(), result.to_owned())), "{}", done.out);
}

fn leaves(item: &Value, found: &mut Vec<(String, String)>) {
    match item["items"].as_array() {
        Some(items) => items.iter().for_each(|item| leaves(item, found)),
        None => {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            found.push((text(&item["name"]), text(&item["meta"]["result"])));
        }
    }
}
